/** Partitions × brokers: which replicas stay, arrive and leave. */
import { Drawing } from "../drawing.js";
import { clipped, number } from "../format.js";
import { html } from "../lib.js";
import { beside } from "./ownership.js";

/** Partitions of which each is a row; of more, a row is a topic. */
export const MOST_ROWS = 48;
const ROW = 18;
const HEAD = 40;
const RACK_GAP = 14;

/** @typedef {{label: string, before: number[], after: number[]}} Row replicas of each broker; 2: with the leader, where a row is a partition */
/** @typedef {{id: number, rack: string, change: string}} Column */
/** @typedef {{brokers: Column[], rows: Row[], single: boolean, side?: "both" | "before" | "after"}} Placed */

/** @param {Placed} placed @param {number} width */
export function placement({ brokers, rows: compared, single, side = "both" }, width) {
  const rows = side === "both" ? compared : compared.map((row) => ({ ...row, before: row[side], after: row[side] }));
  const { names, left } = beside(
    rows.map(({ label }) => label),
    width,
  );
  const racks = [...new Set(brokers.map(({ rack }) => rack))];
  const cell = Math.min((width - left - RACK_GAP * (racks.length - 1)) / Math.max(brokers.length, 1), 96);
  const x = (/** @type {number} */ i) => left + i * cell + racks.indexOf(brokers[i].rack) * RACK_GAP;
  const height = HEAD + rows.length * ROW;
  const most = Math.max(...rows.flatMap(({ before, after }) => [...before, ...after]), 1);
  const step = Math.ceil(22 / cell);
  return html`<${Drawing} ...${{ width, height }} label="Replicas by partition and broker">
    ${racks.map((rack) => {
      const first = brokers.findIndex((broker) => broker.rack === rack);
      const room = brokers.filter((broker) => broker.rack === rack).length * cell + RACK_GAP;
      return html`<text class="tick" x=${x(first)} y="12">${clipped(rack, Math.floor(room / 7))}</text>`;
    })}
    ${brokers.map(
      ({ id, change }, i) =>
        i % step === 0 &&
        html`<text class="label ${change}" x=${x(i) + cell / 2 - 1} y="30" text-anchor="middle">${id}</text>`,
    )}
    ${rows.map(
      (_, row) =>
        html`<text class="label" x=${left - 8} y=${HEAD + row * ROW + 12} text-anchor="end">${names[row]}</text>`,
    )}
    ${rows.map((row, j) =>
      brokers.map((broker, i) => {
        const at = { x: x(i), y: HEAD + j * ROW, width: Math.max(cell - 2, 1), height: ROW - 2, rx: 2 };
        return html`<g>
          <title>
            ${row.label}, broker ${broker.id}:
            ${single ? told(row.before[i], row.after[i]) : `${number(row.before[i])} → ${number(row.after[i])} replicas`}
          </title>
          <rect class="lane" ...${at} />
          ${single ? replica(row.before[i], row.after[i], at) : amount(row.before[i], row.after[i], most, at, cell)}
        </g>`;
      }),
    )}
  <//>`;
}

/** @param {number} before @param {number} after */
function told(before, after) {
  const kinds = ["no replica", "follower", "leader"];
  return before === after ? kinds[after] : `${kinds[before]} → ${kinds[after]}`;
}

/** @param {number} before @param {number} after @param {any} at */
function replica(before, after, at) {
  const looks = after === 0 ? "given" : before === 0 ? "taken" : "kept";
  const inner = { ...at, x: at.x + 1, y: at.y + 1, width: Math.max(at.width - 2, 1), height: at.height - 2 };
  return html`${(before > 0 || after > 0) && html`<rect class=${looks} ...${inner} />`}
  ${after === 2 && html`<circle class="leader" cx=${at.x + at.width / 2} cy=${at.y + at.height / 2} r="2.6" />`}`;
}

/** @param {number} before @param {number} after @param {number} most @param {any} at @param {number} cell */
function amount(before, after, most, at, cell) {
  const difference = after - before;
  return html`<rect class="heat" ...${at} fill-opacity=${after === 0 ? 0 : 0.06 + (0.5 * after) / most} /> ${
      cell < 34 &&
      difference !== 0 &&
      html`<rect
        class=${difference > 0 ? "taken" : "given"}
        x=${at.x}
        y=${at.y + at.height - 4}
        width=${at.width}
        height="4"
      />`
    }
    ${
      cell >= 34 &&
      html`<text class="value" x=${at.x + at.width - 5} y=${at.y + 12} text-anchor="end">
        ${cell >= 60 && difference !== 0 && html`<tspan class="change">${difference > 0 ? "+" : "−"}${number(Math.abs(difference))} </tspan>`}${number(after)}
      </text>`
    }`;
}
