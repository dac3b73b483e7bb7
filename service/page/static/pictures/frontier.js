/** What each further move buys: a staircase of a goal against its price. */
import { ticks } from "../vendor/d3-array.js";
import { Drawing, Grid } from "../drawing.js";
import { short } from "../format.js";
import { html } from "../lib.js";

/** @typedef {{price: number, goal: number, proven?: boolean}} Point */

/**
 * @param {{points: Point[], chosen: number | null, here?: Point & {label: string}, price: string, goal: string}} data
 * points with the price ascending; here: what is done instead
 * @param {number} width
 */
export function frontier({ points, chosen, here, price, goal }, width) {
  const all = here ? [...points, here] : points;
  const [left, right, top, bottom, height] = [56, 16, 22, 40, 230];
  const most = Math.max(...all.map((point) => point.price), 1);
  const highest = Math.max(...all.map((point) => point.goal));
  const lowest = Math.min(...all.map((point) => point.goal));
  const floor = highest === lowest ? 0 : Math.max(lowest - (highest - lowest) * 0.1, 0);
  const x = (/** @type {number} */ value) => left + (value / most) * (width - left - right);
  const y = (/** @type {number} */ value) =>
    top + (1 - (value - floor) / (highest - floor || 1)) * (height - top - bottom);
  const path = points
    .map((point, i) => `${i ? "H" : "M"}${x(point.price).toFixed(1)}${i ? "V" : ","}${y(point.goal).toFixed(1)}`)
    .join("");
  return html`<${Drawing} ...${{ width, height }} label="${goal} against ${price}">
    <${Grid}
      values=${marks(
        floor,
        highest,
        all.every(({ goal }) => Number.isInteger(goal)),
      )}
      ...${{ y, left, right: width - right }}
    />
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
    ${
      here &&
      html`<g>
        <circle class="here" cx=${x(here.price)} cy=${y(here.goal)} r="6" />
        <text
          class="label"
          x=${x(here.price) + (here.price > most / 2 ? -10 : 10)}
          y=${y(here.goal) + (here.goal === highest ? 20 : -9)}
          text-anchor=${here.price > most / 2 ? "end" : "start"}
          >${here.label}</text
        >
      </g>`
    }
  <//>`;
}

/** @param {number} low @param {number} high @param {boolean} whole whether the goal is counted */
function marks(low, high, whole) {
  return ticks(low, high, 4).filter((value) => !whole || Number.isInteger(value));
}
