/** What a plan does to racks and brokers, and the files to execute it with. */
import { DataTable } from "../figure.js";
import { number, percent, plain, size } from "../format.js";
import { html } from "../lib.js";
import { Batches } from "./batches.js";
import { fullness } from "./brokers.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */

/** @param {{state: PlacementState, plan: any}} props */
export function Review({ state, plan }) {
  const { effects, warnings, reasons } = plan;
  return html`<section>
    <h3>3 · Review</h3>
    <ul class="effects">
      ${[...effects, ...warnings].map((effect) => html`<li>${plain(effect)}</li>`)}
    </ul>
    <${Racks} state=${state} plan=${plan} />
    <${Batches} plan=${plan} />
    <details>
      <summary>Every broker</summary>
      <${Loads}
        caption="Brokers"
        name="broker"
        ids=${plan.after.broker_load.broker_ids}
        kind="broker_load"
        plan=${plan}
        brokers=${state.brokers}
      />
    </details>
    <details>
      <summary>Every move and its reason</summary>
      <${DataTable}
        caption="Moves"
        columns=${["topic", "partition", "from", "to", "reason"]}
        rows=${reasons.map((/** @type {any} */ { topic_name, partition_id, from, to, reason }) => [topic_name, String(partition_id), from === null ? null : String(from), to === null ? null : String(to), reason])}
      />
    </details>
  </section>`;
}

/** @param {{state: PlacementState, plan: any}} props */
function Racks({ state, plan }) {
  const rackOf = new Map(state.brokers.map(({ broker_id, rack_id }) => [broker_id, rack_id ?? null]));
  const ids = plan.after.rack_load.rack_ids;
  const place = new Map(ids.map((/** @type {string | null} */ rack, /** @type {number} */ i) => [rack, i]));
  const copied = ["to", "from"].map((end) => {
    const counts = new Array(ids.length).fill(0);
    for (const move of plan.reasons) {
      if (move[end] !== null && move.reason !== "leader") counts[place.get(rackOf.get(move[end]) ?? null)] += 1;
    }
    return counts;
  });
  return html`<h4>Racks</h4>
    <${Loads} caption="Racks" name="rack" ids=${ids} kind="rack_load" plan=${plan} copied=${copied} />`;
}

/** What a figure is before and after, if it changes. @template {string | number} T @param {T} before @param {T} after */
function become(before, after) {
  const [from, to] = [before, after].map((value) => (typeof value === "number" ? number(value) : value));
  return before === after ? after : `${from} → ${to}`;
}

/**
 * A row a rack or broker, with its figures before and after.
 * @param {object} props
 * @param {string} props.caption @param {string} props.name @param {(string | number | null)[]} props.ids
 * @param {"rack_load" | "broker_load"} props.kind @param {any} props.plan
 * @param {number[][]} [props.copied] replicas that arrive and leave @param {PlacementState["brokers"]} [props.brokers]
 */
function Loads({ caption, name, ids, kind, plan, copied = [], brokers = [] }) {
  const [before, after] = [plan.before[kind], plan.after[kind]];
  const sized = after.bytes
    ? new Map(brokers.filter(({ capacity_bytes }) => capacity_bytes).map((broker) => [broker.broker_id, broker]))
    : new Map();
  const full = (/** @type {any} */ id, /** @type {number} */ i) => {
    if (!sized.has(id)) return null;
    const shares = fullness(sized.get(id), { before: before.bytes.totals[i], after: after.bytes.totals[i] });
    return become(percent(shares.before), percent(shares.after));
  };
  const traffic = kind === "broker_load" ? plan.traffic : null;
  const columns = [
    ...[name, "replicas", ...(copied.length > 0 ? ["arrive", "leave"] : []), "preferred leaders"],
    ...(after.current_leaders ? ["leads"] : []),
    ...(after.bytes ? ["bytes"] : []),
    ...(sized.size > 0 ? ["disks used"] : []),
    ...(traffic ? ["received", "sent"] : []),
  ];
  const rows = ids.map((id, i) => [
    id === null ? "unknown" : String(id),
    become(before.replicas.counts[i], after.replicas.counts[i]),
    ...copied.map((counts) => counts[i]),
    become(before.leaders.counts[i], after.leaders.counts[i]),
    ...(after.current_leaders ? [become(before.current_leaders[i], after.current_leaders[i])] : []),
    ...(after.bytes ? [become(size(before.bytes.totals[i]), size(after.bytes.totals[i]))] : []),
    ...(sized.size > 0 ? [full(id, i)] : []),
    ...(traffic ? [size(traffic.bytes_in[i]), size(traffic.bytes_out[i])] : []),
  ]);
  return html`<${DataTable} ...${{ caption, columns, rows }} />`;
}
