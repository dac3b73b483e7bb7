/** The editor of a placement: the goal, the rules, the limits, and where replicas are. */
import { bound, Lines } from "../fields.js";
import { count, listed } from "../format.js";
import { html, useMemo } from "../lib.js";
import { holders } from "./brokers.js";
import { Goal } from "./placement_goal.js";
import { hasSizes, Rates } from "./placement_load.js";
import { Limits } from "./plan_fields.js";
import { Rules } from "./placement_rules.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {(change: Partial<PlacementState>) => void} Set */

/** Those of a batch. */
const LIMITS = ["moves_per_batch", "bytes_in_flight", "duration_seconds", "throttle_utilization", "batch_seconds"];

/** @param {{state: PlacementState, set: Set}} props */
export function PlacementEditor({ state, set }) {
  return html`<${Goal} state=${state} set=${set} />
    <${Limits}
      state=${state}
      set=${set}
      first=${["throttle_bytes_per_second", "moves_per_broker"]}
      further=${LIMITS}
      hints=${{ throttle_bytes_per_second: hasSizes(state.topics) ? "" : "Needs sizes, which a snapshot has." }}
    />
    <${Rules} state=${state} set=${set} />
    <${Rates} state=${state} set=${set} />
    <${Placed} state=${state} />
    <details open=${Boolean(state.lint)}>
      <summary>Check a reassignment JSON</summary>
      <${Lines}
        ...${bound(state, set)("lint")}
        label="What kafka-reassign-partitions would take"
        placeholder='{"version": 1, "partitions": […]}'
      />
    </details>`;
}

/** Where replicas are now, in a sentence. @param {{state: PlacementState}} props */
function Placed({ state: { topics } }) {
  const partitions = topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const names =
    topics.length > 3 || topics.length === 0
      ? count(topics.length, "topic")
      : listed(topics.map(({ topic_name }) => topic_name));
  const summary = `${names}: ${count(partitions, "partition")} on ${count(useMemo(() => holders(topics), [topics]).size, "broker")}`;
  return html`<h2>Current placement</h2>
    <p class="hint">${summary}</p>`;
}
