/** What a plan is to reach; none is made before any of it is asked. */
import { bound, Checkbox, Select } from "../fields.js";
import { html } from "../lib.js";
import { bodyOf } from "../raw.js";
import { Balance } from "./placement_load.js";
import { Objective } from "./plan_fields.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {(change: Partial<PlacementState>) => void} Set */

/** What a state has beside its request. */
export const OWN = ["pressing", "shown", "lint", "read"];
/** What of a state asks for no change: what is, and how a plan would be executed. */
const AS_IT_IS = [...OWN, "kafka_version", "brokers", "topics", "limits", "price_per_gb"];
/** @type {(keyof import("./placement.js").Broker)[]} */
const OF_BROKERS = ["draining", "demoted", "replaces", "weight", "max_replicas"];

const RACKS = [
  { value: "strict", label: "strict" },
  { value: "spread", label: "spread" },
  { value: "none", label: "ignored" },
  { value: "unknown", label: "unknown: accepted" },
];
const LEADERS = [
  { value: "", label: "kept when brokers leave" },
  { value: "balance", label: "balanced" },
  { value: "keep", label: "kept" },
  { value: "only", label: "balanced, no copies" },
  { value: "demote", label: "kept, no copies" },
];

/** Whether a state asks for anything but what is. @param {PlacementState} state */
export function asksForPlan(state) {
  const asks = (/** @type {import("./placement.js").Broker} */ broker) =>
    OF_BROKERS.some((name) => ![undefined, null, false].includes(/** @type {any} */ (broker[name])));
  return Object.keys(bodyOf(state, AS_IT_IS)).length > 0 || state.brokers.some(asks);
}

/** @param {{state: PlacementState, set: Set}} props */
export function Goal({ state, set }) {
  const choice = (
    /** @type {"racks" | "leaders"} */ name,
    /** @type {string} */ label,
    /** @type {import("../fields.js").Choice[]} */ choices,
  ) =>
    html`<${Select}
      ...${bound(state, set)(name)}
      ...${{ label, choices }}
      value=${state[name] ?? choices[0].value}
      set=${(/** @type {string} */ value) => set({ [name]: value || undefined })}
    />`;
  return html`<${Objective} state=${state} set=${set} none=${asksForPlan(state) ? "" : "none: what is at risk"} />
    <${Balance} state=${state} set=${set} />
    <div class="pair">${choice("racks", "Racks", RACKS)} ${choice("leaders", "Leaders", LEADERS)}</div>
    <${Checkbox}
      label="Even out each topic by itself, too"
      checked=${state.per_topic ?? false}
      set=${(/** @type {boolean} */ per_topic) => set({ per_topic: per_topic || undefined })}
    />`;
}
