/** Groups: who reads which partition, before and after a change of the group. */
import { Rejected } from "../ask.js";
import { assignorOf, DEFAULTS } from "../catalogue.js";
import { bodyOf, rows, taken } from "../raw.js";
import { GroupsAnswer } from "./groups_answer.js";
import { GroupsEditor } from "./groups_editor.js";
import { fieldOf, withCount } from "./load.js";
import { memberLoads, spread } from "./member_loads.js";
import { ownership } from "./ownership.js";

const PATH = "/v1/group-assignments";
/** What a state has beside its request. */
const OWN = ["assignor_then", "read"];

/** @typedef {import("./ownership.js").TopicPartitions} TopicPartitions */
/** @typedef {import("./load.js").Entry} Entry */
/** @typedef {{committed_offsets: Entry[], log_end_offsets: Entry[]}} Lag */
/** @typedef {{topic_name: string, partitions_count: number, partitions_then?: number | null, partition_racks?: string[][], partition_weights?: Entry[], lag?: Lag, topic_id?: string}} Topic */
/** @typedef {{member_id: string, rack_id?: string | null, instance_id?: string | null, topic_names?: string[] | null, capacity?: number | null, generation_id?: number | null, owned_partitions?: TopicPartitions, change?: "" | "joins" | "leaves"}} Member */
/**
 * The request for all members, those that join and those that leave, and what the page has beside it.
 * @typedef {object} GroupsState
 * @property {string} [group_protocol] @property {string} [assignor] none: not known
 * @property {string} [assignor_then] none or empty: the same
 * @property {Topic[]} topics @property {Member[]} members
 * @property {number | null} [max_moves] partitions that balanced may move
 * @property {string} [kafka_version] @property {number | null} [price_per_gb]
 * @property {{assignor: string}[] | null} [compare] what the assignor is compared with; none: those of the protocol
 */
/** @typedef {{assignor: string, moved: number, largest: number, skew: number | null, local?: number, chosen: boolean}} Rival */
/**
 * @typedef {object} GroupsAnswerData
 * @property {import("./ownership.js").Ownership} owned @property {import("./member_loads.js").MemberLoads} loads
 * @property {any} after @property {Rival[]} rivals @property {any[]} frontier
 */

/** Assignors that are tried on the same change, by protocol. @type {Record<string, string[]>} */
const RIVALS = {
  classic: ["range", "roundrobin", "sticky", "cooperative-sticky", "balanced"],
  consumer: ["uniform", "range", "balanced"],
  share: ["simple"],
};
/** Partitions of a group above which only the assignors in question are asked for. */
const SMALL = 20_000;
/** Partitions of a group up to which the whole frontier is asked for. */
const SMALL_FRONTIER = 1000;

/** @param {Topic[]} topics @param {boolean} then */
function topicsOf(topics, then) {
  return topics.map(({ partitions_then, ...topic }) =>
    then && partitions_then ? withCount(topic, partitions_then) : topic,
  );
}

/** @param {Member} member @param {TopicPartitions} [owned] */
function memberOf(member, owned) {
  const body = bodyOf(member, ["change"]);
  return owned ? { ...body, owned_partitions: owned } : body;
}

/** @param {GroupsState} state */
function request(state) {
  const members = state.members.map((member) => memberOf(member));
  return bodyOf({ ...state, topics: topicsOf(state.topics, false), members }, OWN);
}

/** What changes about members and topics stays as it is for those of the same name. @param {any} body @param {GroupsState} state @returns {Partial<GroupsState>} */
function take({ group_protocol = "classic", ...body }, state) {
  const { assignor = DEFAULTS[group_protocol] } = body;
  const then = new Map(state.topics.map(({ topic_name, partitions_then }) => [topic_name, partitions_then]));
  const changes = new Map(state.members.map(({ member_id, change }) => [member_id, change]));
  const topics = rows(body, "topics", "topic_name").map((topic) => ({
    ...topic,
    partitions_then: then.get(topic.topic_name),
  }));
  const members = rows(body, "members", "member_id").map((member) => ({
    ...member,
    change: changes.get(member.member_id),
  }));
  const same = group_protocol === state.group_protocol;
  return {
    ...taken({ ...body, group_protocol, assignor, topics, members }, state, OWN),
    ...(same ? {} : { assignor_then: "" }),
  };
}

/** Pointer into a body's members → place in the state's. @param {Member[]} members @param {string} gone */
function placesOf(members, gone) {
  const places = members.flatMap(({ change }, i) => (change === gone ? [] : [i]));
  return (/** @type {string} */ pointer) =>
    fieldOf(pointer.replace(/^\/members\/(\d+)/, (_, i) => `/members/${places[Number(i)]}`));
}

/** An assignor may refuse such a group. @param {any} error */
function refused(error) {
  if (error instanceof Rejected && error.problem.status === 422) return null;
  throw error;
}

/** @param {any} answer @returns {import("./ownership.js").Assignments} the assignments once a second rebalance has come */
const settled = (answer) => (answer.follow_up ?? answer).assignments;

