/** The answer about disks: how full each is before and after, what moves, and the files. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { number, percent, plain, ratio, size } from "../format.js";
import { html, useMemo } from "../lib.js";
import { MOST_BARS, bars } from "../pictures/loads.js";
import { Batches, atLeast, durationOf } from "./batches.js";
import { diskLoads, fullness, sharesKnown } from "./disk_loads.js";

/** @typedef {import("./disks.js").DisksState} DisksState */
/** @typedef {import("./disk_loads.js").Disk} Disk */

/** @param {{state: DisksState, answer: any}} props */
export function DisksAnswer({ state, answer: plan }) {
  const disks = useMemo(() => diskLoads(state, plan), [plan]);
  const { conclusion, effects, warnings, reasons } = plan;
  return html`<p class="verdict" role="status">${plain(conclusion)}</p>
    <${Figures} figures=${figures(plan, disks)} />
    <${Fullness} state=${state} disks=${disks} />
    <section>
      <h3>3 · Review</h3>
      <ul class="effects">
        ${[...effects.map(plain), ...warnings].map((effect) => html`<li>${effect}</li>`)}
      </ul>
      <${Batches} plan=${plan} />
      <details>
        <summary>Every broker</summary>
        <${Brokers} of=${plan.brokers} />
      </details>
      <details>
        <summary>Every move and its reason</summary>
        <${DataTable}
          caption="Moves"
          columns=${["topic", "partition", "broker", "from", "to", "reason"]}
          rows=${reasons.map((/** @type {any} */ { topic_name, partition_id, broker_id, from, to, reason }) => [topic_name, String(partition_id), String(broker_id), from, to, reason])}
        />
      </details>
    </section>`;
}

/** @param {any} plan @param {Disk[]} disks */
function figures(plan, disks) {
  const { moves, throttle_needed_bytes_per_second: needed } = plan;
  const shares = sharesKnown(disks);
  const shown = shares ? percent : size;
  const fullest = (/** @type {"before" | "after"} */ side) =>
    shown(disks.reduce((most, disk) => Math.max(most, fullness(disk, shares)[side]), 0));
  return [
    {
      label: "Bytes copied",
      value: size(moves.bytes),
      note: `lower bound: ${size(moves.lower_bound)}`,
    },
    { label: "Replicas that move", value: number(moves.replicas) },
    { label: "Fullest disk", value: fullest("after"), note: `before: ${fullest("before")}` },
    durationOf(plan),
    needed && { label: "Throttle needed", value: `${atLeast(plan)}${size(needed)}/s`, note: "for all within the time" },
  ].filter(Boolean);
}

/** A path by its end, which tells disks apart. @param {number} broker @param {string} path */
function labelOf(broker, path) {
  const room = 20 - String(broker).length;
  return `${broker} ${path.length <= room ? path : `…${path.slice(1 - room)}`}`;
}

/** @param {{state: DisksState, disks: Disk[]}} props */
function Fullness({ state, disks }) {
  const shares = sharesKnown(disks);
  const shown = shares ? percent : size;
  const change = (/** @type {Disk} */ { before, after }) => Math.abs(after - before);
  const most = new Set([...disks].sort((a, b) => change(b) - change(a)).slice(0, MOST_BARS));
  const moving = disks.some((disk) => change(disk) > 0);
  const drawn =
    disks.length <= MOST_BARS ? disks : disks.filter((disk) => most.has(disk) && !(moving && change(disk) === 0));
  const data = drawn.map((disk) => ({
    id: labelOf(disk.broker_id, disk.path),
    change: disk.draining ? "leaves" : "",
    ...fullness(disk, shares),
  }));
  const threshold = shares ? (state.disk_threshold ?? null) : null;
  const part =
    drawn.length < disks.length ? ` Of ${number(disks.length)} disks, the ${drawn.length} that change most.` : "";
  const told = shares ? "The share of each disk that is used" : "The bytes on each disk";
  return html`<${Figure}
    title="2 · Plan: how full the disks get"
    summary="${told}, by broker and log directory.${part}${threshold === null ? "" : ` The dashed line is the threshold.`}"
    legend=${html`<${Legend}
      marks=${[
        ["kept", "before and after"],
        ["taken", "more than before"],
        ["given", "less than before"],
      ]}
    />`}
    table=${{
      columns: ["broker", "log directory", "size", "before", "after"],
      rows: disks.map(({ broker_id, path, capacity, before, after }) => [
        String(broker_id),
        path,
        size(capacity),
        size(before),
        size(after),
      ]),
    }}
    picture=${(/** @type {number} */ width) => bars(data, width, shown, threshold === null ? undefined : { value: threshold, label: "at most" })}
  />`;
}

/** @param {{of: any}} props columns of the answer */
function Brokers({ of: { broker_ids, bytes, lower_bounds, skews_before, skews_after, evenness_gaps } }) {
  return html`<${DataTable}
    caption="Brokers"
    columns=${["broker", "copied", "at least", "fullest ÷ mean", "then", "further from even than the best"]}
    rows=${broker_ids.map((/** @type {number} */ id, /** @type {number} */ i) => [
      String(id),
      size(bytes[i]),
      size(lower_bounds[i]),
      ratio(skews_before[i]),
      ratio(skews_after[i]),
      evenness_gaps[i] === null ? null : percent(evenness_gaps[i]),
    ])}
  />`;
}
