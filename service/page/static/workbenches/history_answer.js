/** The answer to a history: its conclusion, the members over time, and every rebalance with the line that tells its cause. */
import { DataTable, Figure, Legend } from "../figure.js";
import { count, duration, number } from "../format.js";
import { html } from "../lib.js";
import { bars } from "../pictures/loads.js";
import { MOST_LANES, presence } from "../pictures/presence.js";
import { Warnings } from "./warnings.js";

/** @typedef {import("./history.js").HistoryState} HistoryState */

/** @param {{state: HistoryState, answer: any}} props */
export function HistoryAnswer({ answer }) {
  const { conclusion, warnings, rebalances, patterns, otherwise } = answer;
  return html`<p class="verdict" role="status">${conclusion}</p>
    <${Presence} answer=${answer} />
    ${
      patterns.length > 0 &&
      html`<section>
        <h3>What several rebalances are together</h3>
        <ul class="effects">
          ${patterns.map((/** @type {any} */ pattern) => html`<li>${pattern.sentence}</li>`)}
        </ul>
      </section>`
    }
    ${otherwise && html`<${Otherwise} ...${otherwise} />`}
    <section>
      <h3>Every rebalance and what tells of it</h3>
      <${DataTable} caption="Rebalances" columns=${COLUMNS} rows=${rebalances.map(row)} />
    </section>
    <${Warnings} warnings=${warnings} />`;
}

const COLUMNS = ["number", "at", "cause", "members", "moved", "without a reader", "by its assignor", "line"];

/** @param {any} rebalance */
const causeOf = ({ causes }) => causes[0]?.sentence ?? "not told";

/** @param {any} rebalance @returns {(string | null)[]} */
function row(rebalance) {
  const { number: id, began_at, ended_at, causes, before, after, moves, standstill, check, sources } = rebalance;
  const told = causes[0] ?? sources[0];
  const more = causes.length > 1 ? ` (and ${causes.length - 1} more)` : "";
  return [
    String(id),
    (began_at ?? ended_at ?? "not told").replace("T", " "),
    causeOf(rebalance) + more,
    `${number(before?.count)} → ${number(after?.count)}`,
    moves ? `${number(moves.moved)} of ${number(moves.of)}` : null,
    between(standstill),
    check && (check.alike ? "the same" : check.sentence),
    told ? `${told.source}:${told.line}` : null,
  ];
}

/** @param {{least_ms: number | null, most_ms: number | null} | null} standstill */
function between(standstill) {
  const { least_ms: least = null, most_ms: most = null } = standstill ?? {};
  const written = (/** @type {number | null} */ ms) => (ms === null ? "not told" : duration(ms / 1000));
  if (most === null) return least ? `at least ${written(least)}` : "not told";
  return least === most ? written(least) : `${written(least)} to ${written(most)}`;
}

/** Milliseconds; times without a zone are by one clock. @param {string | null} at */
const parsed = (at) => (at === null ? null : Date.parse(/Z$/.test(at) ? at : `${at}Z`));

/** @param {{answer: any}} props */
function Presence({ answer: { rebalances, begins_at, ends_at } }) {
  const timed = rebalances
    .map((/** @type {any} */ each) => ({ each, from: parsed(each.began_at ?? each.joined_at ?? each.ended_at) }))
    .filter((/** @type {any} */ { from }) => from !== null);
  if (timed.length === 0) return null;
  const marks = timed.map((/** @type {any} */ { each, from }) => ({
    from,
    to: parsed(each.ended_at ?? each.joined_at) ?? from,
    label: `${each.number}: ${causeOf(each)}`,
    members: each.after?.members ?? null,
  }));
  const names = new Set(marks.flatMap((/** @type {any} */ { members }) => members ?? []));
  const part = names.size > MOST_LANES ? ` Of ${count(names.size, "member")}, those of most rebalances.` : "";
  return html`<${Figure}
    title="Members over time"
    summary="A lane for each member that is known, and a mark for each rebalance.${part}"
    table=${{ columns: COLUMNS, rows: rebalances.map(row) }}
    picture=${(/** @type {number} */ width) =>
      presence({ marks, from: parsed(begins_at) ?? marks[0].from, to: parsed(ends_at) ?? marks.at(-1).to }, width)}
  />`;
}

/** @typedef {{name: string, rebalances: number, moved: number, idle_ms: number, least_idle_ms: number, most_idle_ms: number}} Way */

/** A way in few words. @param {string} name */
const labelOf = (name) =>
  name.replaceAll(/^the | \(KIP-848\)$/g, "").replace("time-outs twice as long", "twice the time-outs");

/** @param {{conclusion: string, notes: string[], ways: Way[]}} props */
function Otherwise({ conclusion, notes, ways }) {
  const shown = (/** @type {number} */ ms) => duration(ms / 1000);
  return html`<section>
      <p>${conclusion}</p>
      <ul class="effects">
        ${notes.map((note) => html`<li>${note}</li>`)}
      </ul>
    </section>
    ${
      ways.length > 0 &&
      html`<${Figure}
        title="The same events otherwise"
        summary="For how long partitions are without a reader, summed over them, at least and at most, depending on when members heartbeat and poll."
        legend=${html`<${Legend}
          marks=${[
            ["kept", "at least"],
            ["taken", "at most"],
          ]}
        />`}
        table=${{
          columns: ["way", "rebalances", "partitions moved", "without a reader", "at least", "at most"],
          rows: ways.map(({ name, rebalances, moved, idle_ms, least_idle_ms, most_idle_ms }) => [
            name,
            rebalances,
            moved,
            ...[idle_ms, least_idle_ms, most_idle_ms].map(shown),
          ]),
        }}
        picture=${(/** @type {number} */ width) =>
          bars(
            ways.map(({ name, least_idle_ms, most_idle_ms }) => ({
              id: labelOf(name),
              before: least_idle_ms,
              after: most_idle_ms,
            })),
            width,
            shown,
            { value: ways[0].idle_ms, label: "as it was" },
          )}
      />`
    }`;
}
