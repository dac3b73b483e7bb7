/** The editor of a placement: where replicas are, the goal and the limits. */
import { Drop, Lines, Numeric, Select } from "../fields.js";
import { count, listed } from "../format.js";
import { html, useState } from "../lib.js";
import { hasSizes, placement } from "../descriptions.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */

const OBJECTIVES = [
  { value: "fewest-moves", label: "the fewest copies, then even" },
  { value: "even", label: "the most even, then few copies" },
];
const RACKS = [
  { value: "strict", label: "strict" },
  { value: "spread", label: "spread" },
  { value: "none", label: "ignored" },
];
const LEADERS = [
  { value: "balance", label: "balanced" },
  { value: "keep", label: "kept" },
  { value: "only", label: "only these" },
];

/** @param {{state: PlacementState, set: (change: Partial<PlacementState>) => void}} props */
export function PlacementEditor({ state, set }) {
  return html`<h2>Goal</h2>
    <${Select}
      place="/objective"
      label="Replicas"
      value=${state.objective}
      choices=${OBJECTIVES}
      set=${(/** @type {any} */ objective) => set({ objective })}
    />
    <div class="pair">
      <${Select}
        place="/racks"
        label="Racks"
        value=${state.racks}
        choices=${RACKS}
        set=${(/** @type {string} */ racks) => set({ racks })}
      />
      <${Select}
        place="/leaders"
        label="Leaders"
        value=${state.leaders}
        choices=${LEADERS}
        set=${(/** @type {string} */ leaders) => set({ leaders })}
      />
    </div>
    <h2>Limits</h2>
    <div class="pair">
      <${Numeric}
        place="/throttle"
        label="Throttle, MB/s"
        value=${state.throttle}
        placeholder="none"
        hint=${hasSizes(state.topics) ? "" : "Needs sizes, which a snapshot has."}
        set=${(/** @type {number | null} */ throttle) => set({ throttle })}
      />
      <${Numeric}
        place="/moves_per_broker"
        label="Moves per broker"
        value=${state.moves_per_broker}
        placeholder="any"
        min=${1}
        set=${(/** @type {number | null} */ moves_per_broker) => set({ moves_per_broker })}
      />
    </div>
    <${Numeric}
      place="/max_moves"
      label="Copies at most"
      value=${state.max_moves}
      placeholder="any"
      set=${(/** @type {number | null} */ max_moves) => set({ max_moves })}
    />
    <${Source} state=${state} set=${set} />
    <details open=${state.lint !== ""}>
      <summary>Check a reassignment JSON</summary>
      <${Lines}
        place="/lint"
        label="What kafka-reassign-partitions would take"
        placeholder='{"version": 1, "partitions": […]}'
        value=${state.lint}
        set=${(/** @type {string} */ lint) => set({ lint })}
      />
    </details>`;
}

/** Where the placement comes from. @param {{state: PlacementState, set: (change: Partial<PlacementState>) => void}} props */
function Source({ state: { topics, brokers }, set }) {
  const [fault, setFault] = useState("");
  const take = (/** @type {string} */ text) => {
    if (text.trim() === "") return;
    try {
      const found = placement(text);
      const racks = new Map(brokers.map(({ broker_id, rack_id }) => [broker_id, rack_id]));
      setFault("");
      set({
        topics: found.topics,
        brokers: found.brokers.map((broker) => ({ rack_id: racks.get(broker.broker_id), ...broker, change: "" })),
      });
    } catch (error) {
      setFault(/** @type {Error} */ (error).message);
    }
  };
  const partitions = topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const names = topics.length > 3 ? count(topics.length, "topic") : listed(topics.map(({ topic_name }) => topic_name));
  const there = brokers.filter(({ change }) => change !== "joins").length;
  const summary = `${names}: ${count(partitions, "partition")} on ${count(there, "broker")}`;
  return html`<h2>Current placement</h2>
    <p class="hint">${summary}</p>
    <${Lines}
      place="/topics"
      label="Paste kafka-topics --describe, a reassignment JSON, or a snapshot"
      value=""
      placeholder="Topic: orders  Partition: 0  Leader: 1  Replicas: 1,2,3  Isr: 1,2,3"
      set=${take}
    />
    <${Drop}
      label="Open a file with one of these"
      accept=".json,.txt"
      take=${async (/** @type {File} */ file) => take(await file.text())}
    />
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}`;
}
