/** A picture with its title, a sentence that says what it shows, its data as a table, and its downloads. */
import { csv, number } from "./format.js";
import { asPng, download, standalone } from "./files.js";
import { html, useLayoutEffect, useRef, useState } from "./lib.js";

/** Rows of a table that the page shows; its CSV has them all. */
const SHOWN = 200;
/** Columns of a table that a phone has room for; where there are more, each row is a card there. */
const MOST_COLUMNS = 4;

/** @typedef {string | number | null} Cell */
/** @typedef {{columns: string[], rows: Cell[][]}} Table */

/**
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.summary what a reader of the picture sees, in words
 * @param {Table} props.table
 * @param {(width: number) => any} props.picture an svg, as wide as there is room
 * @param {any} [props.legend]
 */
export function Figure({ title, summary, table, picture, legend }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(frame);
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const svg = () => /** @type {SVGSVGElement} */ (frame.current?.querySelector("svg"));
  return html`<figure>
    <figcaption>
      <h3>${title}</h3>
      <span class="downloads">
        <button
          type="button"
          aria-label="${title} as SVG"
          onClick=${() => download(`${name}.svg`, standalone(svg()), "image/svg+xml")}
        >
          SVG
        </button>
        <button
          type="button"
          aria-label="${title} as PNG"
          onClick=${async () => download(`${name}.png`, await asPng(svg()), "image/png")}
        >
          PNG
        </button>
        <button
          type="button"
          aria-label="${title} as CSV"
          onClick=${() => download(`${name}.csv`, csv(table.columns, table.rows), "text/csv")}
        >
          CSV
        </button>
      </span>
    </figcaption>
    <p class="soft">${summary}</p>
    ${legend}
    <div class="picture" tabindex="0" role="group" aria-label=${title} ref=${frame}>${picture(width)}</div>
    <details>
      <summary>Data</summary>
      <${DataTable} ...${table} caption=${title} />
    </details>
  </figure>`;
}

/** A number, or one with its decimals or its unit. @param {Cell} cell */
function isFigure(cell) {
  return (
    cell === null ||
    typeof cell === "number" ||
    /^(–|[\d,]+\.\d+$|[\d.,]+\s(→|%|×|[kMGTP]?B|m?s|min|h|days))/.test(cell)
  );
}

/** @param {Table & {caption: string}} props */
export function DataTable({ columns, rows, caption }) {
  const numeric = columns.map((_, i) => rows.every((row) => isFigure(row[i])));
  return html`<div
    class="wide ${columns.length > MOST_COLUMNS ? "cards" : ""}"
    tabindex="0"
    role="region"
    aria-label=${caption}
  >
    <table>
      ${
        rows.length > SHOWN &&
        html`<caption>
          The first ${SHOWN} of ${number(rows.length)} rows; the CSV has all.
        </caption>`
      }
      <thead>
        <tr>
          ${columns.map((column, i) => html`<th scope="col" class=${numeric[i] && "number"}>${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, SHOWN).map(
          (row) =>
            html`<tr>
              ${row.map((cell, i) => html`<td class=${numeric[i] && "number"} data-label=${columns[i]}>${typeof cell === "number" ? number(cell) : cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The width of an element in pixels, which pictures are drawn for. @param {{current: HTMLElement | null}} element */
function useWidth(element) {
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(Math.floor(entry.contentRect.width), 240)));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Figures of an answer. @param {{figures: {label: string, value: any, note?: any, tone?: "good" | "bad" | ""}[]}} props */
export function Figures({ figures }) {
  return html`<dl class="figures">
    ${figures.map(
      ({ label, value, note, tone }) =>
        html`<div>
          <dt>${label}</dt>
          <dd class=${tone}>${value}${note && html`<small>${note}</small>`}</dd>
        </div>`,
    )}
  </dl>`;
}

/** What the marks of a picture mean. @param {{marks: [string, string][]}} props class of the mark, and its meaning */
export function Legend({ marks }) {
  return html`<ul class="legend">
    ${marks.map(
      ([mark, text]) =>
        html`<li>
          <svg width="12" height="12" aria-hidden="true">
            <rect class=${mark} x="1.5" y="1.5" width="9" height="9" rx="1.5" />
          </svg>
          ${text}
        </li>`,
    )}
  </ul>`;
}
