/** Load before and after: a bar a name, or a sorted curve where names are many. */
import { ticks } from "../vendor/d3-array.js";
import { Drawing, Grid } from "../drawing.js";
import { number } from "../format.js";
import { html } from "../lib.js";
import { beside } from "./ownership.js";

export const MOST_BARS = 60;
const ROW = 18;
const HEAD = 20;

/** @typedef {{id: string, change?: string, before: number, after: number}} Load */

/** @param {Load[]} loads @param {number} width @param {(value: number) => string} [shown] */
export function loads(loads, width, shown = number) {
  return loads.length > MOST_BARS ? curve(loads, width) : bars(loads, width, shown);
}

/** @param {Load[]} rows @param {number} width @param {(value: number) => string} shown @param {{value: number, label: string}} [mark] a line across; none: the mean */
export function bars(rows, width, shown, mark = meanOf(rows)) {
  const { names, left } = beside(
    rows.map(({ id }) => id),
    width,
  );
  const right = 64;
  const most = Math.max(...rows.flatMap(({ before, after }) => [before, after]), 1);
  const x = (/** @type {number} */ value) => (value / most) * (width - left - right);
  const height = HEAD + rows.length * ROW + 4;
  return html`<${Drawing} ...${{ width, height }} label="Load before and after">
    ${rows.map(
      ({ id, change, before, after }, i) =>
        html`<g>
          <title>${id}: ${shown(before)} → ${shown(after)}</title>
          <text class="label ${change}" x=${left - 8} y=${HEAD + i * ROW + 12} text-anchor="end">${names[i]}</text>
          <rect
            class="kept"
            x=${left}
            y=${HEAD + i * ROW + 3}
            width=${x(Math.min(before, after))}
            height=${ROW - 8}
            rx="1.5"
          />
          ${after > before && html`<rect class="taken" x=${left + x(before)} y=${HEAD + i * ROW + 3} width=${x(after - before)} height=${ROW - 8} rx="1.5" />`}
          ${before > after && html`<rect class="given" x=${left + x(after)} y=${HEAD + i * ROW + 3} width=${x(before - after)} height=${ROW - 8} rx="1.5" />`}
        </g>`,
    )}
    <line class="mean" x1=${left + x(mark.value)} x2=${left + x(mark.value)} y1=${HEAD - 4} y2=${height} />
    <text class="tick" x=${left + x(mark.value)} y="12" text-anchor="middle">${mark.label} ${shown(mark.value)}</text>
    ${rows.map(
      ({ before, after }, i) =>
        html`<text class="value over" x=${left + x(Math.max(before, after)) + 6} y=${HEAD + i * ROW + 12}
          >${shown(after)}</text
        >`,
    )}
  <//>`;
}

/** @param {Load[]} rows of which those that leave do not count */
function meanOf(rows) {
  const remaining = rows.filter(({ change }) => change !== "leaves");
  const value = remaining.reduce((sum, { after }) => sum + after, 0) / Math.max(remaining.length, 1);
  return { value, label: "mean" };
}

/** @param {Load[]} rows @param {number} width */
function curve(rows, width) {
  const [left, bottom, height] = [48, 24, 220];
  const sorted = (/** @type {"before" | "after"} */ side, /** @type {string} */ gone) =>
    rows
      .filter(({ change }) => change !== gone)
      .map((row) => row[side])
      .sort((a, b) => b - a);
  const [before, after] = [sorted("before", "joins"), sorted("after", "leaves")];
  const most = Math.max(before[0] ?? 0, after[0] ?? 0, 1);
  const longest = Math.max(before.length, after.length, 2);
  const x = (/** @type {number} */ i) => left + (i / longest) * (width - left - 8);
  const y = (/** @type {number} */ value) => 12 + (1 - value / most) * (height - bottom - 12);
  const line = (/** @type {number[]} */ values) =>
    `M${values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}H${x(i + 1).toFixed(1)}`).join("L")}`;
  return html`<${Drawing} ...${{ width, height }} label="Load of the members, largest first">
    <${Grid} values=${ticks(0, most, 5)} ...${{ y, left, right: width - 8 }} />
    <path class="line-before" d=${line(before)} />
    <path class="line-after" d=${line(after)} />
    <text class="tick" x=${left} y=${height - 6}>largest load</text>
    <text class="tick" x=${width - 8} y=${height - 6} text-anchor="end">${number(longest)} members</text>
  <//>`;
}
