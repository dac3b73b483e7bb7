/** The same histogram for several names, small and on one scale, to be compared. */
import { Drawing } from "../drawing.js";
import { clipped } from "../format.js";
import { html } from "../lib.js";
import { histogram } from "./histogram.js";

const HEIGHT = 90;
const HEAD = 38;
const GAP = 18;

/** @typedef {{name: string, note: string, counts: number[], mean: number, band: {low: number, high: number} | null}} Multiple */

/** @param {Multiple[]} multiples @param {number} width */
export function multiples(multiples, width) {
  const columns = Math.max(Math.min(Math.floor(width / 240), multiples.length), 1);
  const each = (width - GAP * (columns - 1)) / columns;
  const most = multiples.reduce((top, { counts, band }) => Math.max(top, band?.high ?? 0, ...counts), 1);
  const height = Math.ceil(multiples.length / columns) * (HEIGHT + HEAD);
  return html`<${Drawing} ...${{ width, height }} label="Records of each partition, side by side">
    ${multiples.map(({ name, note, ...data }, i) => {
      const [x, y] = [(i % columns) * (each + GAP), Math.floor(i / columns) * (HEIGHT + HEAD)];
      return html`<g>
        <text class="label joins" x=${x + 4} y=${y + 14}>${clipped(name, Math.floor(each / 8))}</text>
        <text class="tick" x=${x + 4} y=${y + 30}>${note}</text>
        <svg x=${x} y=${y + HEAD - 4}>${histogram(data, each, HEIGHT, most)}</svg>
      </g>`;
    })}
  <//>`;
}
