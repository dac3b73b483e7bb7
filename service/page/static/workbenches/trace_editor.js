/** The editor of a trace: the key, who writes it, its topic, and what is planned. */
import { usePartitioners } from "../catalogue.js";
import { bound, Numeric, Select, Text } from "../fields.js";
import { FORMATS } from "../key_formats.js";
import { html } from "../lib.js";

/** @typedef {import("./trace.js").TraceState} TraceState */

/** @param {{state: TraceState, set: (change: Partial<TraceState>) => void}} props */
export function TraceEditor({ state, set }) {
  const field = bound(state, set);
  return html`<div class="pair">
      <${Text} ...${field("key")} label="Record key" />
      <${Select}
        ...${field("key_format")}
        value=${state.key_format ?? "string"}
        label="Format of the key"
        choices=${FORMATS}
      />
    </div>
    <${Select} ...${field("partitioner")} label="Partitioner" choices=${usePartitioners()} />
    <div class="pair">
      <${Text} ...${field("topic_name")} label="Topic" placeholder="the only one" />
      <${Numeric} ...${field("partitions_count")} label="Its partitions" placeholder="as described" min=${1} />
    </div>
    <${Text} ...${field("group_id")} label="Group" placeholder="all that read the topic" />
    <h2>Planned</h2>
    <div class="pair">
      <${Numeric} ...${field("planned_partitions_count")} label="Partitions" placeholder="as now" min=${1} />
      <${Numeric} ...${field("planned_members_count")} label="Members" placeholder="as now" min=${1} />
    </div>`;
}
