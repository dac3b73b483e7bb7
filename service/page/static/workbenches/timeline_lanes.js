/** A lane a protocol: when how many partitions have no reader, under the events on one axis. */
import { Figure, Legend } from "../figure.js";
import { count, listed } from "../format.js";
import { html, useMemo } from "../lib.js";
import { lanes as lanesPicture } from "../pictures/lanes.js";
import { nameOf, ofEvents } from "./timeline.js";
import { shortsOf } from "./timeline_events.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {import("./timeline.js").Lane} Lane */
/** @typedef {[at: number, change: number]} Step */

/** How many partitions need a reader: those of topics to which a member subscribes by then. @param {TimelineState} state @returns {Step[]} */
function wanted({ topics, members, events }) {
  const listed = [...members, ...events].flatMap(({ topic_names }) => topic_names ?? []);
  const all = [...members, ...events.map(({ member }) => member)].some((member) => member && !topicNames(member));
  const read = (/** @type {string} */ name, created = false) => (all && !created) || listed.includes(name);
  const counts = new Map(
    topics.filter(({ topic_name }) => read(topic_name)).map((topic) => [topic.topic_name, topic.partitions_count]),
  );
  /** @type {Step[]} */
  const steps = [[0, [...counts.values()].reduce((sum, each) => sum + each, 0)]];
  for (const { at_ms, type, topic, topic_name = topic?.topic_name ?? "", partitions_count } of events) {
    const before = counts.get(topic_name) ?? 0;
    let after = before;
    if (type === "topic_deleted") after = 0;
    if (type === "topic_created" && read(topic_name, true)) after = topic?.partitions_count ?? 0;
    if (type === "partitions_added" && before > 0) after = partitions_count ?? before;
    counts.set(topic_name, after);
    if (after !== before) steps.push([at_ms, after - before]);
  }
  return steps;
}

/** @param {{topic_names?: string[] | null}} member */
const topicNames = ({ topic_names }) => topic_names;

/** When how many partitions have no reader, from what each member reads. @param {any} answer @param {Step[]} needed */
function idleOf({ members, rebalances = [] }, needed) {
  if (members === undefined) return summed(rebalances.flatMap(block));
  /** @type {Step[]} */
  const read = members.flatMap((/** @type {any} */ { reads: { at_ms, partitions } }) =>
    at_ms.map((/** @type {number} */ at, /** @type {number} */ i) => [at, (partitions[i - 1] ?? 0) - partitions[i]]),
  );
  return summed([...needed, ...read]);
}

/** What a rebalance of a large group leaves without a reader, of which its sum and the longest of a partition are known. @param {any} rebalance @returns {Step[]} */
function block({ at_ms, stable_at_ms, idle: { partition_ms, longest_ms } }) {
  if (!longest_ms) return [];
  const [end, mean] = [stable_at_ms ?? at_ms + longest_ms, partition_ms / longest_ms];
  return [
    [Math.max(end - longest_ms, 0), mean],
    [end, -mean],
  ];
}

/** @param {Step[]} steps @returns {{at: number[], idle: number[]}} the sum from each time on */
function summed(steps) {
  /** @type {number[]} */
  const at = [];
  /** @type {number[]} */
  const idle = [];
  let now = 0;
  for (const [when, change] of [...steps].sort((a, b) => a[0] - b[0])) {
    now += change;
    if (at.at(-1) !== when) at.push(when);
    idle[at.length - 1] = Math.max(Math.round(now), 0);
  }
  return { at, idle };
}

/** What is idle from a time on: that of the group's start is not what the events cause. @param {number} since @param {{at: number[], idle: number[]}} steps */
function from(since, { at, idle }) {
  const first = at.findLastIndex((when) => when <= since);
  return { at: [since, ...at.slice(first + 1)], idle: first < 0 ? [0, ...idle] : idle.slice(first) };
}

/** @param {Map<string, string>} shorts ids of members, as labels have them @param {import("./timeline.js").Event} event */
function labelOf(shorts, { type, member, member_id, topic, topic_name, members_count, partitions_count, assignors }) {
  const what = type.replaceAll("_", " ").replace(/^(member|topic) /, "");
  const id = member?.member_id ?? member_id ?? "";
  const who = shorts.get(id) ?? (id || (topic?.topic_name ?? topic_name ?? ""));
  const then = members_count ?? partitions_count ?? assignors?.join(", ");
  return [who, what, then === undefined ? "" : `→ ${then}`].filter((part) => part !== "").join(" ");
}

/** @param {{state: TimelineState, lanes: Lane[]}} props */
export function Lanes({ state, lanes }) {
  const data = useMemo(() => drawn(state, lanes), [lanes, state.generation]);
  const table = data.lanes.flatMap(({ name, at, idle }) => at.map((when, i) => [name, when, idle[i]]));
  const rough = lanes.filter(({ answer }) => answer.members === undefined).map(({ way }) => nameOf(way));
  const told =
    rough.length > 0
      ? ` Of ${listed(rough)} the answer for so large a group has sums: a red block is as long as the longest standstill of a partition, and as high as makes its area the sum.`
      : "";
  const legend = html`<${Legend}
    marks=${[
      ["idle", "partitions without a reader"],
      ["rebalance", "a rebalance"],
      ["rebalance chosen", "the one below"],
    ]}
  />`;
  return html`<${Figure}
    title="Standstill over time"
    summary="One lane per protocol. The height of a lane is all ${count(data.partitions, "partition")}; red is what stands still.${told}"
    legend=${legend}
    table=${{ columns: ["protocol", "from ms", "partitions idle"], rows: table }}
    picture=${(/** @type {number} */ width) => lanesPicture(data, width)}
  />`;
}

/** @param {TimelineState} state @param {Lane[]} lanes @returns {import("../pictures/lanes.js").Lanes} */
function drawn(state, lanes) {
  const needed = wanted(state);
  const shorts = shortsOf(state);
  const since = state.events.reduce((first, { at_ms }) => Math.min(first, at_ms), Infinity);
  const rows = lanes.map(({ way, answer }) => ({
    name: nameOf(way),
    ...(answer.start ? from(since, idleOf(answer, needed)) : idleOf(answer, needed)),
    rebalances: ofEvents(answer).map((each, i, all) => ({
      from: each.at_ms,
      to: each.stable_at_ms ?? all[i + 1]?.at_ms ?? answer.totals.end_ms,
      number: each.generation_id ?? each.group_epoch,
    })),
  }));
  const times = [...state.events.map(({ at_ms }) => at_ms), ...rows.flatMap(({ at }) => at)];
  const ends = lanes.map(({ answer }) => answer.totals.end_ms);
  let [sum, most] = [0, 1];
  for (const [, change] of needed) most = Math.max(most, (sum += change));
  return {
    lanes: rows,
    end: [...times, ...ends].reduce((latest, at) => Math.max(latest, at), 1000) * 1.03,
    partitions: most,
    events: state.events
      .map((event) => ({ at: event.at_ms, label: labelOf(shorts, event) }))
      .sort((a, b) => a.at - b.at),
    chosen: state.generation,
  };
}
