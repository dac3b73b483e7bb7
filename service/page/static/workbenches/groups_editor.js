/** The editor of a group: strategy, topics, members and what changes. */
import { useCatalogue } from "../catalogue.js";
import { Numeric, Select, Text } from "../fields.js";
import { number } from "../format.js";
import { html, useState } from "../lib.js";
import { replaced } from "../lists.js";
import { GroupSource } from "./group_source.js";

/** @typedef {import("./groups.js").GroupsState} GroupsState */
/** @typedef {import("./groups.js").Member} Member */

const PROTOCOLS = [
  { value: "classic", label: "classic" },
  { value: "consumer", label: "consumer (KIP-848)" },
  { value: "share", label: "share (KIP-932)" },
];
const DEFAULTS = { classic: "range", consumer: "uniform", share: "simple" };
const CHANGES = [
  { value: "", label: "stays" },
  { value: "joins", label: "joins" },
  { value: "leaves", label: "leaves" },
];
/** Rows of members that are shown at first, and added by each "more". */
const PAGE = 20;

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
export function GroupsEditor({ state, set }) {
  const catalogue = useCatalogue("assignors");
  const choices = catalogue
    .filter((row) => row.group_protocol === state.group_protocol)
    .map(({ assignor, client }) => ({
      value: assignor,
      label: assignor.replace(/^[^:]+:/, ""),
      group: client ?? "this service",
    }));
  /** @param {any} group_protocol */
  const setProtocol = (group_protocol) =>
    set({ group_protocol, assignor: DEFAULTS[/** @type {"classic"} */ (group_protocol)], assignor_then: "" });
  const take = (/** @type {import("../descriptions.js").Group} */ { topics, members, group_protocol, assignor }) => {
    const known = choices.some(({ value }) => value === assignor) && group_protocol === state.group_protocol;
    set({ topics, members, ...(known ? { assignor, assignor_then: "" } : {}) });
  };
  return html`<h2>Assignor</h2>
    <div class="pair">
      <${Select}
        place="/group_protocol"
        label="Protocol"
        value=${state.group_protocol}
        choices=${PROTOCOLS}
        set=${setProtocol}
      />
      <${Select}
        place="/assignor"
        label="Assignor"
        value=${state.assignor}
        choices=${choices}
        set=${(/** @type {string} */ assignor) => set({ assignor })}
      />
    </div>
    <${Select}
      place="/assignor_then"
      label="After the change"
      value=${state.assignor_then}
      choices=${[{ value: "", label: "the same assignor" }, ...choices]}
      set=${(/** @type {string} */ assignor_then) => set({ assignor_then })}
    />
    <${Topics} state=${state} set=${set} />
    <${Members} state=${state} set=${set} />
    <${GroupSource} take=${take} />`;
}

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
function Topics({ state: { topics }, set }) {
  const change = (/** @type {number} */ i, /** @type {any} */ part) =>
    set({ topics: replaced(topics, i, part && { ...topics[i], ...part }) });
  const add = () =>
    set({
      topics: [
        ...topics,
        {
          topic_name: fresh(
            "topic",
            topics.map(({ topic_name }) => topic_name),
          ),
          partitions_count: 6,
        },
      ],
    });
  return html`<h2>Topics</h2>
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Topic</th>
          <th scope="col">Partitions</th>
          <th scope="col">Then</th>
          <th><span class="hidden">Remove</span></th>
        </tr>
      </thead>
      <tbody>
        ${topics.map(
          (topic, i) =>
            html`<tr>
              <td>
                <${Text}
                  bare
                  place="/topics/${i}/topic_name"
                  label="Topic ${i + 1}"
                  value=${topic.topic_name}
                  set=${(/** @type {string} */ topic_name) => change(i, { topic_name })}
                />
              </td>
              <td class="narrow">
                <${Numeric}
                  bare
                  min=${1}
                  place="/topics/${i}/partitions_count"
                  label="Partitions of ${topic.topic_name}"
                  value=${topic.partitions_count}
                  set=${(/** @type {number | null} */ partitions_count) => change(i, { partitions_count, partition_racks: undefined, partition_weights: undefined })}
                />
              </td>
              <td class="narrow">
                <${Numeric}
                  bare
                  min=${1}
                  place="/topics/${i}/partitions_then"
                  label="Partitions of ${topic.topic_name} after the change"
                  placeholder="same"
                  value=${topic.partitions_then}
                  set=${(/** @type {number | null} */ partitions_then) => change(i, { partitions_then })}
                />
              </td>
              <td class="act">
                <button
                  type="button"
                  class="remove"
                  aria-label="Remove ${topic.topic_name}"
                  onClick=${() => change(i, null)}
                >
                  ×
                </button>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
    <button type="button" onClick=${add}>Add topic</button>`;
}

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
function Members({ state: { members }, set }) {
  const [shown, setShown] = useState(PAGE);
  const change = (/** @type {number} */ i, /** @type {Partial<Member> | null} */ part) =>
    set({ members: replaced(members, i, part && { ...members[i], ...part }) });
  const add = () => {
    const last = members.at(-1);
    const id = fresh(
      last?.member_id.replace(/-?\d+$/, "") || "member",
      members.map(({ member_id }) => member_id),
    );
    set({ members: [...members, { member_id: id, topic_names: last?.topic_names, change: "joins" }] });
  };
  return html`<h2>Members</h2>
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Member</th>
          <th scope="col">Rack</th>
          <th scope="col">Change</th>
          <th><span class="hidden">Remove</span></th>
        </tr>
      </thead>
      <tbody>
        ${members.slice(0, shown).map(
          (member, i) =>
            html`<tr>
                <td>
                  <${Text}
                    bare
                    place="/members/${i}/member_id"
                    label="Member ${i + 1}"
                    value=${member.member_id}
                    set=${(/** @type {string} */ member_id) => change(i, { member_id })}
                  />
                </td>
                <td class="narrow">
                  <${Text}
                    bare
                    place="/members/${i}/rack_id"
                    label="Rack of ${member.member_id}"
                    value=${member.rack_id ?? ""}
                    placeholder="none"
                    set=${(/** @type {string} */ rack_id) => change(i, { rack_id })}
                  />
                </td>
                <td class="narrow">
                  <${Select}
                    bare
                    place="/members/${i}/change"
                    label="Change of ${member.member_id}"
                    value=${member.change ?? ""}
                    choices=${CHANGES}
                    set=${(/** @type {any} */ kind) => change(i, { change: kind })}
                  />
                </td>
                <td class="act">
                  <button
                    type="button"
                    class="remove"
                    aria-label="Remove ${member.member_id}"
                    onClick=${() => change(i, null)}
                  >
                    ×
                  </button>
                </td>
              </tr>
              <tr class="below">
                <td colspan="4">
                  <${Text}
                    bare
                    place="/members/${i}/topic_names"
                    label="Subscription of ${member.member_id}"
                    placeholder="reads every topic"
                    value=${(member.topic_names ?? []).join(", ")}
                    set=${(/** @type {string} */ text) => change(i, { topic_names: names(text) })}
                  />
                </td>
              </tr>`,
        )}
      </tbody>
    </table>
    ${
      members.length > shown &&
      html`<p>
        <button type="button" onClick=${() => setShown(shown + PAGE)}>Show more</button>
        <span class="hint"> ${number(members.length - shown)} further members</span>
      </p>`
    }
    <button type="button" onClick=${add}>Add member</button>`;
}

/** @param {string} text @returns {string[] | null} */
function names(text) {
  const found = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name);
  return found.length ? found : null;
}

/** A name that is not taken. @param {string} stem @param {string[]} taken */
function fresh(stem, taken) {
  let i = taken.length + 1;
  while (taken.includes(`${stem}-${i}`)) i += 1;
  return `${stem}-${i}`;
}
