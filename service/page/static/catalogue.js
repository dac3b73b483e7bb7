/** The strategies that the service has, asked for once. */
import { get } from "./ask.js";
import { useEffect, useState } from "./lib.js";

/** @type {Map<string, Promise<any[]>>} */
const lists = new Map();

/** @param {"assignors" | "partitioners" | "placers"} name @returns {Promise<any[]>} */
function list(name) {
  const known = lists.get(name);
  if (known) return known;
  const asked = get(`/v1/${name}`).then((value) => value[name]);
  asked.catch(() => lists.delete(name)); // asked again when there is a token
  lists.set(name, asked);
  return asked;
}

/** The strategies of one kind; none until they are known. @param {"assignors" | "partitioners" | "placers"} name @returns {any[]} */
export function useCatalogue(name) {
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    list(name).then(setRows, () => {});
  }, [name]);
  return rows;
}

const PROTOCOLS = ["classic", "consumer", "share"];

/** The assignor of each protocol where none is named. @type {Record<string, string>} */
export const DEFAULTS = { classic: "range", consumer: "uniform", share: "simple" };

/** @typedef {{group_protocol?: string, assignor?: string, rebalance_protocol?: string}} Way how a group is run */

/** The assignor of a group, also where it is not known. @param {Way} way */
export function assignorOf({ group_protocol, assignor }) {
  return assignor || `not known (${DEFAULTS[group_protocol || "classic"]})`;
}

/** A protocol and an assignor as one value, and back: `classic:range`, `classic/eager:balanced`, `classic:` if it is not known. @param {Way} way */
export function wayOf({ group_protocol = "classic", rebalance_protocol, assignor }) {
  return `${group_protocol}${rebalance_protocol === "eager" ? "/eager" : ""}:${assignor ?? ""}`;
}

/** @param {string} value @returns {Way & {group_protocol: string, assignor: string}} */
export function wayFrom(value) {
  const [protocols, assignor] = value.split(/:(.*)/);
  const [group_protocol, rebalance_protocol] = protocols.split("/");
  return { group_protocol, assignor, ...(rebalance_protocol ? { rebalance_protocol } : {}) };
}

/** @typedef {import("./fields.js").Choice & {of_other_client: boolean}} AssignorChoice */

/** An assignor as a choice, with what its members do during a rebalance. @param {any} row of the catalogue @returns {AssignorChoice} */
export function choiceOf({ group_protocol, assignor, client, rebalance_protocol }) {
  return {
    value: assignor,
    label: group_protocol === "classic" ? `${assignor}, ${rebalance_protocol}` : `${assignor} (${group_protocol})`,
    group: group_protocol === "classic" ? (client ?? "this service") : `the ${group_protocol} protocol`,
    of_other_client: group_protocol === "classic" && ![undefined, null, "java"].includes(client),
  };
}

/** The partitioners that place keys on partitions, as choices. @returns {import("./fields.js").Choice[]} */
export function usePartitioners() {
  return useCatalogue("partitioners")
    .filter(({ sign_rule }) => sign_rule !== null) // others ignore keys, or give tokens
    .map(({ partitioner, client }) => ({ value: partitioner, label: partitioner, group: client }));
}

/** The assignors of groups with members, each with its protocol, as choices. @returns {AssignorChoice[]} */
export function useWays() {
  return useCatalogue("assignors")
    .filter(({ group_protocol }) => PROTOCOLS.includes(group_protocol))
    .map((row) => ({ ...choiceOf(row), value: wayOf({ ...row, rebalance_protocol: undefined }) }));
}
