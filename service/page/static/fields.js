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

/**
 * The text of a control: what is being typed stays there when an answer comes meanwhile, and counts once it is left.
 * @param {string | number} value @param {(text: string) => void} set @param {string | number} [shown] what stands for it until it is edited
 */
export function useDraft(value, set, shown = value) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  return {
    value: draft ?? shown,
    onFocus: () => shown !== value && setDraft(String(value)),
    onInput: (/** @type {any} */ event) => setDraft(event.target.value),
    onChange: (/** @type {any} */ event) => {
      setDraft(null);
      set(event.target.value);
    },
    onBlur: () => setDraft(null),
  };
}

/**
 * What binds a control to a member of an object: `<${Numeric} ...${field("max_skew")} label="Largest skew" />`.
 * @template {object} T @param {T | undefined} object @param {(change: Partial<T>) => void} change @param {string} [place] JSON pointer of the object
 * @returns {(name: keyof T & string) => {place: string, value: any, set: (value: any) => void}}
 */
export function bound(object, change, place = "") {
  return (name) => ({
    place: `${place}/${name}`,
    value: object?.[name],
    set: (value) => change(/** @type {any} */ ({ [name]: value })),
  });
}

/** A label, a control and its fault. @param {{place: string, label: string, hint?: string, bare?: boolean, children?: any}} props bare: without the label */
function Labelled({ place, label, hint, bare, children }) {
  if (bare) return html`${children}<${FaultText} place=${place} />`;
  return html`<div class="field">
    <label for=${idOf(place)}>${label}</label>
    ${children}${hint && html`<span class="hint">${hint}</span>`}<${FaultText} place=${place} />
  </div>`;
}

/**
 * @param {object} props
 * @param {string} props.place JSON pointer into the state @param {string} props.label @param {string} [props.hint]
 * @param {string | null} [props.value] @param {(value: string) => void} props.set @param {string} [props.placeholder]
 * @param {boolean} [props.bare] no label to be seen: a table's heading is it
 * @param {string} [props.short] what stands for a long value until it is edited
 */
export function Text({ place, label, hint, value, set, placeholder, bare, short }) {
  const control = html`<input
    ...${useControl(place)}
    type="text"
    spellcheck=${false}
    autocomplete="off"
    aria-label=${bare ? label : undefined}
    placeholder=${placeholder}
    title=${short && short !== value ? value : undefined}
    ...${useDraft(value ?? "", set, short)}
  />`;
  return html`<${Labelled} ...${{ place, label, hint, bare }}>${control}<//>`;
}

/**
 * A number, or null where the field is empty.
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} [props.hint] @param {string} [props.placeholder]
 * @param {number | null | undefined} props.value @param {(value: number | null) => void} props.set
 * @param {number} [props.min] @param {number} [props.max] @param {boolean} [props.bare]
 * @param {number} [props.scale] what 1 in the field is worth: 1e9 where it is in GB, and the value in bytes
 */
export function Numeric({ place, label, hint, value, set, min = 0, max, bare, placeholder, scale = 1 }) {
  const shown = typeof value === "number" ? value / scale : ""; // a request as JSON may have anything
  const worth = (/** @type {string} */ text) => (text === "" ? null : Number((Number(text) * scale).toPrecision(15)));
  const control = html`<input
    ...${useControl(place)}
    type="number"
    inputmode="numeric"
    step="any"
    min=${min}
    max=${max}
    aria-label=${bare ? label : undefined}
    placeholder=${placeholder}
    ...${useDraft(shown, (text) => set(worth(text)))}
  />`;
  return html`<${Labelled} ...${{ place, label, hint, bare }}>${control}<//>`;
}

/** @typedef {{value: string, label: string, group?: string}} Choice */

/**
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} [props.hint] @param {boolean} [props.bare]
 * @param {string | null} [props.value] none: the choice that is "" @param {Choice[]} props.choices @param {(value: string) => void} props.set
 * @param {string} [props.other] what a value is called that is no choice
 */
export function Select({ place, label, hint, value: chosen, choices, set, bare, other }) {
  const value = chosen ?? "";
  const known = choices.some((choice) => choice.value === value)
    ? choices
    : [{ value, label: other ?? value }, ...choices];
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
  return html`<${Labelled} ...${{ place, label, hint, bare }}>${control}<//>`;
}

/** @param {{label: string, checked: boolean, set: (checked: boolean) => void}} props */
export function Checkbox({ label, checked, set }) {
  return html`<label class="check">
    <input
      type="checkbox"
      checked=${checked}
      onChange=${(/** @type {any} */ event) => set(event.target.checked)}
    />${" "}${label}
  </label>`;
}

/**
 * Lines of text.
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string} [props.value] @param {(value: string) => void} props.set
 * @param {string} [props.placeholder] @param {string} [props.hint]
 * @param {number} [props.most] characters; a longer text that is pasted is entered at once, as browsers take seconds to show it
 */
export function Lines({ place, label, hint, value, set, placeholder, most = Infinity }) {
  const paste = (/** @type {ClipboardEvent} */ event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length <= most) return;
    event.preventDefault();
    set(text);
  };
  return html`<${Labelled} ...${{ place, label, hint }}>
    <textarea
      ...${useControl(place)}
      spellcheck=${false}
      placeholder=${placeholder}
      ...${useDraft(value ?? "", set)}
      onPaste=${paste}
    ></textarea>
  <//>`;
}

/**
 * A place for a file, or for several, to be dropped or chosen.
 * @param {{label: string, accept: string, multiple?: boolean, take: (...files: File[]) => void}} props
 */
export function Drop({ label, accept, multiple, take }) {
  const [over, setOver] = useState(false);
  const entered = (/** @type {Event} */ event) => {
    event.preventDefault();
    setOver(true);
  };
  const left = (/** @type {any} */ event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) setOver(false); // not when it passes to the text inside
  };
  const dropped = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    const files = event.dataTransfer?.files ?? [];
    if (files.length > 0) take(...files);
  };
  const chosen = (/** @type {any} */ event) => {
    if (event.target.files.length > 0) take(...event.target.files);
    event.target.value = ""; // so that the same file can be chosen again
  };
  return html`<label class="drop ${over ? "over" : ""}" onDragOver=${entered} onDragLeave=${left} onDrop=${dropped}>
    <span>${label}, or drop ${multiple ? "them" : "it"} here</span>
    <input type="file" class="hidden" accept=${accept} multiple=${multiple} onChange=${chosen} />
  </label>`;
}
