/** The answer about a placement, in three steps: select brokers, see the plan, review what it does. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { download } from "../files.js";
import { count, duration, number, size } from "../format.js";
import { html } from "../lib.js";
import { frontier as frontierPicture } from "../pictures/frontier.js";
import { MOST_ROWS, placement } from "../pictures/placement.js";
import { Brokers } from "./brokers.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("./placement.js").PlacementAnswerData} PlacementAnswerData */

/** @param {{state: PlacementState, answer: PlacementAnswerData, set: (change: Partial<PlacementState>) => void}} props */
export function PlacementAnswer({ state, answer: { plan, frontier, findings }, set }) {
  const { moves, batches } = plan;
  const figures = [
    {
      label: "Replicas copied",
      value: number(moves.replicas),
      note: moves.gap === 0 ? "proven the fewest for this goal" : `at least ${number(moves.lower_bound)}`,
    },
    { label: "Bytes copied", value: size(moves.bytes), note: moves.bytes === null ? "sizes are not known" : "" },
    {
      label: "Duration",
      value: duration(plan.duration_seconds),
      note: count(batches.length, "batch", "batches"),
    },
    { label: "Leaders that change", value: number(moves.leaders) },
  ];
  return html`<p class="verdict" role="status">${plan.effects[0] ?? "Nothing moves."}</p>
    <${Figures} figures=${figures} />
    <${Brokers} state=${state} plan=${plan} set=${set} />
    <${Matrix} state=${state} plan=${plan} />
    ${frontier.length > 1 && html`<${Frontier} frontier=${frontier} copies=${moves.replicas} />`}
    <${Review} plan=${plan} />
    ${findings && html`<${Findings} findings=${findings} />`}`;
}

/** @param {PlacementState} state @param {any} plan @returns {import("../pictures/placement.js").Placed} */
function placed({ brokers, topics }, plan) {
  const order = [...brokers].sort(
    (a, b) => (a.rack_id ?? "").localeCompare(b.rack_id ?? "") || a.broker_id - b.broker_id,
  );
  const column = new Map(order.map(({ broker_id }, i) => [broker_id, i]));
  const moved = new Map(
    plan.reassignment.partitions.map((/** @type {any} */ { topic, partition, replicas }) => [
      `${topic}\n${partition}`,
      replicas,
    ]),
  );
  const total = topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const single = total <= MOST_ROWS;
  const rows = topics.flatMap(({ topic_name, placements }) => {
    const each = placements.map(({ partition_id, replicas }) => ({
      label: `${topic_name}-${partition_id}`,
      before: counted(replicas, column, single),
      after: counted(moved.get(`${topic_name}\n${partition_id}`) ?? replicas, column, single),
    }));
    if (single) return each;
    const sum = (/** @type {"before" | "after"} */ side) =>
      order.map((_, i) => each.reduce((all, row) => all + row[side][i], 0));
    return [{ label: topic_name, before: sum("before"), after: sum("after") }];
  });
  const bars = order.map(({ broker_id, rack_id, change }) => ({
    id: broker_id,
    rack: rack_id ?? "",
    change: { drains: "leaves", joins: "joins", "": "" }[change ?? ""],
  }));
  return { brokers: bars, rows, single };
}

/** @param {number[]} replicas @param {Map<number, number>} column @param {boolean} leads whether the leader counts as 2 */
function counted(replicas, column, leads) {
  const cells = new Array(column.size).fill(0);
  replicas.forEach((id, place) => {
    const i = column.get(id);
    if (i !== undefined) cells[i] = leads && place === 0 ? 2 : 1;
  });
  return cells;
}

