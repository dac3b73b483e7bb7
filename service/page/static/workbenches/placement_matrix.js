/** Who holds what before and after a plan: partitions, or topics where partitions are many. */
import { Select } from "../fields.js";
import { Figure, Legend } from "../figure.js";
import { listed, number } from "../format.js";
import { html, useMemo } from "../lib.js";
import { MOST_ROWS, placement } from "../pictures/placement.js";
import { holders } from "./brokers.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("../pictures/placement.js").Row} Row */

const SIDES = [
  { value: "both", label: "before and after" },
  { value: "before", label: "before" },
  { value: "after", label: "after" },
];

/** The brokers by rack, those last that only placements mention. @param {PlacementState} state @returns {import("../pictures/placement.js").Column[]} */
function columns({ brokers, topics }) {
  const held = holders(topics);
  const order = [...brokers].sort(
    (a, b) => (a.rack_id ?? "").localeCompare(b.rack_id ?? "") || a.broker_id - b.broker_id,
  );
  const replaced = new Set(brokers.map(({ replaces }) => replaces));
  const listed = order.map(({ broker_id, rack_id, draining, fenced }) => ({
    id: broker_id,
    rack: rack_id ? `rack ${rack_id}` : "rack unknown",
    change: draining || fenced || replaced.has(broker_id) ? "leaves" : held.has(broker_id) ? "" : "joins",
  }));
  const known = new Set(brokers.map(({ broker_id }) => broker_id));
  const gone = [...held].filter((id) => !known.has(id)).sort((a, b) => a - b);
  return [...listed, ...gone.map((id) => ({ id, rack: "gone", change: "leaves" }))];
}

/** @param {PlacementState} state @param {any} plan null: all stays @returns {import("../pictures/placement.js").Placed} */
function placed(state, plan) {
  const brokers = columns(state);
  const column = new Map(brokers.map(({ id }, i) => [id, i]));
  const moved = new Map(
    (plan?.reassignment.partitions ?? []).map((/** @type {any} */ { topic, partition, replicas }) => [
      `${topic}\n${partition}`,
      replicas,
    ]),
  );
  const total = state.topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const single = total <= MOST_ROWS;
  const empty = (/** @type {string} */ label) => ({
    label,
    before: new Array(brokers.length).fill(0),
    after: new Array(brokers.length).fill(0),
    changed: 0,
  });
  const rows = state.topics.flatMap(({ topic_name, placements }) => {
    const topic = empty(topic_name);
    return placements.flatMap(({ partition_id, replicas }, i) => {
      const then = moved.get(`${topic_name}\n${partition_id}`);
      const row = single ? empty(`${topic_name}-${partition_id}`) : topic;
      add(row.before, replicas, column, single);
      add(row.after, then ?? replicas, column, single);
      if (then) row.changed += 1;
      return single || i === placements.length - 1 ? [row] : [];
    });
  });
  return { brokers, rows: single ? rows : rows.sort((a, b) => b.changed - a.changed), single };
}

/** Brokers of which each is a column; of more, those of which most changes. */
const MOST_BROKERS = 60;

/** The columns and rows that are drawn. @param {import("../pictures/placement.js").Placed} placed @returns {import("../pictures/placement.js").Placed} */
function drawn({ brokers, rows: all, single }) {
  const rows = all.slice(0, MOST_ROWS);
  if (brokers.length <= MOST_BROKERS) return { brokers, rows, single };
  const changes = brokers.map((_, i) =>
    all.reduce((sum, { before, after }) => sum + Math.abs(after[i] - before[i]), 0),
  );
  const columns = brokers
    .map((_, i) => i)
    .sort((a, b) => changes[b] - changes[a] || a - b)
    .slice(0, MOST_BROKERS)
    .sort((a, b) => a - b);
  const of = (/** @type {number[]} */ cells) => columns.map((i) => cells[i]);
  return {
    brokers: columns.map((i) => brokers[i]),
    rows: rows.map(({ label, before, after }) => ({ label, before: of(before), after: of(after) })),
    single,
  };
}

/** @param {number[]} cells @param {number[]} replicas @param {Map<number, number>} column @param {boolean} leads whether the leader counts as 2 */
function add(cells, replicas, column, leads) {
  replicas.forEach((id, place) => {
    const i = column.get(id);
    if (i !== undefined) cells[i] += leads && place === 0 ? 2 : 1;
  });
}

/** @param {{state: PlacementState, plan: any, set: (change: Partial<PlacementState>) => void}} props */
export function Matrix({ state, plan, set }) {
  const data = useMemo(() => placed(state, plan), [state.topics, state.brokers, plan]);
  const side = plan ? (state.shown ?? "both") : "before";
  const picture = { ...useMemo(() => drawn(data), [data]), side };
  const rows = () =>
    data.rows.flatMap(({ label, before, after }) =>
      data.brokers.flatMap(({ id }, i) => (before[i] || after[i] ? [[label, String(id), before[i], after[i]]] : [])),
    );
  const parts = [
    data.rows.length > MOST_ROWS &&
      `of ${number(data.rows.length)} topics the ${MOST_ROWS} in which most partitions change`,
    data.brokers.length > MOST_BROKERS &&
      `of ${number(data.brokers.length)} brokers the ${MOST_BROKERS} of which most replicas change`,
  ].filter((part) => part !== false);
  const many = parts.length > 0 ? `; ${listed(parts)}` : "";
  const summary = data.single
    ? `Each row is a partition, each column a broker${many}. A dot marks the preferred leader.`
    : `Replicas of each topic and broker${many}. The stronger the colour, the more.`;
  const marks = /** @type {[string, string][]} */ (
    data.single
      ? [
          ["kept", "stays"],
          ["taken", "arrives"],
          ["given", "leaves"],
        ]
      : [
          ["taken", "more than before"],
          ["given", "fewer than before"],
        ]
  );
  return html`<${Figure}
    title=${plan ? "2 · Plan: who holds what" : "Who holds what"}
    summary=${summary}
    legend=${
      plan &&
      html`<div class="inline">
        <${Select}
          place="/shown"
          label="Show the placement"
          value=${side}
          choices=${SIDES}
          set=${(/** @type {any} */ shown) => set({ shown })}
        />
        ${side === "both" && html`<${Legend} marks=${marks} />`}
      </div>`
    }
    table=${{ columns: [data.single ? "partition" : "topic", "broker", "before", "after"], rows: useMemo(rows, [data]) }}
    picture=${(/** @type {number} */ width) => placement(picture, width)}
  />`;
}
