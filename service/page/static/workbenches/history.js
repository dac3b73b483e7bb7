/** History: what happened to a group, from its coordinator's log and records. */
import { bodyOf, taken } from "../raw.js";
import { HistoryAnswer } from "./history_answer.js";
import { HistoryEditor } from "./history_editor.js";

const PATH = "/v1/group-histories";
/** What a state has beside its request. */
const OWN = ["read"];

/** @typedef {{group_id: string, texts: string[], names?: string[], otherwise?: boolean}} HistoryState */

/** @param {HistoryState} state */
const request = (state) => bodyOf(state, OWN);

/** @param {any} body @param {HistoryState} state @returns {Partial<HistoryState>} */
function take(body, state) {
  if (!Array.isArray(body.texts)) throw new Error("/texts: a list is needed here.");
  return taken(body, state, OWN);
}

/** The rebalances of an example: seconds, the reason, how many members then, and what is logged before. */
const EXAMPLE = [
  [0, "Adding new member web-1-a1 with group instance id null", 1, ""],
  [4, "Adding new member web-2-b2 with group instance id null", 2, ""],
  [7, "Adding new member web-3-c3 with group instance id null", 3, ""],
  [341, "explicit `LeaveGroup` request for (web-3-c3) members.", 2, "web-3-c3 poll timeout"],
  [349, "Adding new member web-3-c4 with group instance id null", 3, ""],
  [655, "explicit `LeaveGroup` request for (web-3-c4) members.", 2, "web-3-c4 poll timeout"],
  [664, "Adding new member web-3-c5 with group instance id null", 3, ""],
  [800, "removing member web-2-b2 on heartbeat expiration.", 2, "web-2-b2 failed"],
];

/** A coordinator's log, as Kafka 4.4 writes it: a member that does not poll often enough, and one that is lost. @returns {HistoryState} */
function example() {
  const start = Date.UTC(2026, 10, 21, 9);
  const at = (/** @type {number} */ seconds) =>
    new Date(start + seconds * 1000).toISOString().replace("T", " ").replace(".", ",").slice(0, 23);
  const line = (/** @type {number} */ seconds, /** @type {string} */ text) =>
    `[${at(seconds)}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] ${text} (org.apache.kafka.coordinator.group.GroupMetadataManager)`;
  const lines = EXAMPLE.flatMap(([seconds, reason, members, before], i) => {
    const [from, number] = [Number(seconds), i + 1];
    const [member, what] = String(before).split(/ (.*)/);
    const told = {
      "poll timeout": `[Group orders] Member ${member} has left group through explicit \`LeaveGroup\` request; client reason: consumer poll timeout has expired.`,
      failed: `Member ${member} in group orders has failed, removing it from the group.`,
    }[/** @type {"failed"} */ (what)];
    const [, joined] = /^Adding new member (\S+)/.exec(String(reason)) ?? [];
    const state = i === 0 ? "Empty" : "Stable";
    const joins = `Pending dynamic member with id ${joined} joins group orders in ${state} state. Adding to the group now.`;
    return [
      ...(told ? [line(from, told)] : []),
      ...(joined ? [line(from, joins)] : []),
      line(
        from,
        `Preparing to rebalance group orders in state PreparingRebalance with old generation ${i} (reason: ${reason}).`,
      ),
      line(from + 1.2, `Stabilized group orders generation ${number} with ${members} members.`),
      line(
        from + 1.3,
        `Assignment received from leader web-1-a1 for group orders for generation ${number}. The group has ${members} members, 0 of which are static.`,
      ),
    ];
  });
  return { group_id: "orders", texts: [`${lines.join("\n")}\n`], names: ["server.log"] };
}

/** @type {import("../workbench.js").Workbench<HistoryState, any>} */
export const history = {
  title: "History",
  question: "What happened to this group, and why?",
  example,
  blank: () => ({ group_id: "", texts: [] }),
  source: {
    needs: "",
    placeholder:
      "the log of a group coordinator, records of __consumer_offsets as kafka-console-consumer prints them …",
    asIs: true,
    found: (_, texts) => [{ name: "", state: { group_id: "", texts } }],
  },
  ask: (state, post) => post(PATH, request(state), { label: state.group_id }),
  Editor: HistoryEditor,
  Answer: HistoryAnswer,
  request: { path: PATH, of: request, take },
};
