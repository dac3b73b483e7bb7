/** The editor of a group: strategy, topics, members and what changes. */
import { assignorOf, choiceOf, DEFAULTS, useCatalogue } from "../catalogue.js";
import { bound, Numeric, Select, Text } from "../fields.js";
import { fitted } from "../format.js";
import { html } from "../lib.js";
import { replaced, words } from "../lists.js";
import { AssignorSelect } from "./assignor.js";
import { MoreOfGroup } from "./group_more.js";
import { nextName } from "./group_size.js";
import { NumbersOfEach, Remove, Rows } from "./rows.js";
import { Topics } from "./topics_editor.js";

/** @typedef {import("./groups.js").GroupsState} GroupsState */
/** @typedef {import("./groups.js").Member} Member */

const PROTOCOLS = [
  { value: "classic", label: "classic" },
  { value: "consumer", label: "consumer (KIP-848)" },
  { value: "share", label: "share (KIP-932)" },
];
/** Characters of a member's id that its field shows. */
const SHORT = 13;
const CHANGES = [
  { value: "", label: "stays" },
  { value: "joins", label: "joins" },
  { value: "leaves", label: "leaves" },
];

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
export function GroupsEditor({ state, set }) {
  const catalogue = useCatalogue("assignors");
  const { group_protocol: protocol = "classic" } = state;
  const known = catalogue.filter((row) => row.group_protocol === protocol);
  const versions = known.find(({ assignor }) => assignor === state.assignor)?.kafka_versions.toReversed() ?? [];
  const choices = known.map(choiceOf);
  /** @param {any} group_protocol */
  const setProtocol = (group_protocol) =>
    set({
      group_protocol,
      assignor: DEFAULTS[group_protocol],
      assignor_then: "",
      max_moves: null,
      kafka_version: undefined,
    });
  const field = bound(state, set);
  const limited = (state.assignor_then || state.assignor) === "balanced";
  return html`<h2>Assignor</h2>
    <${Select}
      place="/group_protocol"
      label="Protocol"
      value=${state.group_protocol}
      other="not known (classic)"
      choices=${PROTOCOLS}
      set=${setProtocol}
    />
    <${AssignorSelect} ...${field("assignor")} label="Assignor" choices=${choices} other=${assignorOf(state)} />
    <${AssignorSelect}
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
    <${Topics}
      grows
      topics=${state.topics}
      set=${(/** @type {import("./groups.js").Topic[]} */ topics) => set({ topics })}
    />
    <${Members} state=${state} set=${set} />
    <${MoreOfGroup} state=${state} versions=${versions} set=${set} />`;
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
  const shorts = fitted(
    members.map(({ member_id }) => member_id),
    SHORT,
  );
  const of = (/** @type {Member} */ member, /** @type {number} */ i) => {
    const change = (/** @type {Partial<Member> | null} */ part) =>
      set({ members: replaced(members, i, part && { ...member, ...part }) });
    return { change, field: bound(member, change, `/members/${i}`) };
  };
  const row = (/** @type {Member} */ member, /** @type {number} */ i) => {
    const { field, change } = of(member, i);
    return html`<tr>
      <td><${Text} bare ...${field("member_id")} label="Member ${i + 1}" short=${shorts[i]} /></td>
      <td class="narrow">
        <${Text} bare ...${field("rack_id")} label="Rack of ${member.member_id}" placeholder="unknown" />
      </td>
      <td class="narrow">
        <${Select} bare ...${field("change")} label="Change of ${member.member_id}" choices=${CHANGES} />
      </td>
      <td class="act"><${Remove} name=${member.member_id} act=${() => change(null)} /></td>
    </tr>`;
  };
  const more = (/** @type {Member} */ member, /** @type {number} */ i) => {
    const { field, change } = of(member, i);
    const text = html`<${Text}
      bare
      ...${field("topic_names")}
      label="Subscription of ${member.member_id}"
      placeholder="every topic"
      value=${(member.topic_names ?? []).join(", ")}
      set=${(/** @type {string} */ names) => change({ topic_names: words(names) })}
    />`;
    return { id: html`<span title=${member.member_id}>${shorts[i]}</span>`, name: member.member_id, text, field };
  };
  return html`<h2>Members</h2>
    <${Rows} noun="member" columns=${["Member", "Rack", "Change"]} items=${members} ...${{ row, add }} />
    <${NumbersOfEach}
      summary="Subscriptions and capacities"
      noun="member"
      heads=${["member", "reads"]}
      columns=${[{ name: "capacity", label: "capacity" }]}
      items=${members}
      row=${more}
    />`;
}
