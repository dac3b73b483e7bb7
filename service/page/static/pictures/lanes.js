/** One lane a protocol: how many partitions have no reader, over time, and the rebalances that cause it. */
import { ticks } from "../vendor/d3-array.js";
import { Drawing } from "../drawing.js";
import { clipped, number } from "../format.js";
import { html } from "../lib.js";

const LANE = 74;
const HEAD = 46;

/** @typedef {{name: string, at: number[], idle: number[], rebalances: {from: number, to: number, number: number}[]}} Lane times in ms; idle: partitions from each time on */
/** @typedef {{lanes: Lane[], end: number, partitions: number, events: {at: number, label: string}[], chosen: number}} Lanes */

/** Characters of a label between two places; labels stand in two rows. @param {number} from @param {number} to */
const room = (from, to) => Math.max(Math.floor((to - from) / 6.5) - 1, 3);

/** @param {Lanes} data @param {number} width */
export function lanes({ lanes, end, partitions, events, chosen }, width) {
  const left = 12;
  const x = (/** @type {number} */ ms) => left + (ms / end) * (width - left - 12);
  const height = HEAD + lanes.length * LANE + 24;
  return html`<${Drawing} ...${{ width, height }} label="Partitions without a reader, over time">
    ${events.map(
      ({ at, label }, i) =>
        html`<g>
          <title>${number(at / 1000)} s: ${label}</title>
          <line class="event-line" x1=${x(at)} x2=${x(at)} y1="16" y2=${height - 22} />
          <text class="label" x=${x(at) + 4} y=${12 + (i % 2) * 16}
            >${clipped(label, room(x(at), x(events[i + 2]?.at ?? end)))}</text
          >
        </g>`,
    )}
    ${lanes.map((lane, row) => {
      const top = HEAD + row * LANE;
      const [base, full] = [top + LANE - 18, LANE - 36];
      const y = (/** @type {number} */ idle) => base - (idle > 0 ? Math.max((idle / partitions) * full, 1.5) : 0); // seen, if few
      const steps = lane.at.map((at, i) => `H${x(at).toFixed(1)}V${y(lane.idle[i]).toFixed(1)}`).join("");
      return html`<g>
        <text class="label joins" x=${left} y=${top + 11}>${lane.name}</text>
        <rect class="lane" x=${left} y=${base - full} width=${width - left - 12} height=${full} />
        <path class="idle" d="M${x(0)},${base}${steps}H${x(end)}V${base}Z" />
        <line class="axis" x1=${left} x2=${width - 12} y1=${base} y2=${base} />
        ${lane.rebalances.map(
          ({ from, to, number: generation }, i) =>
            html`<g>
              <title>Rebalance ${generation}: ${number(from)} ms to ${number(to)} ms</title>
              <rect
                class=${row === 0 && i === chosen ? "rebalance chosen" : "rebalance"}
                x=${x(from)}
                y=${base + 2}
                width=${Math.max(x(to) - x(from), 2)}
                height="5"
              />
            </g>`,
        )}
      </g>`;
    })}
    ${ticks(0, end / 1000, Math.max(Math.floor(width / 90), 2)).map(
      (seconds) =>
        html`<text class="tick" x=${x(seconds * 1000)} y=${height - 4} text-anchor="middle"
          >${number(seconds)} s</text
        >`,
    )}
  <//>`;
}
