/** Records of each partition, with the band in which the fullest partition lies by chance alone. */
import { ticks } from "../vendor/d3-array.js";
import { Drawing, Grid } from "../drawing.js";
import { number } from "../format.js";
import { html } from "../lib.js";

/** Pixels of a bar from which bars stand apart. */
const APART = 5;

/**
 * @param {{counts: number[], mean: number, band: {low: number, high: number} | null}} data records of each partition
 * @param {number} width @param {number} [height] @param {number} [most] the top of the scale, to compare several pictures
 */
export function histogram({ counts, mean, band }, width, height = 240, most = Math.max(...counts, band?.high ?? 0, 1)) {
  const small = height < 150;
  const [left, right, top, bottom] = small ? [4, 4, 6, 4] : [52, 8, 12, 26];
  const bar = (width - left - right) / counts.length;
  const gap = bar >= APART ? Math.min(bar * 0.2, 4) : 0;
  const y = (/** @type {number} */ value) => top + (1 - value / most) * (height - top - bottom);
  const path = (/** @type {(count: number) => boolean} */ among) =>
    counts
      .map((count, i) =>
        among(count)
          ? `M${(left + i * bar).toFixed(2)},${y(0).toFixed(1)}V${y(count).toFixed(1)}h${(bar - gap).toFixed(2)}V${y(0).toFixed(1)}Z`
          : "",
      )
      .join("");
  const limit = band?.high ?? Infinity;
  return html`<${Drawing} ...${{ width, height }} label="Records of each partition">
    ${!small && html`<${Grid} values=${ticks(0, most, 5)} ...${{ y, left, right: width - right }} />`}
    ${band && html`<rect class="band" x=${left} width=${width - left - right} y=${y(band.high)} height=${Math.max(y(band.low) - y(band.high), 1)} />`}
    <path class="kept" d=${path((count) => count <= limit)} />
    <path class="taken" d=${path((count) => count > limit)} />
    <line class="mean" x1=${left} x2=${width - right} y1=${y(mean)} y2=${y(mean)} />
    ${
      !small &&
      marks(counts.length, bar).map(
        (id) =>
          html`<text class="tick" x=${left + (id + 0.5) * bar - gap / 2} y=${height - 8} text-anchor="middle"
            >${number(id)}</text
          >`,
      )
    }
  <//>`;
}

/** Ids of partitions that are written below their bars. @param {number} count @param {number} bar width in pixels */
function marks(count, bar) {
  return bar >= 18 ? Array.from({ length: count }, (_, i) => i) : ticks(0, count - 1, 8).filter(Number.isInteger);
}
