/** The brokers by rack: pressing one says what becomes of it; and what else each is. */
import { bound, Text } from "../fields.js";
import { listed, number, percent, size } from "../format.js";
import { html, useMemo } from "../lib.js";
import { replaced } from "../lists.js";
import { Chip, Chips, Pressing } from "./chip.js";
import { NumbersOfEach } from "./rows.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("./placement.js").Broker} Broker */
/** @typedef {import("./placement.js").Flag} Flag */
/** @typedef {(change: Partial<PlacementState>) => void} Change */

/** @type {{value: Flag, label: string, word: string}[]} */
const FLAGS = [
  { value: "draining", label: "drain it", word: "drains" },
  { value: "demoted", label: "demote it: it leads nothing", word: "demoted" },
  { value: "cordoned", label: "cordon it: it gets nothing more", word: "cordoned" },
  { value: "fenced", label: "count it as down", word: "down" },
];

/** The brokers that hold a replica now. @param {PlacementState["topics"]} topics */
export function holders(topics) {
  return new Set(topics.flatMap(({ placements }) => placements.flatMap(({ replicas }) => replicas)));
}

/** @param {{state: PlacementState, answer: import("./placement.js").PlacementAnswerData | undefined, set: Change}} props */
export function Brokers({ state, answer, set }) {
  const { brokers, pressing = "draining" } = state;
  const racks = [
    ...new Set([...brokers, ...(brokers.length > 0 ? [] : [{ rack_id: "" }])].map(({ rack_id }) => rack_id ?? "")),
  ].sort();
  const held = useMemo(() => holders(state.topics), [state.topics]);
  const { load, shown } = loadOf(state, answer);
  const most = brokers.reduce((top, broker) => Math.max(top, ...Object.values(load(broker))), Number.MIN_VALUE);
  const press = (/** @type {Broker} */ pressed) => {
    const goes = pressing === "draining" && !pressed.draining && !held.has(pressed.broker_id);
    const next = { ...pressed, [pressing]: pressed[pressing] ? undefined : true };
    set({ brokers: replaced(brokers, brokers.indexOf(pressed), goes ? null : next) });
  };
  const add = (/** @type {string} */ rack_id) => {
    const broker_id = Math.max(...brokers.map((broker) => broker.broker_id), ...held, 0) + 1;
    set({ brokers: [...brokers, { broker_id, ...(rack_id ? { rack_id } : {}) }] });
  };
  return html`<section>
    <h3>1 · Select brokers</h3>
    <${Pressing} noun="broker" pressing=${pressing} flags=${FLAGS} set=${set} />
    <${Chips} count=${brokers.length}>
      ${racks.map(
        (rack) =>
          html`<div class="rack">
            <h4>${rack ? `rack ${rack}` : "rack unknown"}</h4>
            ${brokers
              .filter(({ rack_id }) => (rack_id ?? "") === rack)
              .map(
                (broker) =>
                  html`<${Chip}
                    key=${broker.broker_id}
                    name="broker ${broker.broker_id}"
                    words=${wordsOf(broker, !held.has(broker.broker_id))}
                    leaves=${Boolean(broker.draining || broker.fenced)}
                    pressed=${Boolean(broker[pressing])}
                    ...${load(broker)}
                    ...${{ most, shown }}
                    press=${() => press(broker)}
                  />`,
              )}
            <button
              type="button"
              onClick=${() => add(rack)}
              aria-label="Add broker to ${rack ? `rack ${rack}` : "rack unknown"}"
            >
              Add broker
            </button>
          </div>`,
      )}
    <//>
    <${Fill} ...${{ state, held, set }} />
    <${Details} state=${state} set=${set} />
  </section>`;
}

/** Offers to fill brokers without replicas, which the fewest copies leave so. @param {{state: PlacementState, held: Set<number>, set: Change}} props */
function Fill({ state: { brokers, objective, destinations }, held, set }) {
  const leaves = (/** @type {Broker} */ { draining, fenced }) => draining || fenced;
  const empty = brokers
    .filter((broker) => !leaves(broker) && !broker.cordoned && !held.has(broker.broker_id))
    .map(({ broker_id }) => broker_id);
  const filled = objective === "even" && empty.every((id) => destinations?.includes(id) ?? true);
  if (empty.length === 0 || held.size === 0 || filled) return null;
  const fill = () => set({ objective: "even", destinations: brokers.some(leaves) ? null : empty });
  return html`<p>
    <button type="button" class="button" onClick=${fill}>
      Fill ${empty.length === 1 ? "broker" : "brokers"} ${listed(empty.map(String))}
    </button>
  </p>`;
}

