/** Groups: who reads which partition, before and after a change of the group. */
import { Rejected } from "../ask.js";
import { GroupsAnswer } from "./groups_answer.js";
import { GroupsEditor } from "./groups_editor.js";
import { ownership } from "./ownership.js";

const PATH = "/v1/group-assignments";

/** @typedef {import("./ownership.js").TopicPartitions} TopicPartitions */
/** @typedef {{topic_name: string, partitions_count: number, partitions_then?: number | null, partition_racks?: string[][], partition_weights?: number[], topic_id?: string}} Topic */
/** @typedef {{member_id: string, rack_id?: string | null, instance_id?: string | null, topic_names?: string[] | null, generation_id?: number | null, owned_partitions?: TopicPartitions, change?: "" | "joins" | "leaves"}} Member */
/**
 * @typedef {object} GroupsState
 * @property {string} group_protocol @property {string} assignor
 * @property {string} assignor_then empty: the same
 * @property {Topic[]} topics @property {Member[]} members
 */
/** @typedef {{assignor: string, moved: number, largest: number, skew: number, local?: number, chosen: boolean}} Rival */
/** @typedef {{owned: import("./ownership.js").Ownership, before: any, after: any, rivals: Rival[], frontier: any[]}} GroupsAnswerData */

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
    then && partitions_then ? { ...topic, partitions_count: partitions_then } : topic,
  );
}

/** @param {Member} member @param {TopicPartitions} [owned] */
function memberOf({ change: _, ...member }, owned) {
  const body = Object.fromEntries(Object.entries(member).filter(([, value]) => value !== null && value !== ""));
  return owned ? { ...body, owned_partitions: owned } : body;
}

/** Pointer into a body's members → place in the state's. @param {Member[]} members @param {string} gone */
function placesOf(members, gone) {
  const places = members.flatMap(({ change }, i) => (change === gone ? [] : [i]));
  return (/** @type {string} */ pointer) =>
    pointer.replace(/^\/members\/(\d+)/, (_, i) => `/members/${places[Number(i)]}`);
}

/** An assignor may refuse such a group. @param {any} error */
function refused(error) {
  if (error instanceof Rejected && error.problem.status === 422) return null;
  throw error;
}

/** @param {any} answer @returns {import("./ownership.js").Assignments} the assignments once a second rebalance has come */
const settled = (answer) => (answer.follow_up ?? answer).assignments;

/** What an assignor does, once its second rebalance has come. @param {any} answer @param {boolean} chosen @returns {Rival} */
function rival(answer, chosen) {
  const { member_load, movement } = answer.follow_up ?? answer;
  const moved = answer.follow_up ? answer.movement.revoked : movement.moved;
  return {
    assignor: answer.assignor,
    moved,
    largest: member_load.max,
    skew: member_load.skew,
    local: answer.zone_traffic?.local_share,
    chosen,
  };
}

/** @param {GroupsState} state @param {import("../workbench.js").Post} post @returns {Promise<GroupsAnswerData>} */
async function ask(state, post) {
  const { group_protocol, assignor, assignor_then, topics, members } = state;
  const now = members.filter(({ change }) => change !== "joins");
  const stated = now.some(({ owned_partitions }) => owned_partitions?.length);
  const before = stated
    ? { assignments: now.map(({ member_id, owned_partitions = [] }) => ({ member_id, partitions: owned_partitions })) }
    : await post(
        PATH,
        { group_protocol, assignor, topics: topicsOf(topics, false), members: now.map((member) => memberOf(member)) },
        { label: `${assignor}, before`, at: placesOf(members, "joins") },
      );
  const owned = new Map(settled(before).map(({ member_id, partitions }) => [member_id, partitions]));
  const later = members
    .filter(({ change }) => change !== "leaves")
    .map((member) => memberOf(member, owned.get(member.member_id) ?? []));
  const body = { group_protocol, assignor: assignor_then || assignor, topics: topicsOf(topics, true), members: later };
  const after = await post(PATH, body, { label: `${body.assignor}, after`, at: placesOf(members, "leaves") });
  const partitions = body.topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  const names = partitions > SMALL ? [] : (RIVALS[group_protocol] ?? []);
  const compare = names.filter((name) => name !== body.assignor).map((name) => ({ assignor: name }));
  const rivals = compare.length
    ? await post(PATH, { ...body, compare }, { label: "other assignors, after" }).catch(refused)
    : null;
  const whole = partitions <= SMALL_FRONTIER && names.includes("balanced") && group_protocol !== "share";
  const traded = whole
    ? await post(`${PATH}?frontier=true`, { ...body, assignor: "balanced" }, { label: "balanced, frontier" }).catch(
        refused,
      )
    : null;
  return {
    frontier: traded?.frontier ?? [],
    owned: ownership(body.topics, members, settled(before), settled(after)),
    before,
    after,
    rivals: rivals === null ? [] : [rivals, ...rivals.comparisons].map((each, i) => rival(each, i === 0)),
  };
}

/** @returns {GroupsState} */
function example() {
  const racks = ["a", "b", "c"];
  const spread = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) => [racks[i % 3], racks[(i + 1) % 3]]);
  return {
    group_protocol: "classic",
    assignor: "range",
    assignor_then: "",
    topics: [
      { topic_name: "orders", partitions_count: 18, partition_racks: spread(18) },
      { topic_name: "payments", partitions_count: 12, partition_racks: spread(12) },
      { topic_name: "refunds", partitions_count: 4, partition_racks: spread(4) },
    ],
    members: ["a", "b", "c", "a", "b"].map((rack_id, i) => ({
      member_id: `billing-${i + 1}`,
      rack_id,
      change: i === 4 ? /** @type {const} */ ("joins") : "",
    })),
  };
}

/** @type {import("../workbench.js").Workbench<GroupsState, GroupsAnswerData>} */
export const groups = {
  title: "Groups",
  question: "Who reads which partition, and what moves when the group changes?",
  example,
  ask,
  Editor: GroupsEditor,
  Answer: GroupsAnswer,
};
