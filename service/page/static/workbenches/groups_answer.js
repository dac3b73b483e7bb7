/** The answer about a group: what moves, who has what, and what other assignors would do. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { count, listed, number, percent, ratio } from "../format.js";
import { html } from "../lib.js";
import { linkTo } from "../link.js";
import { frontier as frontierPicture } from "../pictures/frontier.js";
import { loads } from "../pictures/loads.js";
import { MOST_MEMBERS, MOST_PARTITIONS, counted, partitions } from "../pictures/ownership.js";
import { counts, partitionAt } from "./ownership.js";

/** @typedef {import("./groups.js").GroupsAnswerData} GroupsAnswerData */
/** @typedef {import("./ownership.js").Ownership} Ownership */

/** Members of a group too large for a picture of all that are shown. */
const LARGEST = 24;
const MOST_TOPICS = 12;
/** What the timeline of a group shows beside its own protocol. */
const OTHER_WAYS = [
  { group_protocol: "classic", assignor: "cooperative-sticky" },
  { group_protocol: "consumer", assignor: "uniform" },
];

/** @param {{state: import("./groups.js").GroupsState, answer: GroupsAnswerData}} props */
export function GroupsAnswer({ state, answer: { owned, before, after, rivals, frontier } }) {
  const { member_load } = after.follow_up ?? after;
  const least = after.movement?.fewest_possible_moves;
  const old = before.member_load;
  const share = after.zone_traffic?.local_share;
  const figures = [
    {
      label: "Partitions that move",
      value: number(owned.moved),
      note: least !== undefined && `loads as even need ${number(least)}`,
    },
    { label: "Largest load", value: number(member_load.max), note: old ? `before: ${number(old.max)}` : "" },
    { label: "Skew", value: ratio(member_load.skew), note: old ? `before: ${ratio(old.skew)}` : "1.00 is even" },
    share !== undefined && { label: "Read in the own zone", value: percent(share), note: "of the partitions" },
    {
      label: "Unassigned",
      value: number(owned.idle),
      tone: owned.idle ? /** @type {const} */ ("bad") : /** @type {const} */ (""),
    },
  ];
  return html`<p class="verdict" role="status">${conclusion(state, owned, least)}</p>
    <${Figures} figures=${figures.filter(Boolean)} />
    <${Assigned} owned=${owned} />
    <${Loads} owned=${owned} />
    <p><button type="button" class="button" onClick=${() => overTime(state)}>What happens over time →</button></p>
    ${frontier.length > 1 && html`<${Frontier} frontier=${frontier} moved=${owned.moved} largest=${member_load.max} />`}
    ${rivals.length > 1 && html`<${Rivals} rivals=${rivals} />`}`;
}

/** Go on with the same group and change in the workbench Timeline. @param {import("./groups.js").GroupsState} state */
async function overTime({ group_protocol, assignor, topics, members }) {
  const changes = { leaves: 20_000, joins: 80_000 };
  const events = Object.entries(changes).flatMap(([kind, at_ms]) =>
    members
      .filter(({ change }) => change === kind)
      .map(({ change: _, owned_partitions: __, ...member }) =>
        kind === "joins"
          ? { at_ms, type: "member_joins", member }
          : { at_ms, type: "member_leaves", member_id: member.member_id },
      ),
  );
  location.hash = await linkTo("timeline", {
    ways: [{ group_protocol, assignor }, ...OTHER_WAYS.filter((way) => way.assignor !== assignor)],
    topics: topics.map(({ partitions_then: _, ...topic }) => topic),
    members: members.filter(({ change }) => change !== "joins"),
    events,
    session_timeout_ms: 45_000,
    poll_interval_ms: 500,
    generation: 1,
  });
}

/** @param {import("./groups.js").GroupsState} state @param {Ownership} owned @param {number | undefined} least */
function conclusion(state, owned, least) {
  const named = (/** @type {string} */ kind) =>
    owned.members.filter(({ change }) => change === kind).map(({ id }) => id);
  const part = (/** @type {string[]} */ ids, /** @type {string} */ one, /** @type {string} */ many) =>
    ids.length === 0
      ? []
      : ids.length < 4
        ? [`${listed(ids)} ${ids.length === 1 ? one : many}`]
        : [`${number(ids.length)} members ${many}`];
  const changes = [...part(named("joins"), "joins", "join"), ...part(named("leaves"), "leaves", "leave")];
  const assignor = state.assignor_then || state.assignor;
  const when = changes.length ? `When ${listed(changes)}, ` : "";
  const moves = `${assignor} moves ${number(owned.moved)} of ${count(owned.after.length, "partition")}`;
  const rest =
    least === undefined
      ? ""
      : owned.moved > least
        ? `; loads as even need only ${number(least)}`
        : "; no assignment as even moves fewer";
  const text = `${when}${moves}${rest}.`;
  return text[0].toUpperCase() + text.slice(1);
}

