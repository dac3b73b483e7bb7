/** The editor of a timeline: the protocols to compare, the group, its events and what clients and broker wait for. */
import { assignorOf, useWays, wayFrom, wayOf } from "../catalogue.js";
import { bound, Checkbox, Numeric } from "../fields.js";
import { html } from "../lib.js";
import { replaced } from "../lists.js";
import { AssignorSelect } from "./assignor.js";
import { resized } from "./group_size.js";
import { Remove } from "./rows.js";
import { Events } from "./timeline_events.js";
import { Topics } from "./topics_editor.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {(change: Partial<TimelineState>) => void} Set */

/** Protocols that are compared at most. */
const MOST_WAYS = 8;
/** What `balanced` is carried out by where all clients ask it to. */
const EAGER = { value: wayOf({ assignor: "balanced", rebalance_protocol: "eager" }), label: "balanced, eager" };

/** @param {{state: TimelineState, set: Set}} props */
export function TimelineEditor({ state, set }) {
  const { topics, members } = state;
  return html`<${Ways} state=${state} set=${set} />
    <h2>Group</h2>
    <${Numeric}
      place="/members"
      label="Members at the start"
      value=${members.length}
      set=${(/** @type {number | null} */ size) => set({ members: resized(members, size), generation: 0 })}
    />
    <${Topics}
      loaded=${false}
      topics=${topics}
      set=${(/** @type {import("./groups.js").Topic[]} */ next) => set({ topics: next, generation: 0 })}
    />
    <${Events} state=${state} set=${set} />
    <${Timing} state=${state} set=${set} />`;
}

/** @param {{state: TimelineState, set: Set}} props */
function Ways({ state: { ways }, set }) {
  const choices = useWays().flatMap((way) =>
    way.value === wayOf({ assignor: "balanced" }) ? [way, { ...way, ...EAGER }] : [way],
  );
  const change = (/** @type {number} */ i) => (/** @type {import("./timeline.js").Way | null} */ way) =>
    set({ ways: replaced(ways, i, way), ...(i === 0 ? { generation: 0 } : {}) });
  const add = () => {
    const taken = ways.map(wayOf);
    const next = choices.find(({ value, of_other_client }) => !taken.includes(value) && !of_other_client);
    if (next) set({ ways: [...ways, wayFrom(next.value)] });
  };
  return html`<h2>Protocols</h2>
    ${ways.map(
      (way, i) =>
        html`<${AssignorSelect}
            place="/ways/${i}/assignor"
            label=${i === 0 ? "Shown in detail" : `Compared with it, ${i}`}
            value=${wayOf(way)}
            other=${assignorOf(way)}
            choices=${choices}
            set=${(/** @type {string} */ value) => change(i)({ ...wayFrom(value), static: way.static })}
            beside=${i > 0 && html`<${Remove} name=${wayOf(way)} act=${() => change(i)(null)} />`}
          />
          ${
            way.group_protocol !== "share" &&
            html`<${Checkbox}
              label="static members (group.instance.id)"
              checked=${way.static ?? false}
              set=${(/** @type {boolean} */ all) => change(i)({ ...way, static: all || undefined })}
            />`
          }`,
    )}
    ${ways.length < MOST_WAYS && html`<button type="button" onClick=${add}>Add protocol</button>`}`;
}

/** @param {{state: TimelineState, set: Set}} props */
function Timing({ state: { timing = {} }, set }) {
  const field = bound(timing, (change) => set({ timing: { ...timing, ...change } }), "/timing");
  const numeric = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ placeholder) =>
    html`<${Numeric} ...${field(name)} ...${{ label, placeholder }} />`;
  return html`<h2>Clients and broker</h2>
    <div class="pair">
      ${numeric("session_timeout_ms", "Session timeout, ms", "45,000")}
      ${numeric("poll_interval_ms", "Between polls, ms", "1,000")}
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
