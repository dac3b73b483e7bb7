/** The editor of disks: the goal, the limits, and what is on which disk. */
import { bound, Numeric } from "../fields.js";
import { count } from "../format.js";
import { html } from "../lib.js";
import { Limits, Objective, WhichTopics } from "./plan_fields.js";

/** @typedef {import("./disks.js").DisksState} DisksState */
/** @typedef {(change: Partial<DisksState>) => void} Set */

/** Those of a batch. */
const LIMITS = ["moves_per_log_dir", "bytes_in_flight", "duration_seconds", "throttle_utilization", "batch_seconds"];

/** @param {{state: DisksState, set: Set}} props */
export function DisksEditor({ state, set }) {
  return html`<${Objective} state=${state} set=${set} />
    <${Numeric}
      ...${bound(state, set)("disk_threshold")}
      label="Disks at most, % full"
      placeholder="100"
      scale=${0.01}
    />
    <${Limits} state=${state} set=${set} first=${["throttle_bytes_per_second", "moves_per_broker"]} further=${LIMITS} />
    <details>
      <summary>Topics that move</summary>
      <${WhichTopics} state=${state} set=${set} />
    </details>
    <${Disks} state=${state} />`;
}

/** What is on the disks. @param {{state: DisksState}} props */
function Disks({ state: { topics, brokers } }) {
  const dirs = brokers.flatMap(({ log_dirs }) => log_dirs);
  const replicas = dirs.flatMap(({ replicas: rows }) => rows);
  const total = replicas.reduce((sum, { partition_ids }) => sum + partition_ids.length, 0);
  const placed = new Set(topics.map(({ topic_name }) => topic_name));
  const unknown = [...new Set(replicas.map(({ topic_name }) => topic_name).filter((name) => !placed.has(name)))];
  const summary = `${count(total, "replica")} in ${count(dirs.length, "log directory", "log directories")} of ${count(brokers.length, "broker")}`;
  const missing = `${count(unknown.length, "topic stays", "topics stay")} in place, as kafka-topics --describe was not pasted for ${unknown.length === 1 ? "it" : "them"}.`;
  return html`<h2>Current disks</h2>
    <p class="hint">${summary}</p>
    ${unknown.length > 0 && html`<p class="hint">${missing}</p>`}`;
}
