/** What each further move buys: a staircase of a goal against its price. */
import { ticks } from "../vendor/d3-array.js";
import { short } from "../format.js";
import { html } from "../lib.js";

/** @typedef {{price: number, goal: number, proven?: boolean}} Point */

/**
 * @param {{points: Point[], chosen: number | null, price: string, goal: string}} data with the price ascending
 * @param {number} width
 */
export function frontier({ points, chosen, price, goal }, width) {
  const [left, right, top, bottom, height] = [56, 16, 22, 40, 230];
  const most = Math.max(...points.map((point) => point.price), 1);
  const highest = Math.max(...points.map((point) => point.goal));
  const lowest = Math.min(...points.map((point) => point.goal));
  const floor = highest === lowest ? 0 : Math.max(lowest - (highest - lowest) * 0.1, 0);
  const x = (/** @type {number} */ value) => left + (value / most) * (width - left - right);
  const y = (/** @type {number} */ value) =>
    top + (1 - (value - floor) / (highest - floor || 1)) * (height - top - bottom);
  const path = points
    .map((point, i) => `${i ? "H" : "M"}${x(point.price).toFixed(1)}${i ? "V" : ","}${y(point.goal).toFixed(1)}`)
    .join("");
  return html`<svg
    viewBox="0 0 ${width} ${height}"
    width=${width}
    height=${height}
    role="img"
    aria-label="${goal} against ${price}"
  >
    ${marks(
      floor,
      highest,
      points.every(({ goal }) => Number.isInteger(goal)),
    ).map(
      (value) =>
        html`<g>
          <line class="grid" x1=${left} x2=${width - right} y1=${y(value)} y2=${y(value)} />
          <text class="tick" x=${left - 8} y=${y(value) + 4} text-anchor="end">${short(value)}</text>
        </g>`,
    )}
    ${ticks(0, most, 8)
      .filter(Number.isInteger)
      .map(
        (value) => html`<text class="tick" x=${x(value)} y=${height - 22} text-anchor="middle">${short(value)}</text>`,
      )}
    <text class="tick" x=${left} y="12">${goal}</text>
    <text class="tick" x=${width - right} y=${height - 6} text-anchor="end">${price}</text>
    <path class="line-before" d=${path} />
    ${points.map(
      (point) =>
        html`<circle
          class=${point.price === chosen ? "dot chosen" : "dot"}
          cx=${x(point.price)}
          cy=${y(point.goal)}
          r=${point.price === chosen ? 5.5 : points.length > 80 ? 1.5 : 3}
        >
          <title>${price}: ${short(point.price)}, ${goal}: ${short(point.goal)}</title>
        </circle>`,
    )}
  </svg>`;
}

/** @param {number} low @param {number} high @param {boolean} whole whether the goal is counted */
function marks(low, high, whole) {
  return ticks(low, high, 4).filter((value) => !whole || Number.isInteger(value));
}
