/** What pictures are drawn of: their frame, the lines of their scale, and round values for these. */
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

/** Round numbers from `low` to `high`, about so many: multiples of 1, 2 or 5 times a power of ten. @param {number} low @param {number} high @param {number} count */
export function ticks(low, high, count) {
  if (low === high) return [low];
  const even = (high - low) / count;
  const power = Math.floor(Math.log10(even));
  const digit = even / 10 ** power;
  const factor = digit < Math.sqrt(2) ? 1 : digit < Math.sqrt(10) ? 2 : digit < Math.sqrt(50) ? 5 : 10; // the nearest, as a ratio
  // of a fraction, what it is one part of: multiples of 0.1 are rounded, tenths are not
  const [step, parts] = power < 0 ? [1, 10 ** -power / factor] : [factor * 10 ** power, 1];
  const value = (/** @type {number} */ i) => (i * step) / parts;
  const near = [low, high].map((end) => Math.round((end * parts) / step));
  const first = value(near[0]) < low ? near[0] + 1 : near[0];
  const last = value(near[1]) > high ? near[1] - 1 : near[1];
  return Array.from({ length: last - first + 1 }, (_, i) => value(first + i));
}
