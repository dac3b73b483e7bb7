/** What is at risk in a cluster as it is, before anything is planned. */
import { DataTable } from "../figure.js";
import { html } from "../lib.js";

const FINDING = ["severity", "rule", "topic", "partitions", "brokers", "finding"];
const BROKER = ["broker", "rack", "replicas", "leads now", "preferred leader of"];

/** What is at risk, in sentences; beside a plan in one. @param {{answer: import("./placement.js").PlacementAnswerData}} props */
export function Check({ answer: { plan, check } }) {
  if (plan) return html`<p class="soft">${check.conclusion}</p>`;
  return html`<p class="verdict" role="status">${check.conclusion}</p>
    <ul class="effects">
      ${check.warnings.map((/** @type {string} */ warning) => html`<li>${warning}</li>`)}
    </ul>`;
}

/** The same by topic, and what each broker has. @param {{check: any}} props */
export function CheckTables({ check: { findings, brokers } }) {
  const named = (/** @type {any} */ { severity, rule, topic_name, partition_ids, broker_ids, detail }) => [
    ...[severity, rule, topic_name, partition_ids.join(", "), broker_ids.join(", "), detail],
  ];
  const has = (/** @type {any} */ { broker_id, rack_id, replicas, leaders, preferred_leaders }) => [
    ...[String(broker_id), rack_id ?? "unknown", replicas, leaders, preferred_leaders],
  ];
  return html`${findings.length > 0 && html`<${DataTable} caption="Findings" columns=${FINDING} rows=${findings.map(named)} />`}
    <details>
      <summary>Every broker</summary>
      <${DataTable} caption="Brokers" columns=${BROKER} rows=${brokers.map(has)} />
    </details>`;
}
