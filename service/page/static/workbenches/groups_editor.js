/** The editor of a group: strategy, topics, members and what changes. */
import { useCatalogue } from "../catalogue.js";
import { bound, Numeric, Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { replaced, words } from "../lists.js";
import { MoreOfGroup } from "./group_more.js";
import { nextName } from "./group_size.js";
import { GroupSource } from "./group_source.js";
import { Remove, Rows } from "./rows.js";
import { Topics } from "./topics_editor.js";

/** @typedef {import("./groups.js").GroupsState} GroupsState */
/** @typedef {import("./groups.js").Member} Member */

const PROTOCOLS = [
  { value: "classic", label: "classic" },
  { value: "consumer", label: "consumer (KIP-848)" },
  { value: "share", label: "share (KIP-932)" },
];
/** The assignor of each protocol where none is named. */
export const DEFAULTS = { classic: "range", consumer: "uniform", share: "simple" };
const CHANGES = [
  { value: "", label: "stays" },
  { value: "joins", label: "joins" },
  { value: "leaves", label: "leaves" },
];

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
export function GroupsEditor({ state, set }) {
  const catalogue = useCatalogue("assignors");
  const known = catalogue.filter((row) => row.group_protocol === state.group_protocol);
  const versions = known.find(({ assignor }) => assignor === state.assignor)?.kafka_versions.toReversed() ?? [];
  const choices = known.map(({ assignor, client }) => ({
    value: assignor,
    label: assignor.replace(/^[^:]+:/, ""),
    group: client ?? "this service",
  }));
  /** @param {any} group_protocol */
  const setProtocol = (group_protocol) =>
    set({
      group_protocol,
      assignor: DEFAULTS[/** @type {"classic"} */ (group_protocol)],
      assignor_then: "",
      max_moves: null,
      kafka_version: undefined,
    });
  const take = (/** @type {import("../descriptions.js").Group} */ { topics, members, group_protocol, assignor }) => {
    const offered = choices.some(({ value }) => value === assignor) && group_protocol === state.group_protocol;
    set({ topics, members, ...(offered ? { assignor, assignor_then: "" } : {}) });
  };
  const field = bound(state, set);
  const limited = (state.assignor_then || state.assignor) === "balanced";
  return html`<h2>Assignor</h2>
    <div class="pair">
      <${Select}
        place="/group_protocol"
        label="Protocol"
        value=${state.group_protocol}
        choices=${PROTOCOLS}
        set=${setProtocol}
      />
      <${Select} ...${field("assignor")} label="Assignor" choices=${choices} />
    </div>
    <${Select}
      ...${field("assignor_then")}
      label="After the change"
      choices=${[{ value: "", label: "the same assignor" }, ...choices]}
    />
    ${
      (limited || (state.max_moves ?? null) !== null) &&
      html`<${Numeric}
        ...${field("max_moves")}
        label="Moves at most"
        placeholder="as many as the best balance takes"
      />`
    }
    <${Topics} topics=${state.topics} set=${(/** @type {import("./groups.js").Topic[]} */ topics) => set({ topics })} />
    <${Members} state=${state} set=${set} />
    <${MoreOfGroup} state=${state} versions=${versions} set=${set} />
    <${GroupSource} take=${take} />`;
}

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
function Members({ state: { members }, set }) {
  const add = () =>
    set({
      members: [
        ...members,
        { member_id: nextName(members), topic_names: members.at(-1)?.topic_names, change: "joins" },
      ],
    });
  const row = (/** @type {Member} */ member, /** @type {number} */ i) => {
    const change = (/** @type {Partial<Member> | null} */ part) =>
      set({ members: replaced(members, i, part && { ...member, ...part }) });
    const field = bound(member, change, `/members/${i}`);
    return html`<tr>
        <td><${Text} bare ...${field("member_id")} label="Member ${i + 1}" /></td>
        <td class="narrow">
          <${Text} bare ...${field("rack_id")} label="Rack of ${member.member_id}" placeholder="none" />
        </td>
        <td class="narrow">
          <${Select} bare ...${field("change")} label="Change of ${member.member_id}" choices=${CHANGES} />
        </td>
        <td class="act"><${Remove} name=${member.member_id} act=${() => change(null)} /></td>
      </tr>
      <tr class="below">
        <td colspan="2">
          <${Text}
            bare
            ...${field("topic_names")}
            label="Subscription of ${member.member_id}"
            placeholder="reads every topic"
            value=${(member.topic_names ?? []).join(", ")}
            set=${(/** @type {string} */ text) => change({ topic_names: words(text) })}
          />
        </td>
        <td class="narrow">
          <${Numeric} bare ...${field("capacity")} label="Capacity of ${member.member_id}" placeholder="capacity" />
        </td>
        <td></td>
      </tr>`;
  };
  return html`<h2>Members</h2>
    <${Rows} noun="member" columns=${["Member", "Rack", "Change"]} items=${members} ...${{ row, add }} />`;
}
