/** Fields of a form. What the service finds wrong with one is shown beside it. */
import { createContext, html, useContext, useState } from "./lib.js";

/** Faults of the latest answer: place in the state, such as `/members/0/member_id` → what is wrong. */
export const Faults = createContext(/** @type {Map<string, string>} */ (new Map()));

/** @param {string} place */
function useFault(place) {
  return useContext(Faults).get(place);
}

/** @param {string} place */
const idOf = (place) => `f${place.replaceAll(/[^\w]/g, "-")}`;

/** @param {{place: string}} props */
function FaultText({ place }) {
  const fault = useFault(place);
  return fault ? html`<span class="fault" id="${idOf(place)}-fault">${fault}</span>` : null;
}

/** What a control needs to be found, named and marked as wrong. @param {string} place */
function useControl(place) {
  const fault = useFault(place);
  return {
    id: idOf(place),
    "aria-invalid": fault ? "true" : undefined,
    "aria-describedby": fault ? `${idOf(place)}-fault` : undefined,
  };
}

/** A label, a control and its fault. @param {{place: string, label: string, hint?: string, children?: any}} props */
function Labelled({ place, label, hint, children }) {
  return html`<div class="field">
    <label for=${idOf(place)}>${label}</label>
    ${children}${hint && html`<span class="hint">${hint}</span>`}<${FaultText} place=${place} />
  </div>`;
}

/**
 * @param {object} props
 * @param {string} props.place JSON pointer into the state @param {string} props.label @param {string} [props.hint]
 * @param {string} props.value @param {(value: string) => void} props.set @param {string} [props.placeholder]
 * @param {boolean} [props.bare] no label to be seen: a table's heading is it
 */
export function Text({ place, label, hint, value, set, placeholder, bare }) {
  const control = html`<input
    ...${useControl(place)}
    type="text"
    spellcheck="false"
    autocomplete="off"
    aria-label=${bare ? label : undefined}
    placeholder=${placeholder}
    value=${value}
    onChange=${(/** @type {any} */ event) => set(event.target.value)}
  />`;
  return bare
    ? html`${control}<${FaultText} place=${place} />`
    : html`<${Labelled} ...${{ place, label, hint }}>${control}<//>`;
}

/**
 * A number, or null where the field is empty.
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} [props.hint] @param {string} [props.placeholder]
 * @param {number | null | undefined} props.value @param {(value: number | null) => void} props.set
 * @param {number} [props.min] @param {number} [props.max] @param {boolean} [props.bare]
 */
export function Numeric({ place, label, hint, value, set, min = 0, max, bare, placeholder }) {
  const control = html`<input
    ...${useControl(place)}
    type="number"
    inputmode="numeric"
    step="any"
    min=${min}
    max=${max}
    aria-label=${bare ? label : undefined}
    placeholder=${placeholder}
    value=${value ?? ""}
    onChange=${(/** @type {any} */ event) => set(event.target.value === "" ? null : Number(event.target.value))}
  />`;
  return bare
    ? html`${control}<${FaultText} place=${place} />`
    : html`<${Labelled} ...${{ place, label, hint }}>${control}<//>`;
}

/** @typedef {{value: string, label: string, group?: string}} Choice */

/**
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} [props.hint] @param {boolean} [props.bare]
 * @param {string} props.value @param {Choice[]} props.choices @param {(value: string) => void} props.set
 */
export function Select({ place, label, hint, value, choices, set, bare }) {
  const known = choices.some((choice) => choice.value === value) ? choices : [{ value, label: value }, ...choices];
  const groups = [...new Set(known.map((choice) => choice.group ?? ""))];
  /** @param {Choice} choice */
  const option = (choice) =>
    html`<option value=${choice.value} selected=${choice.value === value}>${choice.label}</option>`;
  const control = html`<select
    ...${useControl(place)}
    aria-label=${bare ? label : undefined}
    onChange=${(/** @type {any} */ event) => set(event.target.value)}
  >
    ${groups.map((group) => {
      const options = known.filter((choice) => (choice.group ?? "") === group).map(option);
      return group ? html`<optgroup label=${group}>${options}</optgroup>` : options;
    })}
  </select>`;
  return bare
    ? html`${control}<${FaultText} place=${place} />`
    : html`<${Labelled} ...${{ place, label, hint }}>${control}<//>`;
}

/** @param {{label: string, checked: boolean, set: (checked: boolean) => void}} props */
export function Checkbox({ label, checked, set }) {
  return html`<label class="check">
    <input type="checkbox" checked=${checked} onChange=${(/** @type {any} */ event) => set(event.target.checked)} />
    ${label}
  </label>`;
}

/**
 * Lines of text.
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} props.value @param {(value: string) => void} props.set
 * @param {string} [props.placeholder] @param {string} [props.hint]
 */
export function Lines({ place, label, hint, value, set, placeholder }) {
  return html`<${Labelled} ...${{ place, label, hint }}>
    <textarea
      ...${useControl(place)}
      spellcheck="false"
      placeholder=${placeholder}
      value=${value}
      onChange=${(/** @type {any} */ event) => set(event.target.value)}
    ></textarea>
  <//>`;
}

/** A place for a file, to be dropped or chosen. @param {{label: string, accept: string, take: (file: File) => void}} props */
export function Drop({ label, accept, take }) {
  const [over, setOver] = useState(false);
  const moved = (/** @type {boolean} */ here) => (/** @type {Event} */ event) => {
    event.preventDefault();
    setOver(here);
  };
  const dropped = (/** @type {DragEvent} */ event) => {
    moved(false)(event);
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  };
  const chosen = (/** @type {any} */ event) => {
    if (event.target.files[0]) take(event.target.files[0]);
    event.target.value = ""; // so that the same file can be chosen again
  };
  return html`<label
    class="drop ${over ? "over" : ""}"
    onDragOver=${moved(true)}
    onDragLeave=${moved(false)}
    onDrop=${dropped}
  >
    <span>${label}, or drop it here</span>
    <input type="file" class="hidden" accept=${accept} onChange=${chosen} />
  </label>`;
}
