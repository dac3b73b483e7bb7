/** Rows of a long form: some at first, and more as the reader asks for them. */
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
