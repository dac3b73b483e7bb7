/** Who has what, before and after: two assignments → the readers of each partition. */

const NOBODY = new Int32Array(0);

/** @typedef {{topic_name: string, partition_ids: number[]}[]} TopicPartitions */
/** @typedef {{member_id: string, partitions: TopicPartitions}[]} Assignments */
/**
 * Who reads each partition: its members are those from one of `starts` to the next, as places, ascending.
 * @typedef {{starts: Int32Array, members: Int32Array}} Readers
 */
/**
 * @typedef {object} Ownership
 * @property {{name: string, first: number, count: number}[]} topics each with the place of its partition 0 among all
 * @property {{id: string, change: "" | "joins" | "leaves", before: number, after: number, kept: number}[]} members
 * @property {number} partitions how many there are
 * @property {Readers} before @property {Readers} after
 * @property {number} moved how often a member gets a partition that others read before @property {number} idle partitions without a reader after
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
  const [old, now] = [before, after].map((assignments) => readers(total, placesIn(assignments, place, firsts)));
  let moved = 0;
  let idle = 0;
  for (let i = 0; i < total; i += 1) {
    const { gone, kept, come } = changeOf(old, now, i);
    for (const member of gone) members[member].before += 1;
    for (const member of kept) {
      members[member].before += 1;
      members[member].after += 1;
      members[member].kept += 1;
    }
    for (const member of come) members[member].after += 1;
    if (gone.length + kept.length > 0) moved += come.length;
    if (kept.length + come.length === 0) idle += 1;
  }
  return { topics: placed, members, partitions: total, before: old, after: now, moved, idle };
}

/**
 * The partitions of each member, as places, with the members ascending.
 * @param {Assignments} assignments @param {Map<string, number>} place of a member @param {Map<string, {first: number, count: number}>} topics
 * @returns {[member: number, partitions: number[]][]}
 */
function placesIn(assignments, place, topics) {
  return assignments
    .filter(({ member_id }) => place.has(member_id))
    .map(({ member_id, partitions }) => {
      const places = partitions.flatMap(({ topic_name, partition_ids }) => {
        const { first, count } = topics.get(topic_name) ?? { first: 0, count: 0 };
        return partition_ids.filter((id) => id < count).map((id) => first + id);
      });
      return /** @type {[number, number[]]} */ ([place.get(member_id), places]);
    })
    .sort((a, b) => a[0] - b[0]);
}

/** @param {number} total @param {[member: number, partitions: number[]][]} held members ascending @returns {Readers} */
function readers(total, held) {
  const starts = new Int32Array(total + 1);
  for (const [, partitions] of held) for (const i of partitions) starts[i + 1] += 1;
  for (let i = 0; i < total; i += 1) starts[i + 1] += starts[i];
  const members = new Int32Array(starts[total]);
  const next = starts.slice();
  for (const [member, partitions] of held) for (const i of partitions) members[next[i]++] = member;
  return { starts, members };
}

/** The readers of a partition, as places of members. @param {Readers} of @param {number} i */
export function readersOf({ starts, members }, i) {
  return members.subarray(starts[i], starts[i + 1]);
}

/** Who no longer reads a partition, who still does, and who does now. @param {Readers} before @param {Readers} after @param {number} i */
export function changeOf(before, after, i) {
  const [old, now] = [readersOf(before, i), readersOf(after, i)];
  if (old.length === 1 && now.length === 1 && old[0] === now[0]) return { gone: NOBODY, kept: old, come: NOBODY };
  const [had, has] = [new Set(old), new Set(now)];
  return {
    gone: old.filter((member) => !has.has(member)),
    kept: old.filter((member) => has.has(member)),
    come: now.filter((member) => !had.has(member)),
  };
}

/** Name and number of the partition at a place of the arrays. @param {Ownership} owned @param {number} i @returns {[string, number]} */
export function partitionAt({ topics }, i) {
  const topic = topics.findLast(({ first, count }) => first <= i && count > 0) ?? topics[0];
  return [topic.name, i - topic.first];
}

/** Partitions of each member and topic, before and after: two lists of members × topics. @param {Ownership} owned */
export function counts({ topics, members, before, after }) {
  const [old, now] = [before, after].map((readers) => {
    const table = new Int32Array(members.length * topics.length);
    topics.forEach(({ first, count }, column) => {
      for (let j = readers.starts[first]; j < readers.starts[first + count]; j += 1)
        table[readers.members[j] * topics.length + column] += 1;
    });
    return table;
  });
  return { before: old, after: now };
}
