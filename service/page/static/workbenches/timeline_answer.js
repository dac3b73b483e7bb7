/** The answer of a timeline: standstill by lane, and the generations of the first, one by one. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { count, duration, number } from "../format.js";
import { html } from "../lib.js";
import { lanes as lanesPicture } from "../pictures/lanes.js";
import { MOST_MEMBERS, MOST_PARTITIONS, partitions } from "../pictures/ownership.js";
import { ownership } from "./ownership.js";
import { nameOf } from "./timeline.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {import("./timeline.js").Lane} Lane */

/** @param {{state: TimelineState, answer: import("./timeline.js").TimelineAnswerData, set: (change: Partial<TimelineState>) => void}} props */
export function TimelineAnswer({ state, answer: { lanes }, set }) {
  const answered = lanes.filter(({ answer }) => answer !== null);
  const { totals, rebalances } = lanes[0].answer;
  const figures = [
    { label: "Rebalances", value: number(totals.rebalances), note: `${number(totals.requests)} requests` },
    { label: "Standstill", value: duration(totals.idle_partition_ms / 1000), note: "summed over partitions" },
    { label: "Longest for one partition", value: duration(totals.longest_idle_ms / 1000) },
    { label: "Partitions that move", value: number(totals.moved), note: "over all rebalances" },
  ];
  return html`<p class="verdict" role="status">${conclusion(answered)}</p>
    <${Figures} figures=${figures} />
    <${Lanes} state=${state} lanes=${answered} />
    <${Totals} lanes=${lanes} />
    <${Generation} state=${state} rebalances=${rebalances} set=${set} />`;
}

/** @param {Lane[]} lanes */
function conclusion(lanes) {
  const idle = (/** @type {Lane} */ { answer }) => answer.totals.idle_partition_ms;
  const [first] = lanes;
  const least = lanes.reduce((best, lane) => (idle(lane) < idle(best) ? lane : best));
  const stands = `With ${nameOf(first.way)}, partitions stand still for ${duration(idle(first) / 1000)} in all`;
  if (least === first || idle(least) === idle(first))
    return `${stands}${lanes.length > 1 ? ", the least of these protocols" : ""}.`;
  return `${stands}; with ${nameOf(least.way)} for ${duration(idle(least) / 1000)}.`;
}

/** When how many partitions have no reader: from what each member reads. @param {any} answer @param {number} total */
function idleOf({ members = [] }, total) {
  if (members.length === 0) return { at: [], idle: [] }; // too large for an answer that tells who reads when
  const changes = members
    .flatMap((/** @type {any} */ { reads: { at_ms, partitions: read } }) =>
      at_ms.map((/** @type {number} */ at, /** @type {number} */ i) => [at, read[i] - (read[i - 1] ?? 0)]),
    )
    .sort((/** @type {number[]} */ a, /** @type {number[]} */ b) => a[0] - b[0]);
  /** @type {number[]} */
  const at = [0];
  const idle = [total];
  let read = 0;
  for (const [when, change] of changes) {
    read += change;
    if (at.at(-1) === when) idle[idle.length - 1] = total - read;
    else {
      at.push(when);
      idle.push(total - read);
    }
  }
  return { at, idle: idle.map((value) => Math.max(value, 0)) };
}

/** @param {import("./timeline.js").Event} event */
function labelOf({ type, member, member_id, members_count, partitions_count }) {
  const what = type.replaceAll("_", " ").replace("member ", "");
  return [member?.member_id ?? member_id ?? "", what, members_count ?? partitions_count ?? ""]
    .filter((part) => part !== "")
    .join(" ");
}

