/** Timeline: the rebalances that events cause, and how long partitions stand still, in several protocols. */
import { Rejected } from "../ask.js";
import { DEFAULTS } from "../catalogue.js";
import { bodyOf, rows, taken } from "../raw.js";
import { source } from "./groups.js";
import { TimelineAnswer } from "./timeline_answer.js";
import { TimelineEditor } from "./timeline_editor.js";

const PATH = "/v1/group-rebalances";
/** What a state has beside its requests. */
const OWN = ["ways", "generation", "read"];

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {import("./groups.js").Member} Member */
/**
 * @typedef {{at_ms: number, type: string, member_id?: string, member?: {member_id: string, topic_names?: string[] | null}, members_count?: number,
 *   down_ms?: number, pause_ms?: number, for_ms?: number, topic_name?: string, topic_names?: string[],
 *   partitions_count?: number, topic?: {topic_name: string, partitions_count: number}, assignors?: string[], group_protocol?: string}} Event
 */
/** @typedef {import("../catalogue.js").Way & {static?: boolean}} Way static: all members have a group.instance.id */
/**
 * The requests but for the protocol, and what the page has beside them.
 * @typedef {object} TimelineState
 * @property {Way[]} ways one lane each, the first in detail
 * @property {Topic[]} topics @property {Member[]} members @property {Event[]} events
 * @property {{[name: string]: number | null | undefined}} [timing]
 * @property {number} generation the rebalance of the first lane that is looked at
 */
/** @typedef {{way: Way, answer: any, refused: string}} Lane */
/** @typedef {{lanes: Lane[]}} TimelineAnswerData */

/** @param {TimelineState} state @param {Way} [way] */
function request(state, { static: all, ...way } = state.ways[0]) {
  const named = (/** @type {any} */ member) =>
    all && !member.instance_id ? { ...member, instance_id: member.member_id } : member;
  const members = state.members.map(({ change: _, ...member }) => named(member));
  const events = state.events.map((event) => (event.member ? { ...event, member: named(event.member) } : event));
  return bodyOf({ ...way, ...state, members, events, timing: bodyOf(state.timing ?? {}, []) }, OWN);
}

/** @param {any} body @param {TimelineState} state @returns {Partial<TimelineState>} */
function take({ group_protocol = "classic", assignor = "range", rebalance_protocol, ...body }, state) {
  rows(body, "topics", "topic_name");
  rows(body, "members", "member_id");
  rows({ events: [], ...body }, "events", "type");
  const way = { group_protocol, assignor, ...(rebalance_protocol ? { rebalance_protocol } : {}) };
  const ways = [way, ...state.ways.slice(1)];
  return { events: [], ...taken(body, state, OWN), ways };
}

/** @param {TimelineState} state @param {import("../workbench.js").Post} post @returns {Promise<TimelineAnswerData>} */
async function ask(state, post) {
  const asked = state.ways.map(async (way, i) => {
    const at = (/** @type {string} */ pointer) =>
      pointer
        .replace(/^\/(assignor|group_protocol|rebalance_protocol)$/, `/ways/${i}/assignor`)
        .replace(/\/(topic_names|assignors)\/\d+$/, "/$1");
    try {
      return { way, answer: await post(PATH, request(state, way), { label: nameOf(way), at }), refused: "" };
    } catch (error) {
      if (i === 0 || !(error instanceof Rejected) || error.problem.status !== 422) throw error;
      return { way, answer: null, refused: error.problem.detail };
    }
  });
  return { lanes: await Promise.all(asked) };
}

/** @param {Way} way */
export function nameOf({ group_protocol = "classic", assignor, rebalance_protocol, static: all }) {
  const name = [assignor || DEFAULTS[group_protocol], rebalance_protocol, all && "static members"]
    .filter(Boolean)
    .join(", ");
  return group_protocol === "classic" ? name : `${group_protocol}: ${name}`;
}

/** The rebalances that events cause; without events that of the group's start. @param {any} answer @returns {any[]} */
export function ofEvents({ start, rebalances = [] }) {
  return start ? rebalances.filter((/** @type {any} */ { event }) => event !== null) : rebalances;
}

/** @returns {TimelineState} */
function example() {
  return {
    ways: [
      { group_protocol: "classic", assignor: "cooperative-sticky" },
      { group_protocol: "classic", assignor: "range" },
      { group_protocol: "consumer", assignor: "uniform" },
    ],
    topics: [{ topic_name: "orders", partitions_count: 24 }],
    members: ["billing-1", "billing-2", "billing-3", "billing-4"].map((member_id) => ({ member_id })),
    events: [
      { at_ms: 20_000, type: "member_joins", member: { member_id: "billing-5" } },
      { at_ms: 60_000, type: "member_crashes", member_id: "billing-2" },
      { at_ms: 150_000, type: "rolling_restart", down_ms: 4000, pause_ms: 10_000 },
    ],
    timing: { session_timeout_ms: 45_000 },
    generation: 0,
  };
}

/** A group to which nothing happens yet. @param {import("./groups.js").GroupsState} group @returns {TimelineState} */
function ofGroup({ group_protocol, assignor, topics, ...group }) {
  const alone = topics.map(({ lag: _, ...topic }) => topic); // a timeline has rates, not lag
  return { ...group, ways: [{ group_protocol, assignor }], topics: alone, events: [], generation: 0 };
}

/** @type {import("../workbench.js").Workbench<TimelineState, TimelineAnswerData>} */
export const timeline = {
  title: "Timeline",
  question: "Which rebalances do these events cause, and what stands still meanwhile?",
  example,
  blank: () => ofGroup({ topics: [], members: [] }),
  source: {
    needs: source.needs,
    found: (bodies, texts) => source.found(bodies, texts).map(({ name, state }) => ({ name, state: ofGroup(state) })),
  },
  ask,
  Editor: TimelineEditor,
  Answer: TimelineAnswer,
  request: { path: PATH, of: request, take },
  views: ["generation"],
};
