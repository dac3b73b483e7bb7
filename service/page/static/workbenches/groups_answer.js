/** The answer about a group: what moves, who has what, and what other assignors would do. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { count, number, percent, ratio } from "../format.js";
import { html } from "../lib.js";
import { linkTo } from "../link.js";
import { frontier as frontierPicture } from "../pictures/frontier.js";
import { MOST_BARS, loads as loadsPicture } from "../pictures/loads.js";
import { Assigned } from "./assigned.js";
import { Warnings } from "./warnings.js";

/** @typedef {import("./groups.js").GroupsAnswerData} GroupsAnswerData */
/** @typedef {import("./member_loads.js").MemberLoads} MemberLoads */

/** What the timeline of a group shows beside its own protocol. */
const OTHER_WAYS = [
  { group_protocol: "classic", assignor: "cooperative-sticky" },
  { group_protocol: "consumer", assignor: "uniform" },
];

/** @param {{state: import("./groups.js").GroupsState, answer: GroupsAnswerData}} props */
export function GroupsAnswer({ state, answer: { owned, loads, after, rivals, frontier } }) {
  const counted = loads.kind === "" && !loads.divided;
  const least = counted ? (after.movement?.fewest_possible_moves ?? null) : null;
  const { local_share: share, cost_per_month: cost } = after.zone_traffic ?? {};
  const figures = [
    {
      label: "Partitions that move",
      value: number(owned.moved),
      note: least === null ? "" : `${number(least)} for equally even loads`,
    },
    { label: "Largest load", value: number(loads.after.max), note: `before: ${number(loads.before.max)}` },
    { label: "Skew", value: ratio(loads.after.skew), note: `before: ${ratio(loads.before.skew)}` },
    share !== undefined && { label: "Can be read within its zone", value: percent(share), note: weighed(loads.kind) },
    typeof cost === "number" && { label: "Price of the rest", value: number(cost), note: "a month, across zones" },
    {
      label: "Unassigned",
      value: number(owned.idle),
      tone: owned.idle ? /** @type {const} */ ("bad") : /** @type {const} */ (""),
    },
  ];
  return html`<p class="verdict" role="status">${after.conclusion}</p>
    <${Figures} figures=${figures.filter(Boolean)} />
    ${
      owned.members.length > 0 &&
      html`<${Assigned} title="Who has what" owned=${owned} shared=${state.group_protocol === "share"} />
        <${Loads} loads=${loads} />`
    }
    <p><button type="button" class="button" onClick=${() => overTime(state)}>What happens over time →</button></p>
    ${frontier.length > 1 && html`<${Frontier} frontier=${frontier} moved=${owned.moved} largest=${loads.after.max} />`}
    ${rivals.length > 1 && html`<${Rivals} rivals=${rivals} />`}
    <${Warnings} warnings=${after.warnings ?? []} />`;
}

/** Go on with the same group and change in the workbench Timeline. @param {import("./groups.js").GroupsState} state */
async function overTime({ group_protocol, assignor, topics, members: all }) {
  const members = all.map(({ capacity: _, ...member }) => member); // a timeline takes all alike
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
    topics: topics.map(({ partitions_then: _, lag: __, ...topic }) => topic),
    members: members.filter(({ change }) => change !== "joins"),
    events,
    timing: { session_timeout_ms: 45_000 },
    generation: 0,
  });
}

/** What a share is of. @param {import("./load.js").Kind} kind */
const weighed = (kind) => (kind === "" ? "of the partitions" : "of the load");

/** What a member's load is, by what is known of the partitions. @type {Record<import("./load.js").Kind, string>} */
const TITLES = { "": "Partitions per member", weights: "Load per member", lag: "Lag per member" };

/** @param {{loads: MemberLoads}} props */
function Loads({ loads: { kind, divided, members } }) {
  const rows = members.map(({ id, change, before, after: then }) => [id, change || "stays", before, then]);
  const marks =
    members.length <= MOST_BARS
      ? { kept: "before and after", taken: "more than before", given: "less than before" }
      : { kept: "before", taken: "after" };
  return html`<${Figure}
    title=${TITLES[kind]}
    summary="Before and after the change${divided ? ", divided by their capacity" : ""}."
    legend=${html`<${Legend} marks=${Object.entries(marks)} />`}
    table=${{ columns: ["member", "change", "before", "after"], rows }}
    picture=${(/** @type {number} */ width) => loadsPicture(members, width)}
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
  const summary = `The lowest largest load that balanced reaches with each number of moves. This change: ${count(moved, "move")}, largest load ${number(largest)}.`;
  return html`<${Figure}
    title="What more moves gain"
    summary=${summary}
    table=${{ columns: ["moves", "largest load", "standard deviation", "proven"], rows }}
    picture=${(/** @type {number} */ width) => frontierPicture({ points, chosen: null, here: { price: moved, goal: largest, label: "this change" }, price: "partitions moved", goal: "largest load" }, width)}
  />`;
}

/** @param {{rivals: import("./groups.js").Rival[]}} props */
function Rivals({ rivals }) {
  const rows = rivals.map(({ assignor, moved, largest, skew, local, chosen }) => [
    chosen ? `${assignor} (chosen)` : assignor,
    moved,
    largest,
    ratio(skew),
    ...(local === undefined ? [] : [percent(local)]),
  ]);
  return html`<section>
    <h3>The same change with other assignors</h3>
    <${DataTable}
      caption="The same change with other assignors"
      columns=${["assignor", "moved", "largest load", "skew", ...(rivals.some(({ local }) => local !== undefined) ? ["can be read within its zone"] : [])]}
      rows=${rows}
    />
  </section>`;
}
