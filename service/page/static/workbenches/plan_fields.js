/** Fields that plans between brokers and plans between disks have in common. */
import { bound, Numeric, Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { words } from "../lists.js";

/** @typedef {(change: any) => void} Set */

const OBJECTIVES = [
  { value: "fewest-moves", label: "the fewest copies, then even" },
  { value: "even", label: "the most even, then few copies" },
];
const ORDERS = [
  { value: "largest-first", label: "largest first" },
  { value: "smallest-first", label: "smallest first" },
];

/** What is between no copy and the most even. @type {{name: string, label: string, scale?: number}[]} */
const BETWEEN = [
  { name: "max_moves", label: "Copies at most" },
  { name: "max_bytes", label: "GB copied", scale: 1e9 },
  { name: "tolerance", label: "% from the mean", scale: 0.01 },
];

/** @type {Record<string, {label: string, scale?: number, placeholder?: string}>} */
const LIMITS = {
  throttle_bytes_per_second: { label: "Throttle, MB/s", scale: 1e6, placeholder: "none" },
  moves_per_broker: { label: "Moves per broker" },
  moves_per_log_dir: { label: "Moves per disk" },
  moves_per_batch: { label: "Copies per batch" },
  bytes_in_flight: { label: "GB per batch", scale: 1e9 },
  duration_seconds: { label: "Finish within, min", scale: 60, placeholder: "any" },
  throttle_utilization: { label: "Throttle reached, %", scale: 0.01, placeholder: "80" },
  batch_seconds: { label: "Overhead of a batch, s", placeholder: "2" },
};

/** @param {{state: any, set: Set, none?: string}} props none: what stands for no goal, which is offered then */
export function Objective({ state, set, none = "" }) {
  const choose = (/** @type {string} */ objective) =>
    set({
      objective: objective || undefined,
      ...(objective === "even" ? {} : { tolerance: null, max_moves: null, max_bytes: null }),
    });
  const choices = none ? [{ value: "", label: none }, ...OBJECTIVES] : OBJECTIVES;
  return html`<h2>Goal</h2>
    <${Select}
      place="/objective"
      label="Replicas"
      value=${state.objective ?? choices[0].value}
      choices=${choices}
      set=${choose}
    />
    ${
      state.objective === "even" &&
      html`<div class="triple">
        ${BETWEEN.map(({ name, ...field }) => html`<${Numeric} ...${bound(state, set)(name)} placeholder="any" ...${field} />`)}
      </div>`
    }`;
}

/**
 * What a batch may do. Names are those of the request's `limits`.
 * @param {object} props
 * @param {any} props.state @param {Set} props.set @param {string[]} props.first @param {string[]} props.further
 * @param {Record<string, string>} [props.hints]
 */
export function Limits({ state, set, first, further, hints = {} }) {
  const limits = state.limits ?? {};
  const limit = bound(limits, (change) => set({ limits: { ...limits, ...change } }), "/limits");
  const field = (/** @type {string} */ name) =>
    html`<${Numeric} ...${limit(name)} placeholder="any" ...${LIMITS[name]} hint=${hints[name]} />`;
  return html`<h2>Batches</h2>
    <div class="pair">${first.map(field)}</div>
    <details>
      <summary>More about batches</summary>
      <div class="pair">
        ${further.map(field)}
        <${Select} ...${limit("order")} label="Order" value=${limits.order ?? ORDERS[0].value} choices=${ORDERS} />
      </div>
    </details>`;
}

/**
 * A list in one line.
 * @param {object} props
 * @param {any} props.state @param {Set} props.set @param {string} props.name of the member of the state
 * @param {string} props.label @param {string} props.placeholder @param {(text: string) => any} [props.read]
 */
export function List({ state, set, name, label, placeholder, read = words }) {
  return html`<${Text}
    place="/${name}"
    ...${{ label, placeholder }}
    value=${(state[name] ?? []).join(", ")}
    set=${(/** @type {string} */ text) => set({ [name]: read(text) })}
  />`;
}

/** Which topics may change. @param {{state: any, set: Set}} props */
export function WhichTopics({ state, set }) {
  const patterns = "all, or names and patterns: orders, pay*";
  return html`<${List}
      ...${{ state, set }}
      name="included_topics"
      label="Only these topics change"
      placeholder=${patterns}
    />
    <${List} ...${{ state, set }} name="excluded_topics" label="These topics do not change" placeholder="none" />`;
}
