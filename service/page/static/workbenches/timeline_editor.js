/** The editor of a timeline: the group, its events and the protocols to compare. */
import { useCatalogue } from "../catalogue.js";
import { Numeric, Select, Text } from "../fields.js";
import { count, listed } from "../format.js";
import { html } from "../lib.js";
import { replaced } from "../lists.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {import("./timeline.js").Event} Event */

const TYPES = [
  { value: "member_joins", label: "member joins" },
  { value: "member_leaves", label: "member leaves" },
  { value: "member_crashes", label: "member crashes" },
  { value: "member_stalls", label: "member stalls" },
  { value: "rolling_restart", label: "rolling restart" },
  { value: "scales", label: "scales" },
  { value: "partitions_added", label: "partitions added" },
];

/** The fields of an event of a type. @param {string} type @param {TimelineState} state @returns {Partial<Event>} */
function fieldsOf(type, { members, topics, events }) {
  const last = members.at(-1)?.member_id ?? "member-1";
  const joined = events.filter((event) => event.type === "member_joins").length;
  const topic = topics[0];
  /** @type {Record<string, Partial<Event>>} */
  const fields = {
    member_joins: { member: { member_id: `${last.replace(/-?\d+$/, "")}-${members.length + joined + 1}` } },
    member_leaves: { member_id: last },
    member_crashes: { member_id: last },
    member_stalls: { member_id: last, for_ms: 60_000 },
    rolling_restart: { down_ms: 4000, pause_ms: 10_000 },
    scales: { members_count: members.length * 2 },
    partitions_added: { topic_name: topic?.topic_name, partitions_count: (topic?.partitions_count ?? 0) * 2 },
  };
  return fields[type];
}

/** @param {{state: TimelineState, set: (change: Partial<TimelineState>) => void}} props */
export function TimelineEditor({ state, set }) {
  const { topics, members, events } = state;
  const add = () => {
    const at_ms = (events.at(-1)?.at_ms ?? 0) + 60_000;
    set({
      events: [...events, { at_ms, type: "member_leaves", .../** @type {any} */ (fieldsOf("member_leaves", state)) }],
    });
  };
  const read = topics.map(
    ({ topic_name, partitions_count }) => `${topic_name} with ${count(partitions_count, "partition")}`,
  );
  const summary = `${count(members.length, "member")}; ${listed(read)}. Change it in Groups.`;
  return html`<${Ways} state=${state} set=${set} />
    <h2>Group</h2>
    <p class="hint">${summary}</p>
    <h2>Events</h2>
    ${events.map(
      (event, i) =>
        html`<${OneEvent}
          key=${i}
          place="/events/${i}"
          event=${event}
          state=${state}
          change=${(/** @type {Event | null} */ next) => set({ events: replaced(events, i, next) })}
        />`,
    )}
    <button type="button" onClick=${add}>Add event</button>
    <h2>Clients</h2>
    <div class="pair">
      <${Numeric}
        place="/timing/session_timeout_ms"
        label="Session timeout, ms"
        value=${state.session_timeout_ms}
        min=${1}
        set=${(/** @type {number | null} */ session_timeout_ms) => set({ session_timeout_ms })}
      />
      <${Numeric}
        place="/timing/poll_interval_ms"
        label="Between polls, ms"
        value=${state.poll_interval_ms}
        set=${(/** @type {number | null} */ poll_interval_ms) => set({ poll_interval_ms })}
      />
    </div>`;
}

/** @param {{state: TimelineState, set: (change: Partial<TimelineState>) => void}} props */
function Ways({ state: { ways }, set }) {
  const own = ["java", null];
  const choices = useCatalogue("assignors")
    .filter(({ client }) => own.includes(client))
    .map(({ group_protocol, assignor }) => ({
      value: `${group_protocol}:${assignor}`,
      label: assignor,
      group: group_protocol,
    }));
  return html`<h2>Protocols</h2>
    ${ways.map(({ group_protocol, assignor }, i) => {
      const change = (/** @type {string} */ value) => {
        const [protocol, name] = value.split(/:(.*)/);
        set({
          ways: replaced(ways, i, { group_protocol: protocol, assignor: name }),
          ...(i === 0 ? { generation: 1 } : {}),
        });
      };
      return html`<${Select}
        place="/ways/${i}/assignor"
        label=${i === 0 ? "In detail" : `Beside it, ${i}`}
        value="${group_protocol}:${assignor}"
        choices=${choices}
        set=${change}
      />`;
    })}`;
}

/** @param {{place: string, event: Event, state: TimelineState, change: (event: Event | null) => void}} props */
function OneEvent({ place, event, state, change }) {
  const numeric = (
    /** @type {"for_ms" | "down_ms" | "pause_ms" | "members_count" | "partitions_count"} */ name,
    /** @type {string} */ label,
  ) =>
    event[name] !== undefined &&
    html`<${Numeric}
      place="${place}/${name}"
      label=${label}
      value=${event[name]}
      set=${(/** @type {number | null} */ value) => change({ ...event, [name]: value ?? 0 })}
    />`;
  const setType = (/** @type {string} */ type) => change({ at_ms: event.at_ms, type, ...fieldsOf(type, state) });
  return html`<div class="event">
    <div class="pair">
      <${Numeric}
        place="${place}/at_ms"
        label="At, s"
        value=${event.at_ms / 1000}
        set=${(/** @type {number | null} */ seconds) => change({ ...event, at_ms: Math.round((seconds ?? 0) * 1000) })}
      />
      <${Select} place="${place}/type" label="What happens" value=${event.type} choices=${TYPES} set=${setType} />
    </div>
    <div class="pair">
      ${event.member && html`<${Text} place="${place}/member/member_id" label="Member" value=${event.member.member_id} set=${(/** @type {string} */ member_id) => change({ ...event, member: { ...event.member, member_id } })} />`}
      ${event.member_id !== undefined && html`<${Text} place="${place}/member_id" label="Member" value=${event.member_id} set=${(/** @type {string} */ member_id) => change({ ...event, member_id })} />`}
      ${numeric("for_ms", "For, ms")} ${numeric("down_ms", "Away, ms")} ${numeric("pause_ms", "Until the next, ms")}
      ${numeric("members_count", "Members then")} ${numeric("partitions_count", "Partitions then")}
    </div>
    <button type="button" onClick=${() => change(null)} aria-label="Remove the event at ${event.at_ms / 1000} s">
      Remove
    </button>
  </div>`;
}