/** @param {{state: TimelineState, lanes: Lane[]}} props */
function Lanes({ state, lanes }) {
  const total = state.topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  const end =
    Math.max(...lanes.map(({ answer }) => answer.totals.end_ms), ...state.events.map(({ at_ms }) => at_ms), 1) * 1.03;
  const rows = lanes.map(({ way, answer }) => ({
    name: nameOf(way),
    ...idleOf(answer, total),
    rebalances: answer.rebalances.map((/** @type {any} */ each, /** @type {number} */ i) => ({
      from: each.at_ms,
      to: each.stable_at_ms ?? answer.rebalances[i + 1]?.at_ms ?? end,
      number: each.generation_id ?? each.group_epoch,
    })),
  }));
  const data = {
    lanes: rows,
    end,
    partitions: total,
    events: state.events.map((event) => ({ at: event.at_ms, label: labelOf(event) })),
    chosen: state.generation,
  };
  const table = rows.flatMap(({ name, at, idle }) => at.map((when, i) => [name, when, idle[i]]));
  const legend = html`<${Legend}
    marks=${[
      ["idle", "partitions that nobody reads"],
      ["rebalance", "a rebalance"],
    ]}
  />`;
  return html`<${Figure}
    title="Standstill over time"
    summary="A lane a protocol. The height of a lane is all ${count(total, "partition")}; red is what stands still."
    legend=${legend}
    table=${{ columns: ["protocol", "from ms", "partitions idle"], rows: table }}
    picture=${(/** @type {number} */ width) => lanesPicture(data, width)}
  />`;
}

/** @param {{lanes: Lane[]}} props */
function Totals({ lanes }) {
  const rows = lanes.map(({ way, answer, refused }) => {
    if (answer === null) return [`${nameOf(way)}: ${refused}`, null, null, null, null];
    const { rebalances, idle_partition_ms, longest_idle_ms, moved } = answer.totals;
    return [nameOf(way), rebalances, duration(idle_partition_ms / 1000), duration(longest_idle_ms / 1000), moved];
  });
  return html`<section>
    <h3>The protocols beside each other</h3>
    <${DataTable}
      caption="The protocols beside each other"
      columns=${["protocol", "rebalances", "standstill", "longest", "moved"]}
      rows=${rows}
    />
  </section>`;
}

/** @param {{state: TimelineState, rebalances: any[], set: (change: Partial<TimelineState>) => void}} props */
function Generation({ state, rebalances, set }) {
  const at = Math.min(state.generation, rebalances.length - 1);
  const one = rebalances[at];
  if (!one?.assignments) return null;
  const ids = [...new Set([...one.assignments_before, ...one.assignments].map(({ member_id }) => member_id))].sort();
  const now = new Set(one.assignments.map((/** @type {any} */ { member_id }) => member_id));
  const old = new Set(one.assignments_before.map((/** @type {any} */ { member_id }) => member_id));
  const rows = ids.map((member_id) => ({
    member_id,
    change: /** @type {"" | "joins" | "leaves"} */ (
      !old.has(member_id) ? "joins" : !now.has(member_id) ? "leaves" : ""
    ),
  }));
  const owned = ownership(state.topics, rows, one.assignments_before, one.assignments);
  if (owned.after.length > MOST_PARTITIONS || ids.length > MOST_MEMBERS) return null;
  const step = (/** @type {number} */ by) => () =>
    set({ generation: Math.min(Math.max(at + by, 0), rebalances.length - 1) });
  const summary = `From ${duration(one.at_ms / 1000)} to ${duration(one.stable_at_ms / 1000)}: ${one.reason}.`;
  return html`<${Figure}
    title="Rebalance ${at + 1} of ${rebalances.length}"
    summary=${summary.replace("..", ".")}
    legend=${html`<p class="steps">
      <button type="button" onClick=${step(-1)} disabled=${at === 0}>← Earlier</button>
      <button type="button" onClick=${step(1)} disabled=${at === rebalances.length - 1}>Later →</button>
      <${Legend}
        marks=${[
          ["kept", "stays"],
          ["taken", "arrives"],
          ["given", "leaves"],
        ]}
      />
    </p>`}
    table=${{ columns: ["member", "before", "after"], rows: owned.members.map(({ id, before, after }) => [id, before, after]) }}
    picture=${(/** @type {number} */ width) => partitions(owned, width)}
  />`;
}
