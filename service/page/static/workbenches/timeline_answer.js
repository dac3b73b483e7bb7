/** The answer of a timeline: standstill by lane, and the generations of the first, one by one. */
import { DataTable, Figures } from "../figure.js";
import { duration, number, percent } from "../format.js";
import { html, useMemo } from "../lib.js";
import { Assigned } from "./assigned.js";
import { ownership } from "./ownership.js";
import { nameOf, ofEvents } from "./timeline.js";
import { Lanes } from "./timeline_lanes.js";
import { Warnings } from "./warnings.js";

/** Partitions above which a sum over them says little. */
const MANY = 200;

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {import("./timeline.js").Lane} Lane */

/** @param {{state: TimelineState, answer: import("./timeline.js").TimelineAnswerData, set: (change: Partial<TimelineState>) => void}} props */
export function TimelineAnswer({ state, answer: { lanes }, set }) {
  const answered = lanes.filter(({ answer }) => answer !== null);
  const { totals, warnings = [] } = lanes[0].answer;
  const local = localOf(lanes[0]);
  const figures = [
    { label: "Rebalances", value: number(totals.rebalances), note: `${number(totals.requests)} requests` },
    {
      label: "Standstill of all partitions",
      value: duration(totals.idle_partition_ms / 1000),
      note: `summed over them; ${range(totals)}${each(state.topics, totals)}`,
    },
    { label: "Longest for one partition", value: duration(totals.longest_idle_ms / 1000) },
    { label: "Partitions that move", value: number(totals.moved), note: "over all rebalances" },
    local !== undefined && {
      label: "Can be read within its zone",
      value: percent(local),
      note: "of the partitions, at the end",
    },
  ];
  return html`<p class="verdict" role="status">${lanes[0].answer.conclusion}</p>
    <${Figures} figures=${figures.filter(Boolean)} />
    <${Lanes} state=${state} lanes=${answered} />
    <${Totals} lanes=${lanes} />
    <${Generation} state=${state} rebalances=${ofEvents(lanes[0].answer)} set=${set} />
    <${Warnings} warnings=${warnings} />`;
}

/** The share that is read in the reader's zone after the last rebalance; undefined without racks. @param {Lane} lane @returns {number | undefined} */
function localOf({ answer }) {
  return answer?.rebalances?.at(-1)?.zone_traffic?.local_share;
}

/** It hangs on when heartbeats and polls come. @param {any} totals */
function range({ least_idle_partition_ms: least, most_idle_partition_ms: most }) {
  const [from, to] = [least, most].map((ms) => duration(ms / 1000));
  return from === to ? from : `${from} to ${to}`;
}

/** The mean over partitions, where the sum is more than a reader can picture. @param {import("./timeline.js").Topic[]} topics @param {any} totals */
function each(topics, { idle_partition_ms: idle }) {
  const partitions = topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  return partitions > MANY ? `; ${duration(idle / partitions / 1000)} each on average` : "";
}

/** @param {{lanes: Lane[]}} props */
function Totals({ lanes }) {
  const racked = lanes.some((lane) => localOf(lane) !== undefined);
  const columns = [
    "protocol",
    "rebalances",
    "standstill, all partitions",
    "at least and most",
    "longest of one",
    "moved",
  ];
  if (racked) columns.push("can be read within its zone");
  const rows = lanes.map((lane) => {
    const { way, answer, refused } = lane;
    if (answer === null) return [`${nameOf(way)}: ${refused}`, ...columns.slice(1).map(() => null)];
    const { rebalances, idle_partition_ms, longest_idle_ms, moved } = answer.totals;
    const [idle, longest] = [idle_partition_ms, longest_idle_ms].map((ms) => duration(ms / 1000));
    const row = [nameOf(way), rebalances, idle, range(answer.totals), longest, moved];
    return racked ? [...row, percent(localOf(lane))] : row;
  });
  return html`<section>
    <h3>The protocols compared</h3>
    <${DataTable} caption="The protocols compared" columns=${columns} rows=${rows} />
  </section>`;
}

/** @param {{state: TimelineState, rebalances: any[], set: (change: Partial<TimelineState>) => void}} props */
function Generation({ state, rebalances, set }) {
  const at = Math.min(state.generation, rebalances.length - 1);
  const one = rebalances[at];
  const owned = useMemo(() => (one?.assignments ? change(state.topics, one) : null), [one]);
  if (owned === null) return null;
  const step = (/** @type {number} */ by) => () =>
    set({ generation: Math.min(Math.max(at + by, 0), rebalances.length - 1) });
  const when = `From ${duration(one.at_ms / 1000)} to ${duration(one.stable_at_ms / 1000)}: ${one.reason}.`;
  return html`<${Assigned}
    title="Rebalance ${at + 1} of ${rebalances.length}"
    when="${when.replace("..", ".")} "
    owned=${owned}
    shared=${state.ways[0].group_protocol === "share"}
    steps=${html`<p class="steps">
      <button type="button" onClick=${step(-1)} aria-disabled=${at === 0 ? "true" : "false"}>← Earlier</button>
      <input
        type="range"
        aria-label="Rebalance"
        min="1"
        max=${rebalances.length}
        value=${at + 1}
        onInput=${(/** @type {any} */ event) => set({ generation: event.target.value - 1 })}
      />
      <button type="button" onClick=${step(1)} aria-disabled=${at === rebalances.length - 1 ? "true" : "false"}>
        Later →
      </button>
    </p>`}
  />`;
}

/** Who read what before a rebalance, and after. @param {import("./timeline.js").Topic[]} topics @param {any} rebalance */
function change(topics, { assignments_before: before, assignments: after }) {
  const [old, now] = [before, after].map((side) => new Set(side.map((/** @type {any} */ { member_id }) => member_id)));
  const rows = [...new Set([...old, ...now])].sort().map((member_id) => ({
    member_id,
    change: /** @type {"" | "joins" | "leaves"} */ (
      !old.has(member_id) ? "joins" : !now.has(member_id) ? "leaves" : ""
    ),
  }));
  return ownership(topicsIn(topics, [...before, ...after]), rows, before, after);
}

/** The topics with the partitions that events brought. @param {import("./timeline.js").Topic[]} topics @param {import("./ownership.js").Assignments} assignments */
function topicsIn(topics, assignments) {
  const counts = new Map(topics.map(({ topic_name, partitions_count }) => [topic_name, partitions_count]));
  for (const { partitions } of assignments)
    for (const { topic_name, partition_ids } of partitions)
      counts.set(
        topic_name,
        partition_ids.reduce((most, id) => Math.max(most, id + 1), counts.get(topic_name) ?? 0),
      );
  return [...counts].map(([topic_name, partitions_count]) => ({ topic_name, partitions_count }));
}
