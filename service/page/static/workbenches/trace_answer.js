/** The answer to a trace: the way of the key, in a sentence and as a picture. */
import { Figure } from "../figure.js";
import { number } from "../format.js";
import { html } from "../lib.js";
import { way } from "../pictures/way.js";
import { Warnings } from "./warnings.js";

/** @typedef {import("./trace.js").TraceState} TraceState */

/** @param {{state: TraceState, answer: any}} props */
export function TraceAnswer({ state, answer: { topic_name, conclusion, warnings, now, planned } }) {
  const ways = [["now", now], ...(planned ? [["planned", planned]] : [])];
  return html`<p class="verdict" role="status">${conclusion}</p>
    <${Figure}
      title="The way of the key"
      summary="Its partition, the brokers that hold it (in bold the leader, struck out who is not in sync), and who reads it."
      table=${{
        columns: ["when", "partition", "leader", "replicas", "group", "member", "lag"],
        rows: ways.flatMap(([when, path]) => rowsOf(when, `${topic_name}-${path.partition_id}`, path)),
      }}
      picture=${(/** @type {number} */ width) =>
        way(
          ways.map(([when, path]) => ({ name: when, steps: stepsOf(state.key, topic_name, path) })),
          width,
        )}
    />
    <${Warnings} warnings=${warnings} />`;
}

/** @param {any} path @returns {any[]} */
const readersOf = ({ readers }) => (readers.length > 0 ? readers : [{ group_id: null, member_id: null, lag: null }]);

/** @param {string} when @param {string} partition @param {any} path */
function rowsOf(when, partition, path) {
  const leader = path.leader === null ? "not known" : path.leader === -1 ? "none" : String(path.leader);
  const replicas = path.replicas?.map((/** @type {any} */ { broker_id }) => broker_id).join(", ") ?? "not known";
  return readersOf(path).map(({ group_id, member_id, lag }) => [
    when,
    partition,
    leader,
    replicas,
    group_id,
    member_id,
    lag,
  ]);
}

/** @param {string} key @param {string} topic @param {any} path @returns {import("../pictures/way.js").Step[]} */
function stepsOf(key, topic, path) {
  const { partition_id, partitions_count, leader, replicas } = path;
  const brokers = (replicas ?? []).map((/** @type {any} */ { broker_id, rack_id, in_sync }) => {
    const rack = rack_id === null ? "" : `, rack ${rack_id}`;
    return {
      text: `broker ${broker_id}${rack}`,
      mark: broker_id === leader ? "joins" : in_sync === false ? "leaves" : "",
    };
  });
  const readers = readersOf(path).map(({ group_id, basis, member_id, lag }) => ({
    text: member_id ?? { none: "no member", unknown: "not known" }[/** @type {"none"} */ (basis)] ?? "not described",
    note: [group_id && `group ${group_id}`, lag !== null && `lag ${number(lag)}`].filter(Boolean).join(", "),
  }));
  return [
    { title: "key", lines: [{ text: key }] },
    {
      title: "partition",
      lines: [{ text: `${topic}-${partition_id}`, mark: "joins", note: `of ${number(partitions_count)}` }],
    },
    { title: "brokers", lines: brokers.length > 0 ? brokers : [{ text: "not known" }] },
    { title: "readers", lines: readers },
  ];
}
