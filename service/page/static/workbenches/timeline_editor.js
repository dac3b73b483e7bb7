/** The editor of a timeline: the protocols to compare, the group, its events and what clients and broker wait for. */
import { useWays, wayFrom, wayOf } from "../catalogue.js";
import { Numeric, Select } from "../fields.js";
import { count, listed } from "../format.js";
import { html } from "../lib.js";
import { replaced } from "../lists.js";
import { GroupSource } from "./group_source.js";
import { Events } from "./timeline_events.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {(change: Partial<TimelineState>) => void} Set */

/** Protocols that are compared at most. */
const MOST_WAYS = 8;

/** @param {{state: TimelineState, set: Set}} props */
export function TimelineEditor({ state, set }) {
  const { topics, members } = state;
  const read = topics.map(
    ({ topic_name, partitions_count }) => `${topic_name} with ${count(partitions_count, "partition")}`,
  );
  const names = read.length > 3 ? count(topics.length, "topic") : listed(read);
  const summary = `${count(members.length, "member")}; ${names}. Change it in Groups, or in the request as JSON.`;
  return html`<${Ways} state=${state} set=${set} />
    <h2>Group</h2>
    <p class="hint">${summary}</p>
    <${GroupSource}
      take=${(/** @type {import("../descriptions.js").Group} */ group) =>
        set({
          topics: group.topics.map(({ lag: _, ...topic }) => topic),
          members: group.members,
          generation: 0,
        })}
    />
    <${Events} state=${state} set=${set} />
    <${Timing} state=${state} set=${set} />`;
}

/** @param {{state: TimelineState, set: Set}} props */
function Ways({ state: { ways }, set }) {
  const choices = useWays();
  const change = (/** @type {number} */ i) => (/** @type {string | null} */ value) =>
    set({
      ways: replaced(ways, i, value === null ? null : wayFrom(value)),
      ...(i === 0 ? { generation: 0 } : {}),
    });
  const add = () => {
    const taken = ways.map(wayOf);
    const next = choices.find(({ value }) => !taken.includes(value) && !value.includes(":", value.indexOf(":") + 1));
    if (next) set({ ways: [...ways, wayFrom(next.value)] });
  };
  return html`<h2>Protocols</h2>
    ${ways.map(
      (way, i) =>
        html`<div class="removable">
          <${Select}
            place="/ways/${i}/assignor"
            label=${i === 0 ? "In detail" : `Beside it, ${i}`}
            value=${wayOf(way)}
            choices=${choices}
            set=${change(i)}
          />
          ${
            i > 0 &&
            html`<button
              type="button"
              class="remove"
              aria-label="Remove ${wayOf(way)}"
              onClick=${() => change(i)(null)}
            >
              ×
            </button>`
          }
        </div>`,
    )}
    ${ways.length < MOST_WAYS && html`<button type="button" onClick=${add}>Add protocol</button>`}`;
}

/** @param {{state: TimelineState, set: Set}} props */
function Timing({ state: { timing = {} }, set }) {
  const numeric = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ placeholder) =>
    html`<${Numeric}
      place="/timing/${name}"
      ...${{ label, placeholder }}
      value=${timing[name]}
      set=${(/** @type {number | null} */ value) => set({ timing: { ...timing, [name]: value } })}
    />`;
  return html`<h2>Clients and broker</h2>
    <div class="pair">
      ${numeric("session_timeout_ms", "Session timeout, ms", "45,000")}
      ${numeric("poll_interval_ms", "Between polls, ms", "0")}
    </div>
    <details>
      <summary>More about clients and broker</summary>
      <div class="pair">
        ${numeric("heartbeat_interval_ms", "Heartbeat interval, ms", "of the protocol")}
        ${numeric("rebalance_timeout_ms", "max.poll.interval.ms", "300,000")}
        ${numeric("initial_rebalance_delay_ms", "Initial delay, ms", "3,000")}
        ${numeric("metadata_max_age_ms", "metadata.max.age.ms", "300,000")}
        ${numeric("assignment_interval_ms", "Assignment interval, ms", "1,000")}
        ${numeric("min_session_timeout_ms", "Least session timeout, ms", "of the protocol")}
      </div>
    </details>`;
}