/** @param {{state: PlacementState, plan: any}} props */
function Matrix({ state, plan }) {
  const data = placed(state, plan);
  const shown = { ...data, rows: data.rows.slice(0, MOST_ROWS) };
  const rows = data.rows
    .flatMap((row) => data.brokers.map(({ id }, i) => [row.label, id, row.before[i], row.after[i]]))
    .filter(([, , before, after]) => before || after);
  const summary = data.single
    ? "Each row is a partition, each column a broker. A dot marks the preferred leader after the plan."
    : `Replicas of each topic and broker after the plan${data.rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${number(data.rows.length)} topics` : ""}.`;
  const legend =
    data.single &&
    html`<${Legend}
      marks=${[
        ["kept", "stays"],
        ["taken", "arrives"],
        ["given", "leaves"],
      ]}
    />`;
  return html`<${Figure}
    title="2 · Plan: who holds what"
    summary=${summary}
    legend=${legend}
    table=${{ columns: [data.single ? "partition" : "topic", "broker", "before", "after"], rows }}
    picture=${(/** @type {number} */ width) => placement(shown, width)}
  />`;
}

/** @param {{frontier: any[], copies: number}} props */
function Frontier({ frontier, copies }) {
  const points = frontier.map(({ copies: price, spread, stddev, proven }) => ({
    price,
    goal: spread ?? stddev,
    proven,
  }));
  return html`<${Figure}
    title="What further copies buy"
    summary="Copies against the spread of replicas over brokers: the largest load less the smallest. The large dot is the plan."
    table=${{ columns: ["copies", "spread", "proven"], rows: points.map(({ price, goal, proven }) => [price, goal, proven ? "yes" : "no"]) }}
    picture=${(/** @type {number} */ width) => frontierPicture({ points, chosen: copies, price: "replicas copied", goal: "spread of replicas" }, width)}
  />`;
}

/** @param {string} name @param {any} value */
const saved = (name, value) => () => download(name, JSON.stringify(value, null, 1), "application/json");

/** @param {{plan: any}} props */
function Review({ plan }) {
  const { effects, warnings, before, after, batches, reasons } = plan;
  const racks = before.rack_load.rack_ids.map((/** @type {string | null} */ rack, /** @type {number} */ i) => [
    rack ?? "none",
    before.rack_load.replicas.counts[i],
    after.rack_load.replicas.counts[i],
    before.rack_load.leaders.counts[i],
    after.rack_load.leaders.counts[i],
    ...(after.rack_load.bytes ? [size(before.rack_load.bytes.totals[i]), size(after.rack_load.bytes.totals[i])] : []),
  ]);
  return html`<section>
    <h3>3 · Review</h3>
    <ul class="effects">
      ${[...effects, ...warnings].map((effect) => html`<li>${effect}</li>`)}
    </ul>
    <h4>Racks</h4>
    <${DataTable}
      caption="Racks"
      rows=${racks}
      columns=${["rack", "replicas", "then", "leaders", "then", ...(after.rack_load.bytes ? ["bytes", "then"] : [])]}
    />
    <h4>Batches</h4>
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">batch</th>
            <th scope="col" class="number">copies</th>
            <th scope="col" class="number">bytes</th>
            <th scope="col" class="number">duration</th>
            <th scope="col" class="number">files</th>
          </tr>
        </thead>
        <tbody>
          ${batches.map(
            (/** @type {any} */ batch, /** @type {number} */ i) =>
              html`<tr>
                <td>${i + 1}</td>
                <td class="number">${number(batch.moves)}</td>
                <td class="number">${size(batch.bytes)}</td>
                <td class="number">${duration(batch.duration_seconds)}</td>
                <td class="number">
                  <span class="downloads">
                    <button type="button" onClick=${saved(`reassignment-${i + 1}.json`, batch.reassignment)}>
                      reassignment-${i + 1}.json
                    </button>
                    <button type="button" onClick=${saved(`rollback-${i + 1}.json`, batch.rollback)}>
                      rollback-${i + 1}.json
                    </button>
                  </span>
                </td>
              </tr>`,
          )}
          <tr class="total">
            <td>all</td>
            <td class="number">${number(plan.moves.replicas)}</td>
            <td class="number">${size(plan.moves.bytes)}</td>
            <td class="number">${duration(plan.duration_seconds)}</td>
            <td class="number">
              <span class="downloads">
                <button type="button" onClick=${saved("reassignment.json", plan.reassignment)}>
                  reassignment.json
                </button>
                <button type="button" onClick=${saved("rollback.json", plan.rollback)}>rollback.json</button>
              </span>
            </td>
          </tr>
        </tbody>
      </table>
    </div>
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

/** @param {{findings: any[]}} props */
function Findings({ findings }) {
  return html`<section>
    <h3>What is wrong with the reassignment</h3>
    ${
      findings.length === 0
        ? html`<p>Nothing was found.</p>`
        : html`<${DataTable}
            caption="Findings"
            columns=${["severity", "rule", "where", "what"]}
            rows=${findings.map(({ severity, rule, pointer, detail }) => [severity, rule, pointer, detail])}
          />`
    }
  </section>`;
}
