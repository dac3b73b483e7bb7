/** What a plan evens out: one resource, several in an order, or several by weights; and the rates that some need. */
import { Numeric, Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { replaced, words } from "../lists.js";
import { listOf, textOf } from "./load.js";
import { More, useMore } from "./rows.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {(change: Partial<PlacementState>) => void} Set */

/** The last four need rates, and the last two what consumers read, too. */
const RESOURCES = [
  { value: "replicas", label: "replicas" },
  { value: "bytes", label: "bytes" },
  { value: "leaders", label: "leaders" },
  { value: "bytes_per_second", label: "bytes/s written" },
  { value: "leader_bytes_per_second", label: "bytes/s produced" },
  { value: "bytes_out_per_second", label: "bytes/s read" },
  { value: "cpu", label: "CPU" },
];
const BY_WEIGHT = "weights";
const CHOICES = [...RESOURCES, { value: BY_WEIGHT, label: "several, by weight" }];

/** @type {{name: "partition_bytes_per_second" | "partition_bytes_out_per_second", label: string}[]} */
const RATES = [
  { name: "partition_bytes_per_second", label: "Written to" },
  { name: "partition_bytes_out_per_second", label: "Read from" },
];

/** The resources of a balance in their order, and their weights if it has any. @param {any} balance @returns {{names: string[], weights: Record<string, number> | null}} */
function resourcesOf(balance) {
  if (Array.isArray(balance)) return { names: balance, weights: null };
  if (balance && typeof balance === "object") return { names: Object.keys(balance), weights: balance };
  return { names: [balance ?? RESOURCES[0].value], weights: null };
}

/** Whether the bytes of each partition are known, without which no duration is. @param {PlacementState["topics"]} topics */
export function hasSizes(topics) {
  return topics.every(({ partition_bytes }) => partition_bytes);
}

/** @param {{state: PlacementState, set: Set}} props */
export function Balance({ state, set }) {
  const { names, weights } = resourcesOf(state.balance);
  const [first, ...others] = names;
  const ordered = (/** @type {string[]} */ all) => set({ balance: all.length > 1 ? all : all[0] });
  const choose = (/** @type {string} */ value) =>
    value === BY_WEIGHT
      ? set({ balance: Object.fromEntries(names.map((name) => [name, 1])) })
      : ordered(weights ? [value] : [value, ...others]);
  const weigh = (/** @type {string} */ name, /** @type {number | null} */ weight) => {
    const { [name]: _, ...rest } = weights ?? {};
    const next = weight === null ? rest : { ...rest, [name]: weight };
    set({ balance: Object.keys(next).length > 0 ? next : undefined });
  };
  const count = html`<${Select}
    place="/balance"
    label="Resource to even out"
    value=${weights ? BY_WEIGHT : first}
    choices=${CHOICES}
    set=${choose}
  />`;
  if (weights)
    return html`${count}
      <div class="triple">
        ${RESOURCES.map(({ value: name, label }) => html`<${Numeric} place="/balance/${name}" label=${label} placeholder="0" value=${weights[name]} set=${(/** @type {number | null} */ weight) => weigh(name, weight)} />`)}
      </div>`;
  return html`<div class="pair">
    ${count}
    <${Text}
      place="/balance_further"
      label="And then, in this order"
      placeholder="nothing; or leaders, cpu"
      value=${others.join(", ")}
      set=${(/** @type {string} */ text) => ordered([first, ...(words(text) ?? [])])}
    />
  </div>`;
}

/** What producers write to each partition, and consumers read. @param {{state: PlacementState, set: Set}} props */
export function Rates({ state: { topics, balance }, set }) {
  const [shown, more] = useMore();
  const needed = resourcesOf(balance).names.some((name) => /second|cpu/.test(name));
  return html`<details open=${needed}>
    <summary>Bytes per second of each topic</summary>
    <p class="hint">One number applies to all partitions. A snapshot with --interval has the write rates.</p>
    ${topics.slice(0, shown).map((topic, i) => {
      const change = (/** @type {string} */ name, /** @type {string} */ text) => {
        const rates = listOf(text, topic.placements.length);
        set({ topics: replaced(topics, i, { ...topic, [name]: rates.length > 0 ? rates : undefined }) });
      };
      return html`<div class="pair">
        ${RATES.map(
          ({ name, label }) =>
            html`<${Text}
              place="/topics/${i}/${name}"
              label="${label} ${topic.topic_name}"
              placeholder="not known"
              value=${textOf(topic[name] ?? [])}
              set=${(/** @type {string} */ text) => change(name, text)}
            />`,
        )}
      </div>`;
    })}
    <${More} of=${topics.length} shown=${shown} more=${more} noun="topic" />
  </details>`;
}
