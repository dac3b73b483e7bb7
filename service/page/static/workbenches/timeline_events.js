/** The events of a timeline: what can happen to a group, and the fields of each. */
import { Numeric, Select, Text } from "../fields.js";
import { fitted } from "../format.js";
import { html } from "../lib.js";
import { replaced, words } from "../lists.js";
import { nextName } from "./group_size.js";

/** @typedef {import("./timeline.js").TimelineState} TimelineState */
/** @typedef {import("./timeline.js").Event} Event */

const TYPES = [
  { value: "member_joins", label: "member joins" },
  { value: "member_leaves", label: "member leaves" },
  { value: "member_crashes", label: "member crashes" },
  { value: "member_stalls", label: "member stalls" },
  { value: "member_restarts", label: "member restarts" },
  { value: "rolling_restart", label: "rolling restart" },
  { value: "scales", label: "scales" },
  { value: "subscription_changes", label: "subscription changes" },
  { value: "topic_created", label: "topic created" },
  { value: "topic_deleted", label: "topic deleted" },
  { value: "partitions_added", label: "partitions added" },
  { value: "assignor_changes", label: "assignor changes" },
];

const PROTOCOLS_THEN = [
  { value: "", label: "the same" },
  { value: "consumer", label: "consumer (KIP-848)" },
];

/** Characters of a member's id that are shown. */
const SHORT = 22;

/** The ids of all members, as far as they are shown. @param {TimelineState} state @returns {Map<string, string>} */
export function shortsOf({ members, events }) {
  const ids = [...members, ...events.flatMap(({ member }) => member ?? [])].map(({ member_id }) => member_id);
  const shorts = fitted(ids, SHORT);
  return new Map(ids.map((id, i) => [id, shorts[i]]));
}

/** What an event of a type is at first. @param {string} type @param {TimelineState} state @returns {Partial<Event>} */
function firstOf(type, { members, topics, events }) {
  const last = members.at(-1)?.member_id ?? "member-1";
  const all = [...members, ...events.flatMap(({ member }) => member ?? [])];
  const topic = topics[0];
  /** @type {Record<string, Partial<Event>>} */
  const fields = {
    member_joins: { member: { member_id: nextName(all) } },
    member_leaves: { member_id: last },
    member_crashes: { member_id: last },
    member_stalls: { member_id: last, for_ms: 60_000 },
    member_restarts: { member_id: last, down_ms: 4000 },
    rolling_restart: { down_ms: 4000, pause_ms: 10_000 },
    scales: { members_count: members.length * 2 },
    subscription_changes: { member_id: last, topic_names: topics.map(({ topic_name }) => topic_name) },
    topic_created: { topic: { topic_name: "new-topic", partitions_count: 6 } },
    topic_deleted: { topic_name: topic?.topic_name },
    partitions_added: { topic_name: topic?.topic_name, partitions_count: (topic?.partitions_count ?? 0) * 2 },
    assignor_changes: { assignors: ["cooperative-sticky"], down_ms: 4000, pause_ms: 10_000 },
  };
  return fields[type];
}

/** @param {{state: TimelineState, set: (change: Partial<TimelineState>) => void}} props */
export function Events({ state, set }) {
  const { events } = state;
  const shorts = shortsOf(state);
  const add = () => {
    const at_ms = (events.at(-1)?.at_ms ?? 0) + 60_000;
    set({ events: [...events, { at_ms, type: "member_leaves", ...firstOf("member_leaves", state) }] });
  };
  return html`<h2>Events</h2>
    ${events.map(
      (event, i) =>
        html`<${OneEvent}
          key=${i}
          place="/events/${i}"
          event=${event}
          ...${{ state, shorts }}
          change=${(/** @type {Event | null} */ next) => set({ events: replaced(events, i, next) })}
        />`,
    )}
    <button type="button" onClick=${add}>Add event</button>`;
}

/** @param {{place: string, event: Event, state: TimelineState, shorts: Map<string, string>, change: (event: Event | null) => void}} props */
function OneEvent({ place, event, state, shorts, change }) {
  const setType = (/** @type {string} */ type) =>
    change(/** @type {Event} */ ({ at_ms: event.at_ms, type, ...firstOf(type, state) }));
  return html`<div class="event">
    <div class="pair">
      <${Numeric}
        place="${place}/at_ms"
        label="At, s"
        scale=${1000}
        value=${event.at_ms}
        set=${(/** @type {number | null} */ at_ms) => change({ ...event, at_ms: Math.round(at_ms ?? 0) })}
      />
      <${Select} place="${place}/type" label="What happens" value=${event.type} choices=${TYPES} set=${setType} />
    </div>
    <${Details} ...${{ place, event, shorts, change }} />
    <button type="button" onClick=${() => change(null)} aria-label="Remove the event at ${event.at_ms / 1000} s">
      Remove
    </button>
  </div>`;
}

/** What an event has beside its time and type. @param {{place: string, event: Event, shorts: Map<string, string>, change: (event: Event) => void}} props */
function Details({ place, event, shorts, change }) {
  const numeric = (
    /** @type {"for_ms" | "down_ms" | "pause_ms" | "members_count" | "partitions_count"} */ name,
    /** @type {string} */ label,
    scale = 1,
  ) =>
    event[name] !== undefined &&
    html`<${Numeric}
      place="${place}/${name}"
      ...${{ label, scale }}
      value=${event[name]}
      set=${(/** @type {number | null} */ value) => change({ ...event, [name]: value ?? 0 })}
    />`;
  const text = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ value, as = put) =>
    html`<${Text}
      place="${place}/${name}"
      ...${{ label, value }}
      short=${shorts.get(value)}
      set=${(/** @type {string} */ next) => as(name, next)}
    />`;
  const put = (/** @type {string} */ name, /** @type {any} */ value) => change({ ...event, [name]: value });
  const list = (/** @type {string} */ name, /** @type {string} */ next) => put(name, words(next) ?? []);
  const { member, member_id, topic, topic_name, topic_names, assignors } = event;
  return html`<div class="pair">
    ${member && text("member/member_id", "Member", member.member_id, (_, next) => put("member", { ...member, member_id: next }))}
    ${member_id !== undefined && text("member_id", "Member", member_id)}
    ${topic && text("topic/topic_name", "Topic", topic.topic_name, (_, next) => put("topic", { ...topic, topic_name: next }))}
    ${
      topic &&
      html`<${Numeric}
        place="${place}/topic/partitions_count"
        label="Partitions"
        value=${topic.partitions_count}
        set=${(/** @type {number | null} */ count) => put("topic", { ...topic, partitions_count: count ?? 1 })}
      />`
    }
    ${topic_name !== undefined && text("topic_name", "Topic", topic_name)}
    ${topic_names && text("topic_names", "Reads then", topic_names.join(", "), list)}
    ${
      event.type === "assignor_changes" &&
      html`<${Select}
        place="${place}/group_protocol"
        label="Protocol then"
        value=${event.group_protocol ?? ""}
        choices=${PROTOCOLS_THEN}
        set=${(/** @type {string} */ next) =>
          change({ ...event, group_protocol: next || undefined, assignors: [next ? "uniform" : "cooperative-sticky"] })}
      />`
    }
    ${assignors && text("assignors", "Assignor then", assignors.join(", "), list)} ${numeric("for_ms", "For, s", 1000)}
    ${numeric("down_ms", "Away, s", 1000)} ${numeric("pause_ms", "Until the next, s", 1000)}
    ${numeric("members_count", "Members then")} ${numeric("partitions_count", "Partitions then")}
  </div>`;
}
