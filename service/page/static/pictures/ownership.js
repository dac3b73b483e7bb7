/** Members × partitions: who keeps, gets and gives up which partition. */
import { clipped, number } from "../format.js";
import { html } from "../lib.js";

/** Partitions and members of which each is shown; of more, counts. */
export const MOST_PARTITIONS = 200;
export const MOST_MEMBERS = 60;
const ROW = 18;
const HEAD = 34;
const GAP = 10;

/** @typedef {import("../workbenches/ownership.js").Ownership} Ownership */

/** One cell a partition. @param {Ownership} owned @param {number} width */
export function partitions(owned, width) {
  const { topics, members, before, after } = owned;
  const left = labelWidth(members, width);
  const cell = Math.min((width - left - GAP * (topics.length - 1)) / Math.max(before.length, 1), 22);
  const x = (/** @type {number} */ topic, /** @type {number} */ i) => left + topic * GAP + i * cell;
  const side = Math.max(Math.min(cell - 3, ROW - 4), 2);
  return html`<svg
    viewBox="0 0 ${width} ${HEAD + members.length * ROW}"
    width=${width}
    height=${HEAD + members.length * ROW}
    role="img"
    aria-label="Partitions of each member before and after"
  >
    ${topics.map(
      ({ name, first, count }, topic) =>
        html`<g>
          <text class="label" x=${x(topic, first)} y="12"
            >${clipped(name, Math.max(Math.floor((count * cell) / 7), 3))}</text
          >
          ${ticks(count, cell).map((id) => html`<text class="tick" x=${x(topic, first + id) + side / 2} y="27" text-anchor="middle">${id}</text>`)}
        </g>`,
    )}
    ${members.map(
      (member, row) =>
        html`<g>
          <rect class="lane" x=${left} y=${HEAD + row * ROW} width=${Math.max(width - left, 0)} height=${ROW - 2} />
          <text class="label ${member.change}" x=${left - 8} y=${HEAD + row * ROW + 12} text-anchor="end"
            >${clipped(member.id, 22)}</text
          >
        </g>`,
    )}
    ${topics.flatMap(({ name, first, count }, topic) =>
      Array.from({ length: count }, (_, id) => {
        const i = first + id;
        const at = (/** @type {number} */ row) => ({
          x: x(topic, i),
          y: HEAD + row * ROW + 2,
          width: side,
          height: ROW - 6,
          rx: 2,
        });
        const [from, to] = [before[i], after[i]];
        const who = (/** @type {number} */ row) => (row < 0 ? "nobody" : members[row].id);
        return html`<g>
          <title>${name}-${id}: ${from === to ? `stays with ${who(to)}` : `${who(from)} → ${who(to)}`}</title>
          ${from >= 0 && from !== to && html`<rect class="given" ...${at(from)} />`}
          ${to >= 0 && html`<rect class=${from === to ? "kept" : "taken"} ...${at(to)} />`}
        </g>`;
      }),
    )}
  </svg>`;
}

/** @param {number} count @param {number} cell @returns {number[]} ids that have room for their number */
function ticks(count, cell) {
  const step = [1, 2, 5, 10, 20, 50, 100].find((each) => each * cell >= 18) ?? 200;
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

/** @param {{id: string}[]} members @param {number} width */
export function labelWidth(members, width) {
  const longest = Math.max(...members.map(({ id }) => Math.min(id.length, 22)), 4);
  return Math.min(longest * 7 + 12, width / 3);
}

/**
 * One cell a member and topic, with the number of partitions; of many members those with the largest change.
 * @param {{rows: {label: string, change: string}[], columns: string[], before: number[][], after: number[][]}} data @param {number} width
 */
export function counted({ rows, columns, before, after }, width) {
  const left = Math.min(width / 3, 170);
  const cell = (width - left) / Math.max(columns.length, 1);
  const most = Math.max(...after.flat(), ...before.flat(), 1);
  const height = HEAD + rows.length * ROW;
  return html`<svg
    viewBox="0 0 ${width} ${height}"
    width=${width}
    height=${height}
    role="img"
    aria-label="Partitions by member and topic"
  >
    ${columns.map(
      (name, i) =>
        html`<text class="label" x=${left + i * cell + 2} y="22"
          >${clipped(name, Math.max(Math.floor(cell / 7.5), 3))}</text
        >`,
    )}
    ${rows.map(
      ({ label, change }, row) =>
        html`<g>
          <text class="label ${change}" x=${left - 8} y=${HEAD + row * ROW + 12} text-anchor="end"
            >${clipped(label, 22)}</text
          >
          ${columns.map((name, i) => {
            const difference = after[row][i] - before[row][i];
            return html`<g>
              <title>${label}, ${name}: ${number(before[row][i])} → ${number(after[row][i])}</title>
              <rect
                class="heat"
                x=${left + i * cell}
                y=${HEAD + row * ROW}
                width=${Math.max(cell - 2, 1)}
                height=${ROW - 2}
                rx="2"
                fill-opacity=${0.06 + (0.5 * after[row][i]) / most}
              />
              ${
                cell >= 44 &&
                html`<text class="value" x=${left + i * cell + cell - 6} y=${HEAD + row * ROW + 12} text-anchor="end">
                  ${cell >= 84 && difference !== 0 && html`<tspan class="change">${difference > 0 ? "+" : "−"}${number(Math.abs(difference))} </tspan>`}${number(after[row][i])}
                </text>`
              }
            </g>`;
          })}
        </g>`,
    )}
  </svg>`;
}
