/** What pictures are drawn of: their frame, and the lines of their scale. */
import { short } from "./format.js";
import { html } from "./lib.js";

/** The frame of a picture. @param {{width: number, height: number, label: string, children?: any}} props */
export function Drawing({ width, height, label, children }) {
  return html`<svg viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img" aria-label=${label}>
    ${children}
  </svg>`;
}

/** Lines across, each with its value at the left. @param {{values: number[], y: (value: number) => number, left: number, right: number}} props */
export function Grid({ values, y, left, right }) {
  return values.map(
    (value) =>
      html`<g>
        <line class="grid" x1=${left} x2=${right} y1=${y(value)} y2=${y(value)} />
        <text class="tick" x=${left - 8} y=${y(value) + 4} text-anchor="end">${short(value)}</text>
      </g>`,
  );
}
