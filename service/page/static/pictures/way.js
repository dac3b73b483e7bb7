/** What something passes, one box after the other: in columns, or where there is little room one below the other. */
import { Drawing } from "../drawing.js";
import { clipped } from "../format.js";
import { html } from "../lib.js";

const LINE = 18;
const HEAD = 24;
const GAP = 26;
/** The width from which boxes stand beside each other. */
const WIDE = 520;
/** Lines of a box. */
const MOST = 6;

/** @typedef {{text: string, note?: string, mark?: string}} Line mark: joins: in bold, leaves: struck out */
/** @typedef {{title: string, lines: Line[]}} Step */
/** @typedef {{name: string, steps: Step[]}} Way */

/** The lines of a box as they are drawn. @param {Line[]} lines @returns {(Line & {tick?: boolean})[]} */
function drawn(lines) {
  /** @type {Line[]} */
  const more = lines.length > MOST ? [{ text: `and ${lines.length - MOST} more` }] : [];
  return [...lines.slice(0, MOST), ...more].flatMap(({ note, ...line }) => [
    line,
    ...(note ? [{ text: note, tick: true }] : []),
  ]);
}

/** @param {Way[]} ways @param {number} width */
export function way(ways, width) {
  const columns = width < WIDE ? 1 : Math.max(...ways.map(({ steps }) => steps.length), 1);
  const room = (width - GAP * (columns - 1) - 2) / columns;
  let y = 0;
  const rows = ways.map(({ name, steps }) => {
    const top = y;
    y += HEAD;
    const boxes = steps.map(({ title, lines }, i) => {
      const height = HEAD + drawn(lines).length * LINE + 4;
      const box = { title, lines: drawn(lines), x: 1 + (columns === 1 ? 0 : i * (room + GAP)), y, height };
      if (columns === 1) y += height + GAP;
      return box;
    });
    const height = Math.max(...boxes.map((box) => box.height));
    if (columns > 1) y += height + GAP;
    return { name, top, boxes };
  });
  const letters = Math.floor(room / 7.2);
  return html`<${Drawing}
    ...${{ width, height: y - GAP + 2 }}
    label="The way of the key, ${ways.map(({ name }) => name).join(" and ")}"
  >
    ${rows.map(
      ({ name, top, boxes }) =>
        html`<g>
          <text class="label joins" x="1" y=${top + 14}>${name}</text>
          ${boxes.map(
            ({ title, lines, x, y: at, height }, i) =>
              html`<g>
                ${i > 0 && html`<path class="line-before" d=${arrow(columns === 1, x, at, boxes[i - 1])} />`}
                <rect class="lane" x=${x} y=${at} width=${room} height=${height} rx="4" />
                <text class="tick" x=${x + 8} y=${at + 16}>${title}</text>
                ${lines.map(
                  ({ text, mark = "", tick }, j) =>
                    html`<text class=${tick ? "tick" : `label ${mark}`} x=${x + 8} y=${at + HEAD + j * LINE + 12}>
                      <title>${text}</title>
                      ${clipped(text, letters)}
                    </text>`,
                )}
              </g>`,
          )}
        </g>`,
    )}
  <//>`;
}

/** From the box before. @param {boolean} down @param {number} x @param {number} y @param {{x: number, y: number, height: number}} before */
function arrow(down, x, y, before) {
  if (down) {
    const from = before.y + before.height;
    return `M${x + 14},${from}V${y - 1}M${x + 10},${y - 7}L${x + 14},${y - 1}L${x + 18},${y - 7}`;
  }
  const middle = y + 16;
  return `M${x - GAP},${middle}H${x - 1}M${x - 7},${middle - 4}L${x - 1},${middle}L${x - 7},${middle + 4}`;
}