/** @param {{owned: Ownership}} props */
function Assigned({ owned }) {
  const small = owned.after.length <= MOST_PARTITIONS && owned.members.length <= MOST_MEMBERS;
  const legend = html`<${Legend}
    marks=${[
      ["kept", "stays"],
      ["taken", "arrives"],
      ["given", "leaves"],
    ]}
  />`;
  if (!small) return html`<${AssignedCounts} owned=${owned} />`;
  const who = (/** @type {number} */ row) => (row < 0 ? null : owned.members[row].id);
  const rows = Array.from(owned.after, (to, i) => [...partitionAt(owned, i), who(owned.before[i]), who(to)]);
  return html`<${Figure}
    title="Who has what"
    summary="Each square is a partition of its topic, in the row of the member that reads it."
    table=${{ columns: ["topic", "partition", "before", "after"], rows }}
    legend=${legend}
    picture=${(/** @type {number} */ width) => partitions(owned, width)}
  />`;
}

/** @param {{owned: Ownership}} props */
function AssignedCounts({ owned }) {
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
  const columns = topics
    .map((_, i) => i)
    .sort((a, b) => topics[b].count - topics[a].count)
    .slice(0, MOST_TOPICS);
  const data = {
    rows: order.map((i) => ({ label: members[i].id, change: members[i].change })),
    columns: columns.map((i) => topics[i].name),
    before: order.map((member) => columns.map((topic) => at(table.before, member, topic))),
    after: order.map((member) => columns.map((topic) => at(table.after, member, topic))),
  };
  const rows = members.map(({ id, before, after, kept }) => [id, before, kept, after]);
  const summary = `Partitions of each member and topic after the change. ${order.length < members.length ? `Of ${number(members.length)} members, the ${order.length} for which most changes` : "All members"}${columns.length < topics.length ? `, and the ${columns.length} largest of ${number(topics.length)} topics` : ""}.`;
  return html`<${Figure}
    title="Who has what"
    summary=${summary}
    table=${{ columns: ["member", "before", "kept", "after"], rows }}
    picture=${(/** @type {number} */ width) => counted(data, width)}
  />`;
}

/** @param {{owned: Ownership}} props */
function Loads({ owned: { members } }) {
  const after = members.filter(({ change }) => change !== "leaves").map((member) => member.after);
  const summary = `After the change, members read from ${number(Math.min(...after))} to ${count(Math.max(...after), "partition")}.`;
  const rows = members.map(({ id, change, before, after: then }) => [id, change || "stays", before, then]);
  return html`<${Figure}
    title="Partitions per member"
    summary=${summary}
    table=${{ columns: ["member", "change", "before", "after"], rows }}
    picture=${(/** @type {number} */ width) => loads(members, width)}
  />`;
}

/** @param {{frontier: any[], moved: number, largest: number}} props */
function Frontier({ frontier, moved, largest }) {
  const points = frontier.map(({ moves, worst_load }) => ({ price: moves, goal: worst_load }));
  const rows = frontier.map(({ moves, worst_load, stddev, proven }) => [
    moves,
    worst_load,
    stddev,
    proven ? "yes" : "no",
  ]);
  const summary = `The lowest largest load that each number of moves allows, by balanced. This change: ${count(moved, "move")}, largest load ${number(largest)}.`;
  return html`<${Figure}
    title="What further moves buy"
    summary=${summary}
    table=${{ columns: ["moves", "largest load", "standard deviation", "proven"], rows }}
    picture=${(/** @type {number} */ width) => frontierPicture({ points, chosen: null, price: "partitions moved", goal: "largest load" }, width)}
  />`;
}

/** @param {{rivals: import("./groups.js").Rival[]}} props */
function Rivals({ rivals }) {
  const rows = rivals.map(({ assignor, moved, largest, skew, local, chosen }) => [
    chosen ? `${assignor} (chosen)` : assignor,
    moved,
    largest,
    skew,
    ...(local === undefined ? [] : [percent(local)]),
  ]);
  return html`<section>
    <h3>The same change with other assignors</h3>
    <${DataTable}
      caption="The same change with other assignors"
      columns=${["assignor", "moved", "largest load", "skew", ...(rivals.some(({ local }) => local !== undefined) ? ["read in the own zone"] : [])]}
      rows=${rows}
    />
  </section>`;
}
