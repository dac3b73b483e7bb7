/** What pressing a broker or a disk says of it. */
import { Select } from "../fields.js";
import { html } from "../lib.js";

/**
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
