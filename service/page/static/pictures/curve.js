/** Values against a count, as stairs: one line a series, dots where the count is worth using, and marks on the axis. */
import { ticks } from "../vendor/d3-array.js";
import { clipped, short } from "../format.js";
import { html } from "../lib.js";

/** @typedef {{name: string, look: string, points: {x: number, y: number, dot: boolean}[]}} Series */

/**
 * @param {object} data
 * @param {Series[]} data.series @param {{x: number, label: string}[]} data.marks
 * @param {{y: number, label: string} | null} data.limit @param {string} data.x what is counted @param {string} data.y
 * @param {number} width @param {number} [height]
 */
export function curve({ series, marks, limit, x: counted, y: measured }, width, height = 280) {
  const [left, right, top, bottom] = [64, 20, 40, 42];
  const points = series.flatMap((each) => each.points);
  const most = Math.max(...points.map(({ y }) => y), limit?.y ?? 0, 1e-9);
  const largest = Math.max(...points.map(({ x }) => x), 1);
  const x = (/** @type {number} */ value) => left + (value / largest) * (width - left - right);
  const y = (/** @type {number} */ value) => top + (1 - value / most) * (height - top - bottom);
  return html`<svg
    viewBox="0 0 ${width} ${height}"
    width=${width}
    height=${height}
    role="img"
    aria-label="${measured} against ${counted}"
  >
    <text class="tick" x="4" y="12">${measured}</text>
    ${ticks(0, most, 5).map(
      (value) =>
        html`<g>
          <line class="grid" x1=${left} x2=${width - right} y1=${y(value)} y2=${y(value)} />
          <text class="tick" x=${left - 8} y=${y(value) + 4} text-anchor="end">${short(value)}</text>
        </g>`,
    )}
    ${ticks(0, largest, 10)
      .filter(Number.isInteger)
      .map(
        (value) => html`<text class="tick" x=${x(value)} y=${height - 22} text-anchor="middle">${short(value)}</text>`,
      )}
    <text class="tick" x=${width - right} y=${height - 5} text-anchor="end">${counted}</text>
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
          <line class="mark" x1=${x(mark.x)} x2=${x(mark.x)} y1=${top - 8} y2=${height - bottom} />
          <text class="label" x=${x(mark.x)} y=${i % 2 ? 16 : 30} text-anchor=${mark.x > largest / 2 ? "end" : "start"}
            >${clipped(mark.label, 40)}</text
          >
        </g>`,
    )}
    ${series.map(
      (each) =>
        html`<g>
          <path
            class=${each.look}
            d=${each.points.map((point, i) => `${i ? "L" : "M"}${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join("")}
          />
          ${each.points
            .filter(({ dot }) => dot)
            .map(
              (point) =>
                html`<circle class="${each.look} dot" cx=${x(point.x)} cy=${y(point.y)} r="4">
                  <title>${each.name}, ${point.x} ${counted}: ${short(point.y)}</title>
                </circle>`,
            )}
        </g>`,
    )}
  </svg>`;
}
