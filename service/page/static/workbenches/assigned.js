/** Who has which partition, before and after: a cell each, or counts where they are many. */
import { Figure, Legend } from "../figure.js";
import { number } from "../format.js";
import { html } from "../lib.js";
import { MOST_MEMBERS, MOST_PARTITIONS, counted, partitions } from "../pictures/ownership.js";
import { counts, partitionAt, readersOf } from "./ownership.js";

/** @typedef {import("./ownership.js").Ownership} Ownership */

/** Members and topics that are shown of a group too large for a picture of all. */
const LARGEST = 24;
const MOST_TOPICS = 12;

/**
 * @param {object} props
 * @param {string} props.title @param {Ownership} props.owned @param {boolean} props.shared whether several members may read one partition
 * @param {string} [props.when] a sentence that comes before what the picture shows @param {any} [props.steps] what chooses another picture
 */
export function Assigned({ title, owned, shared, when = "", steps }) {
  const small = owned.partitions <= MOST_PARTITIONS && owned.members.length <= MOST_MEMBERS;
  const legend = html`<${Legend}
    marks=${[
      ["kept", "stays"],
      ["taken", "arrives"],
      ["given", "leaves"],
    ]}
  />`;
  if (!small) return html`<${AssignedCounts} ...${{ title, owned, when, steps }} />`;
  const names = (/** @type {import("./ownership.js").Readers} */ side, /** @type {number} */ i) =>
    Array.from(readersOf(side, i), (member) => owned.members[member].id).join(", ") || null;
  const rows = Array.from({ length: owned.partitions }, (_, i) => [
    ...partitionAt(owned, i),
    names(owned.before, i),
    names(owned.after, i),
  ]);
  return html`<${Figure}
    title=${title}
    summary="${when}Each square is a partition of its topic, in the row of ${shared ? "each" : "the"} member that reads it."
    table=${{ columns: ["topic", "partition", "before", "after"], rows }}
    legend=${html`${steps}${legend}`}
    picture=${(/** @type {number} */ width) => partitions(owned, width)}
  />`;
}

/** @param {{title: string, owned: Ownership, when: string, steps: any}} props */
function AssignedCounts({ title, owned, when, steps }) {
  const { topics, members } = owned;
  const table = counts(owned);
  const at = (/** @type {Int32Array} */ from, /** @type {number} */ member, /** @type {number} */ topic) =>
    from[member * topics.length + topic];
  const order = members
    .map((member, i) => ({ i, change: Math.abs(member.after - member.before) + (member.after - member.kept) }))
    .sort((a, b) => b.change - a.change)
    .slice(0, LARGEST)
    .map(({ i }) => i)
    .sort((a, b) => a - b);
  const changes = topics.map((_, topic) =>
    members.reduce((sum, __, i) => sum + Math.abs(at(table.after, i, topic) - at(table.before, i, topic)), 0),
  );
  const columns = topics
    .map((_, i) => i)
    .sort((a, b) => changes[b] - changes[a] || topics[b].count - topics[a].count)
    .slice(0, MOST_TOPICS);
  const data = {
    rows: order.map((i) => ({ label: members[i].id, change: members[i].change })),
    columns: columns.map((i) => topics[i].name),
    before: order.map((member) => columns.map((topic) => at(table.before, member, topic))),
    after: order.map((member) => columns.map((topic) => at(table.after, member, topic))),
  };
  const rows = members.map(({ id, before, after, kept }) => [id, before, kept, after]);
  const summary = `Partitions of each member and topic after the change. ${order.length < members.length ? `Of ${number(members.length)} members, the ${order.length} for which most changes` : "All members"}${columns.length < topics.length ? `, and the ${columns.length} of ${number(topics.length)} topics in which most changes` : ""}.`;
  return html`<${Figure}
    title=${title}
    summary="${when}${summary}"
    legend=${steps}
    table=${{ columns: ["member", "before", "kept", "after"], rows }}
    picture=${(/** @type {number} */ width) => counted(data, width)}
  />`;
}
