/** Rows of a form: some at first, and more as the reader asks for them; added and removed. */
import { Numeric } from "../fields.js";
import { count } from "../format.js";
import { html, useState } from "../lib.js";

/** Rows that are shown at first, and added by each "more". */
const PAGE = 30;

/** @returns {[number, () => void]} how many rows are shown, and what shows more */
export function useMore() {
  const [shown, setShown] = useState(PAGE);
  return [shown, () => setShown(shown + PAGE)];
}

/** @param {{of: number, shown: number, more: () => void, noun: string}} props of: how many rows there are */
export function More({ of, shown, more, noun }) {
  if (of <= shown) return null;
  return html`<p>
    <button type="button" onClick=${more}>Show more</button>
    <span class="hint"> ${count(of - shown, `further ${noun}`)}</span>
  </p>`;
}

/**
 * @template T
 * @param {object} props
 * @param {string} props.noun what a row is @param {string[]} props.columns @param {T[]} props.items one for each row
 * @param {(item: T, i: number) => any} props.row of an item @param {() => void} props.add
 */
export function Rows({ noun, columns, items, row, add }) {
  const [shown, more] = useMore();
  return html`<table class="rows">
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
          <th><span class="hidden">Remove</span></th>
        </tr>
      </thead>
      <tbody>
        ${items.slice(0, shown).map(row)}
      </tbody>
    </table>
    <${More} of=${items.length} shown=${shown} more=${more} noun=${noun} />
    <button type="button" onClick=${add}>Add ${noun}</button>`;
}

/**
 * Numbers of many things, which few need: a row for each, with a text beside its name.
 * @template T
 * @param {object} props
 * @param {string} props.summary @param {string} props.noun what a row is @param {string[]} props.heads of the name and of the text
 * @param {{name: string, label: string, scale?: number}[]} props.columns @param {T[]} props.items one for each row
 * @param {(item: T, i: number) => {id: any, name: string, text: any, field: (name: any) => any}} props.row of an item:
 *   what its row begins with, what it is called, the control of its text, and what binds a number
 */
export function NumbersOfEach({ summary, noun, heads, columns, items, row }) {
  const [shown, more] = useMore();
  return html`<details>
    <summary>${summary}</summary>
    <div class="wide">
      <table class="rows">
        <thead>
          <tr>
            ${heads.map((head) => html`<th scope="col">${head}</th>`)}
            ${columns.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${items.slice(0, shown).map((item, i) => {
            const { id, name, text, field } = row(item, i);
            return html`<tr>
              <th scope="row">${id}</th>
              <td>${text}</td>
              ${columns.map(({ name: column, label, scale }) => {
                const { set, ...bound } = field(column);
                const put = (/** @type {number | null} */ value) => set(value ?? undefined);
                return html`<td>
                  <${Numeric} bare ...${bound} ...${{ scale }} label="${name}: ${label}" set=${put} />
                </td>`;
              })}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <${More} of=${items.length} shown=${shown} more=${more} noun=${noun} />
  </details>`;
}

/** @param {{name: string, act: () => void}} props name: of what is removed */
export function Remove({ name, act }) {
  return html`<button type="button" class="remove" aria-label="Remove ${name}" onClick=${act}>×</button>`;
}
