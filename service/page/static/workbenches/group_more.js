/** What else may be said of a group: the racks of its partitions, what traffic across zones costs, and the release of Kafka. */
import { bound, Numeric, Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { replaced } from "../lists.js";
import { More, useMore } from "./rows.js";

/** @typedef {import("./groups.js").GroupsState} GroupsState */

/** Racks as a text, the shortest part that repeats: `a b, b c, c a`. @param {string[][]} racks of each partition */
function racksText(racks) {
  const parts = racks.map((row) => row.join(" "));
  const length = parts.findIndex((_, i) => i > 0 && parts.every((part, j) => part === parts[j % i]));
  return parts.slice(0, length > 0 ? length : undefined).join(", ");
}

/** The racks of each partition, which repeat to the last. @param {string} text @param {number} count @returns {string[][] | undefined} */
function racksIn(text, count) {
  const parts = text.split(",").map((part) => part.split(/\s+/).filter(Boolean));
  return parts.flat().length > 0 ? Array.from({ length: count }, (_, i) => parts[i % parts.length]) : undefined;
}

/** @param {{state: GroupsState, versions: string[], set: (change: Partial<GroupsState>) => void}} props versions: those that the assignor has */
export function MoreOfGroup({ state, versions, set }) {
  const { topics } = state;
  const [shown, more] = useMore();
  const field = bound(state, set);
  return html`<details>
    <summary>Racks of partitions, price, Kafka release</summary>
    <p class="hint">The racks of each partition's replicas; a list that is shorter than the topic repeats.</p>
    ${topics.slice(0, shown).map(
      (topic, i) =>
        html`<${Text}
          place="/topics/${i}/partition_racks"
          label="Racks of ${topic.topic_name}"
          placeholder="not known; or a b, b c, c a"
          value=${racksText(topic.partition_racks ?? [])}
          set=${(/** @type {string} */ text) => {
            const partition_racks = racksIn(text, topic.partitions_count);
            set({ topics: replaced(topics, i, { ...topic, partition_racks }) });
          }}
        />`,
    )}
    <${More} of=${topics.length} shown=${shown} more=${more} noun="topic" />
    <div class="pair">
      <${Numeric} ...${field("price_per_gb")} label="Price of a GB across zones" placeholder="for weights in bytes/s" />
      <${Select}
        ...${field("kafka_version")}
        label="Kafka release"
        choices=${["", ...versions].map((value) => ({ value, label: value || "the newest" }))}
      />
    </div>
  </details>`;
}
