/** Rows of a form: some at first, and more as the reader asks for them; added and removed. */
import { count } from "../format.js";
import { html, useState } from "../lib.js";

/** Rows that are shown at first, and added by each "more". */
const PAGE = 20;

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

/** @param {{name: string, act: () => void}} props name: of what is removed */
export function Remove({ name, act }) {
  return html`<button type="button" class="remove" aria-label="Remove ${name}" onClick=${act}>×</button>`;
}