/**
 * What a broker has before and after a plan: how full its disks are where all sizes are known, or else bytes where these are
 * evened out, or else replicas; without a plan the replicas that it has.
 * @param {PlacementState} state @param {import("./placement.js").PlacementAnswerData | undefined} answer
 * @returns {{load: (broker: Broker) => {before: number, after: number}, shown: (value: number) => string}}
 */
function loadOf({ brokers, balance }, answer) {
  const { plan, check } = answer ?? {};
  if (!plan) {
    const has = new Map(check?.brokers.map((/** @type {any} */ { broker_id, replicas }) => [broker_id, replicas]));
    const load = (/** @type {Broker} */ { broker_id }) => ({
      before: has.get(broker_id) ?? 0,
      after: has.get(broker_id) ?? 0,
    });
    return { load, shown: number };
  }
  const ids = plan?.after.broker_load.broker_ids ?? [];
  const place = new Map(ids.map((/** @type {number} */ id, /** @type {number} */ i) => [id, i]));
  const at = (/** @type {number[] | undefined} */ list, /** @type {Broker} */ { broker_id }) =>
    list?.[place.get(broker_id) ?? -1] ?? 0;
  const of = (/** @type {string} */ name, /** @type {string} */ sums) => (/** @type {Broker} */ broker) => ({
    before: at(plan?.before.broker_load[name]?.[sums], broker),
    after: at(plan?.after.broker_load[name]?.[sums], broker),
  });
  const bytes = of("bytes", "totals");
  if (plan?.after.broker_load.bytes && brokers.every(({ capacity_bytes }) => (capacity_bytes ?? 0) > 0))
    return { load: (broker) => fullness(broker, bytes(broker)), shown: percent };
  if (balance === "bytes") return { load: bytes, shown: size };
  return { load: of("replicas", "counts"), shown: number };
}

/** The share of its disks that a broker uses, with what is not of these topics. @param {Broker} broker @param {{before: number, after: number}} bytes */
export function fullness({ capacity_bytes, used_bytes }, { before, after }) {
  const used = Math.max(used_bytes ?? 0, before);
  return { before: used / Number(capacity_bytes), after: (used - before + after) / Number(capacity_bytes) };
}

/** What is to become of a broker, in words. @param {Broker} broker @param {boolean} empty */
function wordsOf(broker, empty) {
  const words = FLAGS.filter(({ value }) => broker[value]).map(({ word }) => word);
  if (empty) words.push("new");
  if (typeof broker.replaces === "number") words.push(`replaces ${broker.replaces}`);
  return words;
}

/** @type {{name: "capacity_bytes" | "used_bytes" | "cpu_usage" | "weight" | "max_replicas" | "replaces", label: string, scale?: number}[]} */
const COLUMNS = [
  { name: "capacity_bytes", label: "disks, GB", scale: 1e9 },
  { name: "used_bytes", label: "used now, GB", scale: 1e9 },
  { name: "cpu_usage", label: "CPU now, cores" },
  { name: "weight", label: "share of the load" },
  { name: "max_replicas", label: "replicas at most" },
  { name: "replaces", label: "replaces broker" },
];

/** What brokers are. @param {{state: PlacementState, set: Change}} props */
function Details({ state: { brokers }, set }) {
  const row = (/** @type {Broker} */ broker, /** @type {number} */ i) => {
    const change = (/** @type {Partial<Broker>} */ part) =>
      set({ brokers: replaced(brokers, i, { ...broker, ...part }) });
    const field = bound(broker, change, `/brokers/${i}`);
    const name = `Broker ${broker.broker_id}`;
    const text = html`<${Text}
      bare
      ...${field("rack_id")}
      label="${name}: rack"
      placeholder="unknown"
      set=${(/** @type {string} */ rack_id) => change({ rack_id: rack_id || undefined })}
    />`;
    return { id: broker.broker_id, name, text, field };
  };
  return html`<${NumbersOfEach}
    summary="Racks, disks, weights and replacements"
    noun="broker"
    heads=${["broker", "rack"]}
    columns=${COLUMNS}
    items=${brokers}
    row=${row}
  />`;
}
