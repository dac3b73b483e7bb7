/** Members over time: a lane for each, with the times at which it was in the group, and the rebalances across them. */
import { Drawing } from "../drawing.js";
import { clipped } from "../format.js";
import { html } from "../lib.js";
import { scaleTicks } from "../time_ticks.js";
import { beside } from "./ownership.js";

/** Lanes drawn at most. */
export const MOST_LANES = 40;
const LANE = 18;
const HEAD = 40;
/** Pixels of a letter, and the characters that a label has at least and at most. */
const LETTER = 6.2;
const [LEAST, MOST] = [10, 34];

/** @typedef {{from: number, to: number, label: string, members: string[] | null}} Mark a rebalance, in ms, and who is in the group after it; null: not known */
/** @typedef {{marks: Mark[], from: number, to: number}} History */

/** @param {History} history @param {number} width */
export function presence({ marks, from, to }, width) {
  const counts = new Map();
  for (const { members } of marks) for (const name of members ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, MOST_LANES);
  names.sort((a, b) => (a < b ? -1 : 1));
  const labels = beside(names.length > 0 ? names : ["group"], width);
  const { left } = labels;
  const span = Math.max(to - from, 1);
  const x = (/** @type {number} */ at) => left + ((at - from) / span) * (width - left - 6);
  const base = HEAD + Math.max(names.length, 1) * LANE;
  const height = base + 22;
  const until = (/** @type {number} */ i) => marks[i + 1]?.from ?? to;
  const labelled = placed(
    marks.map(({ from: began, label }) => ({ x: x(began) + 2, label })),
    width,
  );
  return html`<${Drawing} ...${{ width, height }} label="Members and rebalances over time">
    ${names.map(
      (name, row) =>
        html`<g>
          <text class="label" x=${left - 8} y=${HEAD + row * LANE + 13} text-anchor="end">${labels.names[row]}</text>
          <rect class="lane" x=${left} y=${HEAD + row * LANE + 2} width=${width - left - 6} height=${LANE - 4} />
          ${marks.map(
            ({ to: start, members }, i) =>
              members?.includes(name) &&
              html`<rect
                class="kept"
                x=${x(start)}
                y=${HEAD + row * LANE + 2}
                width=${Math.max(x(until(i)) - x(start), 1)}
                height=${LANE - 4}
              >
                <title>${name}</title>
              </rect>`,
          )}
        </g>`,
    )}
    ${marks.map(
      ({ from: began, to: ended, label }, i) =>
        html`<g>
          <title>${label}</title>
          <line class="event-line" x1=${x(began)} x2=${x(began)} y1="30" y2=${base} />
          <rect class="rebalance" x=${x(began)} y="30" width=${Math.max(x(ended) - x(began), 3)} height="6" />
          ${labelled[i] && html`<text class="tick" x=${x(began) + 2} y=${labelled[i]?.y}>${labelled[i]?.text}</text>`}
        </g>`,
    )}
    ${scaleTicks(from, to, width - left).map(
      ({ at, text }) => html`<text class="tick" x=${x(at)} y=${height - 6} text-anchor="middle">${text}</text>`,
    )}
  <//>`;
}

/** Where labels have room, in two rows; null: none. @param {{x: number, label: string}[]} labels from left to right @param {number} width */
function placed(labels, width) {
  const ends = [-Infinity, -Infinity];
  return labels.map(({ x, label }) => {
    const row = ends.findIndex((end) => end < x);
    const room = Math.min(Math.floor((width - x) / LETTER), MOST);
    if (row < 0 || room < Math.min(LEAST, label.length)) return null;
    const text = clipped(label, room);
    ends[row] = x + text.length * LETTER + 4;
    return { y: 12 + row * 13, text };
  });
}
