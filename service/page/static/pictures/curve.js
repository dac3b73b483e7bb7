/** Values against a count, as stairs: one line a series, dots where the count is worth using, and marks on the axis. */
import { ticks } from "../vendor/d3-array.js";
import { Drawing, Grid } from "../drawing.js";
import { clipped, short } from "../format.js";
import { html } from "../lib.js";

/** @typedef {{x: number, y: number, dot: boolean, note: string}} Point */
/** @typedef {{name: string, look: string, stairs: boolean, points: Point[]}} Series stairs: what holds at a count holds up to the next */

/** Counts above which both axes are logarithmic: what counts is shared out among them. */
const MOST_LINEAR = 100;

/**
 * @param {object} data
 * @param {Series[]} data.series @param {{x: number, label: string}[]} data.marks
 * @param {{y: number, label: string} | null} data.limit @param {string} data.x what is counted @param {string} data.y
 * @param {number} width @param {number} [height]
 */
export function curve({ series, marks: named, limit, x: counted, y: measured }, width, height = 280) {
  const points = series.flatMap((each) => each.points);
  const most = Math.max(...points.map(({ y }) => y), limit?.y ?? 0, 1e-9);
  const largest = Math.max(...points.map(({ x }) => x), 1);
  const marks = named.filter((mark) => mark.x <= largest);
  const [left, right, top, bottom] = [64, 20, 20 + 14 * marks.length, 42];
  const log = largest > MOST_LINEAR;
  const across = scale(largest, log ? 1 : 0);
  const positive = points.map(({ y }) => y).filter((y) => y > 0);
  const up = scale(most, log ? positive.reduce((a, b) => Math.min(a, b), most) : 0);
  const x = (/** @type {number} */ value) => left + across.at(value) * (width - left - right);
  const y = (/** @type {number} */ value) => top + (1 - up.at(value)) * (height - top - bottom);
  return html`<${Drawing} ...${{ width, height }} label="${measured} against ${counted}">
    <text class="tick" x="4" y="12">${measured}</text>
    <${Grid} values=${up.ticks(5)} ...${{ y, left, right: width - right }} />
    ${across
      .ticks(Math.min(Math.max(Math.floor(width / 55), 3), 10))
      .filter(Number.isInteger)
      .map(
        (value) => html`<text class="tick" x=${x(value)} y=${height - 22} text-anchor="middle">${short(value)}</text>`,
      )}
    <text class="tick" x=${width - right} y=${height - 5} text-anchor="end">
      ${counted}${log ? ", both axes logarithmic" : ""}
    </text>
    ${
      limit &&
      html`<g>
        <line class="limit" x1=${left} x2=${width - right} y1=${y(limit.y)} y2=${y(limit.y)} />
        <text class="tick" x=${width - right} y=${y(limit.y) - 5} text-anchor="end">${limit.label}</text>
      </g>`
    }
    ${marks.map(
      (mark, i) =>
        html`<g>
          <line class="mark" x1=${x(mark.x)} x2=${x(mark.x)} y1=${26 + i * 14} y2=${height - bottom} />
          <text
            class="label"
            x=${x(mark.x) + (x(mark.x) > width / 2 ? -4 : 4)}
            y=${28 + i * 14}
            text-anchor=${x(mark.x) > width / 2 ? "end" : "start"}
            >${clipped(mark.label, 40)}</text
          >
        </g>`,
    )}
    ${series.map(
      (each) =>
        html`<g>
          <path
            class=${each.look}
            d=${each.points.map((point, i) => along(x(point.x), y(point.y), i, each.stairs)).join("")}
          />
          ${each.points
            .filter(({ dot }) => dot)
            .map(
              (point) =>
                html`<circle class="${each.look} dot" cx=${x(point.x)} cy=${y(point.y)} r="4">
                  <title>${each.name}, ${point.x} ${counted}: ${point.note}</title>
                </circle>`,
            )}
        </g>`,
    )}
  <//>`;
}

/** @param {number} x @param {number} y @param {number} i @param {boolean} stairs */
function along(x, y, i, stairs) {
  if (i === 0) return `M${x.toFixed(1)},${y.toFixed(1)}`;
  return stairs ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `L${x.toFixed(1)},${y.toFixed(1)}`;
}

/**
 * An axis from 0, or a logarithmic one from what is least: the share of it at a value, and its ticks.
 * @param {number} most @param {number} least 0: a linear one
 */
function scale(most, least) {
  if (least === 0 || least >= most) {
    return {
      at: (/** @type {number} */ value) => value / most,
      ticks: (/** @type {number} */ count) => ticks(0, most, count),
    };
  }
  const [first, last] = [Math.ceil(Math.log10(least)), Math.floor(Math.log10(most))];
  const powers = Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);
  return {
    at: (/** @type {number} */ value) => Math.log(Math.max(value, least) / least) / Math.log(most / least),
    ticks: () => powers.map((power) => 10 ** power),
  };
}
