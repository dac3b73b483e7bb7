/** A broker or a disk that is pressed to say what becomes of it, with its load before and after. */
import { Select } from "../fields.js";
import { html } from "../lib.js";

/** Chips that are all in sight; of more, some are, and the others scroll. */
const MOST = 24;

/** Chips in groups. @param {{count: number, children?: any}} props */
export function Chips({ count, children }) {
  return html`<div class="racks ${count > MOST ? "many" : ""}">${children}</div>`;
}

/**
 * @param {object} props
 * @param {string} props.name @param {string[]} props.words what is to become of it @param {boolean} props.leaves whether all it has goes away
 * @param {boolean} props.pressed @param {number} props.before @param {number} props.after
 * @param {number} props.most the load whose bar is as wide as the chip
 * @param {(value: number) => string} props.shown @param {() => void} props.press
 */
export function Chip({ name, words, leaves, pressed, before, after, most, shown, press }) {
  const bar = (/** @type {number} */ value) => (100 * value) / most;
  return html`<button
    type="button"
    class="chip ${leaves ? "drains" : ""}"
    aria-pressed=${pressed ? "true" : "false"}
    onClick=${press}
  >
    <span class="name">${name} <em>${words.join(", ")}</em></span>
    <span class="figure">${before === after ? shown(after) : html`${shown(before)} → ${shown(after)}`}</span>
    <svg viewBox="0 0 100 4" width="100%" height="4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="kept" width=${bar(Math.min(before, after))} height="4" />
      ${after > before && html`<rect class="taken" x=${bar(before)} width=${bar(after - before)} height="4" />`}
      ${before > after && html`<rect class="gone" x=${bar(after)} width=${bar(before - after)} height="4" />`}
    </svg>
  </button>`;
}

/**
 * What pressing says.
 * @param {object} props
 * @param {string} props.noun what is pressed @param {string} props.pressing @param {import("../fields.js").Choice[]} props.flags
 * @param {(change: {pressing: any}) => void} props.set
 */
export function Pressing({ noun, pressing, flags, set }) {
  return html`<div class="inline">
    <${Select}
      place="/pressing"
      label="Pressing a ${noun} means to"
      value=${pressing}
      choices=${flags}
      set=${(/** @type {string} */ flag) => set({ pressing: flag })}
    />
    <p class="hint">
      ${`Press again to undo.${pressing === "draining" ? ` A ${noun} without replicas is removed.` : ""}`}
    </p>
  </div>`;
}