/** What another assignor does to members with these capacities. @param {any} compared @param {number[]} capacities @returns {Rival} */
function rival({ assignor, member_load, weighted_member_load, movement, zone_traffic }, capacities) {
  const { max, skew } = spread(
    (weighted_member_load?.totals ?? member_load.counts).map(
      (/** @type {number} */ load, /** @type {number} */ i) => load / capacities[i],
    ),
  );
  return { assignor, moved: movement.moved, largest: max, skew, local: zone_traffic?.local_share, chosen: false };
}

/** @param {GroupsState} state @param {import("../workbench.js").Post} post @returns {Promise<GroupsAnswerData>} */
async function ask(state, post) {
  const { max_moves, compare: wanted, ...common } = request(state);
  const { group_protocol = "classic", assignor_then, topics, members } = state;
  const now = members.filter(({ change }) => change !== "joins");
  const stated = now.some(({ owned_partitions }) => owned_partitions?.length);
  const before = stated
    ? { assignments: now.map(({ member_id, owned_partitions = [] }) => ({ member_id, partitions: owned_partitions })) }
    : await post(
        PATH,
        { ...common, members: now.map((member) => memberOf(member)) },
        { label: `${assignorOf(state)}, before`, at: placesOf(members, "joins") },
      );
  const had = new Map(settled(before).map(({ member_id, partitions }) => [member_id, partitions]));
  const later = members
    .filter(({ change }) => change !== "leaves")
    .map((member) => memberOf(member, had.get(member.member_id) ?? []));
  const then = assignor_then ? { assignor: assignor_then } : {};
  const grown = { ...common, ...then, topics: topicsOf(topics, true), members: later };
  const body = max_moves === undefined ? grown : { ...grown, max_moves };
  const after = await post(PATH, body, { label: `${assignorOf(body)}, after`, at: placesOf(members, "leaves") });
  const partitions = body.topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  const names = partitions > SMALL ? [] : (RIVALS[group_protocol] ?? []);
  const compare = wanted ?? names.filter((name) => name !== after.assignor).map((name) => ({ assignor: name }));
  const rivals = compare.length
    ? await post(PATH, { ...body, compare }, { label: "other assignors, after" }).catch(refused)
    : null;
  const whole = partitions <= SMALL_FRONTIER && names.includes("balanced");
  const traded = whole
    ? await post(`${PATH}?frontier=true`, { ...grown, assignor: "balanced" }, { label: "balanced, frontier" }).catch(
        refused,
      )
    : null;
  const owned = ownership(body.topics, members, settled(before), settled(after));
  const loads = memberLoads(body.topics, members, settled(before), settled(after));
  const { max: largest, skew } = loads.after;
  const local = after.zone_traffic?.local_share;
  const capacities = later.map(({ capacity }) => Number(capacity ?? 1));
  const others = (rivals?.comparisons ?? []).filter((/** @type {any} */ { error }) => !error);
  return {
    frontier: traded?.frontier ?? [],
    owned,
    loads,
    after,
    rivals: [
      { assignor: after.assignor, moved: owned.moved, largest, skew, local, chosen: true },
      ...others.map((/** @type {any} */ each) => rival(each, capacities)),
    ],
  };
}

/** @returns {GroupsState} */
function example() {
  const racks = ["a", "b", "c"];
  const racksOf = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) => [racks[i % 3], racks[(i + 1) % 3]]);
  return {
    group_protocol: "classic",
    assignor: "range",
    assignor_then: "",
    topics: [
      { topic_name: "orders", partitions_count: 18, partition_racks: racksOf(18) },
      { topic_name: "payments", partitions_count: 12, partition_racks: racksOf(12) },
      { topic_name: "refunds", partitions_count: 4, partition_racks: racksOf(4) },
    ],
    members: ["a", "b", "c", "a", "b"].map((rack_id, i) => ({
      member_id: `billing-${i + 1}`,
      rack_id,
      change: i === 4 ? /** @type {const} */ ("joins") : "",
    })),
  };
}

/** The group of a paste. @type {import("../paste.js").Source<any>} */
export const source = {
  needs: "A group with its members is needed: kafka-consumer-groups --describe --members --verbose prints one.",
  found: ({ group_assignments }) =>
    group_assignments.map((/** @type {any} */ state) => ({ name: state.group_id, state })),
};

/** @type {import("../workbench.js").Workbench<GroupsState, GroupsAnswerData>} */
export const groups = {
  title: "Groups",
  question: "Who reads which partition, and what moves when the group changes?",
  example,
  blank: () => ({ topics: [], members: [] }),
  source,
  ask,
  Editor: GroupsEditor,
  Answer: GroupsAnswer,
  request: {
    path: PATH,
    of: request,
    take,
    at: (pointer, rejected) => rejected.at(pointer),
    hint: () =>
      "The group with all its members, those that join and those that leave. Each request below is made from it.",
  },
};
