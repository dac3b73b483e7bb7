/** Who has what, before and after: two assignments → arrays by partition. */

/** @typedef {{topic_name: string, partition_ids: number[]}[]} TopicPartitions */
/** @typedef {{member_id: string, partitions: TopicPartitions}[]} Assignments */
/**
 * @typedef {object} Ownership
 * @property {{name: string, first: number, count: number}[]} topics each with the place of its partition 0 in the arrays
 * @property {{id: string, change: "" | "joins" | "leaves", before: number, after: number, kept: number}[]} members
 * @property {Int32Array} before owner of each partition, as a place in `members`; -1: none
 * @property {Int32Array} after
 * @property {number} moved partitions with another owner than before @property {number} idle partitions without an owner after
 */

/**
 * @param {{topic_name: string, partitions_count: number}[]} topics after the change
 * @param {{member_id: string, change?: "" | "joins" | "leaves"}[]} rows all members, before and after
 * @param {Assignments} before @param {Assignments} after
 * @returns {Ownership}
 */
export function ownership(topics, rows, before, after) {
  let total = 0;
  const placed = topics.map(({ topic_name, partitions_count }) => {
    const topic = { name: topic_name, first: total, count: partitions_count };
    total += partitions_count;
    return topic;
  });
  const members = rows.map(({ member_id, change = "" }) => ({ id: member_id, change, before: 0, after: 0, kept: 0 }));
  const place = new Map(rows.map((row, i) => [row.member_id, i]));
  const firsts = new Map(placed.map((topic) => [topic.name, topic]));
  const owners = [before, after].map((assignments) => {
    const owner = new Int32Array(total).fill(-1);
    for (const { member_id, partitions } of assignments) {
      const member = place.get(member_id) ?? -1;
      for (const { topic_name, partition_ids } of partitions) {
        const topic = firsts.get(topic_name);
        if (topic) for (const id of partition_ids) if (id < topic.count) owner[topic.first + id] = member;
      }
    }
    return owner;
  });
  let moved = 0;
  let idle = 0;
  for (let i = 0; i < total; i += 1) {
    const [from, to] = [owners[0][i], owners[1][i]];
    if (from >= 0) members[from].before += 1;
    if (to >= 0) members[to].after += 1;
    if (to < 0) idle += 1;
    else if (from === to) members[to].kept += 1;
    else if (from >= 0) moved += 1;
  }
  return { topics: placed, members, before: owners[0], after: owners[1], moved, idle };
}

/** Name and number of the partition at a place of the arrays. @param {Ownership} owned @param {number} i @returns {[string, number]} */
export function partitionAt({ topics }, i) {
  const topic = topics.findLast(({ first, count }) => first <= i && count > 0) ?? topics[0];
  return [topic.name, i - topic.first];
}

/** Partitions of each member and topic, before and after: two lists of members × topics. @param {Ownership} owned */
export function counts({ topics, members, before, after }) {
  const table = [before, after].map(() => new Int32Array(members.length * topics.length));
  topics.forEach(({ first, count }, column) => {
    for (let i = first; i < first + count; i += 1) {
      if (before[i] >= 0) table[0][before[i] * topics.length + column] += 1;
      if (after[i] >= 0) table[1][after[i] * topics.length + column] += 1;
    }
  });
  return { before: table[0], after: table[1] };
}
