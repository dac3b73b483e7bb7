/** The load of each member before and after: its partitions or their load, divided by its capacity. */
import { kindOf, weightsOf } from "./load.js";

/** @typedef {import("./ownership.js").Assignments} Assignments */
/** @typedef {{id: string, change: "" | "joins" | "leaves", before: number, after: number}} MemberLoad */
/** @typedef {{max: number, skew: number | null}} Spread skew: the largest ÷ the mean */
/** @typedef {{kind: import("./load.js").Kind, divided: boolean, members: MemberLoad[], before: Spread, after: Spread}} MemberLoads divided: by capacities */

/**
 * @param {import("./groups.js").Topic[]} topics after the change @param {import("./groups.js").Member[]} members
 * @param {Assignments} before @param {Assignments} after
 * @returns {MemberLoads}
 */
export function memberLoads(topics, members, before, after) {
  const weights = weightsOf(topics);
  let total = 0;
  const firsts = new Map(
    topics.map(({ topic_name, partitions_count }) => {
      const first = total;
      total += partitions_count;
      return [topic_name, { first, count: partitions_count }];
    }),
  );
  const [old, now] = [before, after].map((assignments) => {
    /** @type {Map<string, number>} */
    const loads = new Map();
    for (const { member_id, partitions } of assignments) {
      let load = 0;
      for (const { topic_name, partition_ids } of partitions) {
        const topic = firsts.get(topic_name);
        if (topic)
          for (const id of partition_ids) if (id < topic.count) load += weights ? weights[topic.first + id] : 1;
      }
      loads.set(member_id, load);
    }
    return loads;
  });
  const rows = members.map(({ member_id, change = "", capacity }) => {
    const [was, is] = [old, now].map((loads) => (loads.get(member_id) ?? 0) / (capacity ?? 1));
    return { id: member_id, change, before: was, after: is };
  });
  const among = (/** @type {"before" | "after"} */ side, /** @type {string} */ absent) =>
    spread(rows.filter(({ change }) => change !== absent).map((row) => row[side]));
  return {
    kind: kindOf(topics),
    divided: members.some(({ capacity }) => (capacity ?? 1) !== 1),
    members: rows,
    before: among("before", "joins"),
    after: among("after", "leaves"),
  };
}

/** @param {number[]} loads @returns {Spread} */
export function spread(loads) {
  const total = loads.reduce((sum, load) => sum + load, 0);
  const max = loads.reduce((most, load) => Math.max(most, load), 0);
  return { max, skew: total > 0 ? (max * loads.length) / total : null };
}
