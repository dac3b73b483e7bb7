/** The rules of a placement: which topics may change, which brokers may have what, how full disks may be. */
import { bound, Checkbox, Lines, Numeric } from "../fields.js";
import { html } from "../lib.js";
import { words } from "../lists.js";
import { List, WhichTopics } from "./plan_fields.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("./placement.js").BrokerSet} BrokerSet */

/** Ids, and what is none as it is, for the service to name. @param {string} text @returns {any[] | null} */
const ids = (text) => words(text)?.map((word) => (/^-?\d+$/.test(word) ? Number(word) : word)) ?? null;

/** The rule of each line, which names topics before a colon; none: null. @template T @param {string} text @param {(topics: string, rest: string) => T} rule @returns {T[] | null} */
function ruled(text, rule) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const rules = lines.map((line) => {
    const [topics, rest = ""] = line.split(/:(.*)/);
    return rule(topics.trim(), rest);
  });
  return rules.length > 0 ? rules : null;
}

/** A line for each set, such as `audit*: 1, 2`. @param {string} text @returns {BrokerSet[] | null} */
function sets(text) {
  return ruled(text, (topics, brokers) => ({ topics, broker_ids: ids(brokers) ?? [] }));
}

/** A line for each rule, such as `orders*: 1`, or `audit: 2 on 1, 4`. @param {string} text @returns {import("./placement.js").TopicLeaders[] | null} */
function leaders(text) {
  return ruled(text, (topics, rest) => {
    const [least, brokers = ""] = rest.split(/ on (.*)/);
    const on = ids(brokers);
    return { topics, leaders: ids(least)?.[0] ?? 1, ...(on ? { broker_ids: on } : {}) };
  });
}

/** @param {{state: PlacementState, set: (change: Partial<PlacementState>) => void}} props */
export function Rules({ state, set }) {
  const field = bound(state, set);
  const groups = (state.broker_sets ?? []).map(({ topics, broker_ids }) => `${topics}: ${broker_ids.join(", ")}`);
  const least = (state.min_topic_leaders ?? []).map(
    (rule) => `${rule.topics}: ${rule.leaders ?? 1}${rule.broker_ids ? ` on ${rule.broker_ids.join(", ")}` : ""}`,
  );
  return html`<details>
    <summary>Topics, brokers, disks and copies of each partition</summary>
    <${WhichTopics} state=${state} set=${set} />
    <${List}
      ...${{ state, set }}
      name="destinations"
      label="Only these brokers get replicas"
      placeholder="all, or ids: 7, 8"
      read=${ids}
    />
    <${Lines}
      place="/broker_sets"
      label="Brokers of some topics, one set per line"
      placeholder="audit*: 1, 2, 3"
      value=${groups.join("\n")}
      set=${(/** @type {string} */ text) => set({ broker_sets: sets(text) })}
    />
    <${Lines}
      place="/min_topic_leaders"
      label="Fewest leaders of a topic on each broker, one rule per line"
      placeholder="orders*: 1"
      value=${least.join("\n")}
      set=${(/** @type {string} */ text) => set({ min_topic_leaders: leaders(text) })}
    />
    <${Checkbox}
      label="New brokers may replace missing ones"
      checked=${state.infer_replaces ?? false}
      set=${(/** @type {boolean} */ infer_replaces) => set({ infer_replaces: infer_replaces || undefined })}
    />
    <div class="pair">
      <${Numeric} ...${field("replication_factor")} label="Replication factor" placeholder="as it is" />
      <${Numeric} ...${field("min_insync_replicas")} label="min.insync.replicas" placeholder="not checked" />
      <${Numeric} ...${field("disk_threshold")} label="Disks at most, % full" placeholder="100" scale=${0.01} />
      <${Numeric} ...${field("price_per_gb")} label="Price of a GB across zones" placeholder="not known" />
    </div>
  </details>`;
}
