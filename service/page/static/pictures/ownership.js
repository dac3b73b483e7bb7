/** Members × partitions: who keeps, gets and gives up which partition; several may read one. */
import { Drawing } from "../drawing.js";
import { clipped, fitted, number } from "../format.js";
import { html } from "../lib.js";
import { changeOf, readersOf } from "../workbenches/ownership.js";

/** Partitions and members of which each is shown; of more, counts. */
export const MOST_PARTITIONS = 200;
export const MOST_MEMBERS = 60;
const ROW = 18;
const HEAD = 34;
const GAP = 10;

/** @typedef {import("../workbenches/ownership.js").Ownership} Ownership */

/** Readers of a partition that its title names. */
const MOST_NAMED = 8;

/** One cell a partition and reader. @param {Ownership} owned @param {number} width */
export function partitions(owned, width) {
  const { topics, members, before, after } = owned;
  const { names, left } = beside(
    members.map(({ id }) => id),
    width,
  );
  const cell = Math.min((width - left - GAP * (topics.length - 1)) / Math.max(owned.partitions, 1), 22);
  const x = (/** @type {number} */ topic, /** @type {number} */ i) => left + topic * GAP + i * cell;
  const side = Math.max(Math.min(cell - 3, ROW - 4), 2);
  const height = HEAD + members.length * ROW;
  return html`<${Drawing} ...${{ width, height }} label="Partitions of each member before and after">
    ${topics.map(
      ({ name, first, count }, topic) =>
        html`<g>
          <text class="label" x=${x(topic, first)} y="12"
            >${clipped(name, Math.max(Math.floor((count * cell) / 7.6), 3))}</text
          >
          ${ticks(count, cell).map((id) => html`<text class="tick" x=${x(topic, first + id) + side / 2} y="27" text-anchor="middle">${id}</text>`)}
        </g>`,
    )}
    ${members.map(
      (member, row) =>
        html`<g>
          <rect class="lane" x=${left} y=${HEAD + row * ROW} width=${Math.max(width - left, 0)} height=${ROW - 2} />
          <text class="label ${member.change}" x=${left - 8} y=${HEAD + row * ROW + 12} text-anchor="end"
            >${names[row]}</text
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
        const { gone, kept, come } = changeOf(before, after, i);
        const [from, to] = [before, after].map((readers) => namesOf(members, readersOf(readers, i)));
        const marks = { given: gone, kept, taken: come };
        return html`<g>
          <title>${name}-${id}: ${gone.length + come.length === 0 ? `stays with ${to}` : `${from} → ${to}`}</title>
          ${Object.entries(marks).flatMap(([mark, rows]) => Array.from(rows, (row) => html`<rect class=${mark} ...${at(row)} />`))}
        </g>`;
      }),
    )}
  <//>`;
}

/** @param {{id: string}[]} members @param {Int32Array} places */
function namesOf(members, places) {
  if (places.length === 0) return "no member";
  const names = Array.from(places.subarray(0, MOST_NAMED), (place) => members[place].id).join(", ");
  return places.length > MOST_NAMED ? `${names} and ${number(places.length - MOST_NAMED)} others` : names;
}

/** @param {number} count @param {number} cell @returns {number[]} ids that have room for their number */
function ticks(count, cell) {
  const step = [1, 2, 5, 10, 20, 50, 100].find((each) => each * cell >= 18) ?? 200;
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

/** Pixels of a letter of a name, and between names and picture. */
const LETTER = 7.8;
const SPACE = 16;

/**
 * Names as they fit beside a picture, of which they take a third at most, and where the picture then begins.
 * @param {string[]} all @param {number} width
 */
export function beside(all, width) {
  const names = fitted(all, Math.min(Math.floor((width / 3 - SPACE) / LETTER), 22));
  return { names, left: Math.max(...names.map(({ length }) => length), 4) * LETTER + SPACE };
}

/**
 * One cell a member and topic, with the number of partitions; of many members those with the largest change.
 * @param {{rows: {label: string, change: string}[], columns: string[], before: number[][], after: number[][]}} data @param {number} width
 */
export function counted({ rows, columns, before, after }, width) {
  const most = Math.max(...after.flat(), ...before.flat(), 1);
  const { names, left } = beside(
    rows.map(({ label }) => label),
    width,
  );
  const cell = (width - left) / Math.max(columns.length, 1);
  const heads = fitted(columns, Math.max(Math.floor(cell / 7.5), 3));
  const height = HEAD + rows.length * ROW;
  return html`<${Drawing} ...${{ width, height }} label="Partitions by member and topic">
    ${columns.map((_, i) => html`<text class="label" x=${left + i * cell + 2} y="22">${heads[i]}</text>`)}
    ${rows.map(
      ({ label, change }, row) =>
        html`<g>
          <text class="label ${change}" x=${left - 8} y=${HEAD + row * ROW + 12} text-anchor="end">${names[row]}</text>
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
  <//>`;
}
