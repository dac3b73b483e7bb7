/** The editor of the load: what it is, and the numbers of each topic. */
import { Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { kindOf, listOf, textOf, withKind } from "./load.js";

/** @typedef {import("./groups.js").Topic} Topic */

const KINDS = [
  { value: "", label: "each counts one" },
  { value: "weights", label: "a weight, such as lag or bytes/s" },
  { value: "lag", label: "its lag, in records" },
];

/** @param {{topics: Topic[], set: (topics: Topic[]) => void}} props */
export function LoadKind({ topics, set }) {
  const kind = kindOf(topics);
  return html`<${Select}
    place="/load"
    label="Load of a partition"
    value=${kind}
    choices=${KINDS}
    hint=${kind && "Kafka's assignors count partitions; balanced evens out this load. One number applies to all partitions."}
    set=${(/** @type {import("./load.js").Kind} */ value) => set(withKind(topics, value))}
  />`;
}

/** The numbers of one topic; none where each partition counts one. @param {{place: string, topic: Topic, change: (part: Partial<Topic>) => void}} props */
export function LoadOfTopic({ place, topic, change }) {
  const { topic_name, partitions_count, partition_weights, lag } = topic;
  const list = (
    /** @type {string} */ label,
    /** @type {string} */ at,
    /** @type {import("./load.js").Entry[]} */ value,
    /** @type {(list: import("./load.js").Entry[]) => void} */ set,
  ) =>
    html`<${Text}
      place="${place}/${at}"
      label="${label} of ${topic_name}"
      value=${textOf(value)}
      set=${(/** @type {string} */ text) => set(listOf(text, partitions_count))}
    />`;
  if (partition_weights)
    return list("Weights", "partition_weights", partition_weights, (weights) => change({ partition_weights: weights }));
  if (!lag) return null;
  return html`${list("Committed offsets", "lag/committed_offsets", lag.committed_offsets, (committed_offsets) =>
    change({ lag: { ...lag, committed_offsets } }),
  )}
  ${list("End offsets", "lag/log_end_offsets", lag.log_end_offsets, (log_end_offsets) =>
    change({ lag: { ...lag, log_end_offsets } }),
  )}`;
}
