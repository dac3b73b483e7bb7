/** The editor of a group: strategy, topics, members and what changes. */
import { useCatalogue } from "../catalogue.js";
import { Numeric, Select, Text } from "../fields.js";
import { html } from "../lib.js";
import { replaced, words } from "../lists.js";
import { MoreOfGroup } from "./group_more.js";
import { nextName } from "./group_size.js";
import { GroupSource } from "./group_source.js";
import { More, useMore } from "./more.js";
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
    ${
      (limited || (state.max_moves ?? null) !== null) &&
      html`<${Numeric}
        place="/max_moves"
        label="Moves at most"
        placeholder="as many as the best balance takes"
        value=${state.max_moves}
        set=${(/** @type {number | null} */ max_moves) => set({ max_moves })}
      />`
    }
    <${Topics} topics=${state.topics} set=${(/** @type {import("./groups.js").Topic[]} */ topics) => set({ topics })} />
    <${Members} state=${state} set=${set} />
    <${MoreOfGroup} state=${state} versions=${versions} set=${set} />
    <${GroupSource} take=${take} />`;
}

/** @param {{state: GroupsState, set: (change: Partial<GroupsState>) => void}} props */
function Members({ state: { members }, set }) {
  const [shown, more] = useMore();
  const change = (/** @type {number} */ i, /** @type {Partial<Member> | null} */ part) =>
    set({ members: replaced(members, i, part && { ...members[i], ...part }) });
  const add = () =>
    set({
      members: [
        ...members,
        { member_id: nextName(members), topic_names: members.at(-1)?.topic_names, change: "joins" },
      ],
    });
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
                <td colspan="2">
                  <${Text}
                    bare
                    place="/members/${i}/topic_names"
                    label="Subscription of ${member.member_id}"
                    placeholder="reads every topic"
                    value=${(member.topic_names ?? []).join(", ")}
                    set=${(/** @type {string} */ text) => change(i, { topic_names: words(text) })}
                  />
                </td>
                <td class="narrow">
                  <${Numeric}
                    bare
                    place="/members/${i}/capacity"
                    label="Capacity of ${member.member_id}"
                    placeholder="capacity"
                    value=${member.capacity}
                    set=${(/** @type {number | null} */ capacity) => change(i, { capacity })}
                  />
                </td>
                <td></td>
              </tr>`,
        )}
      </tbody>
    </table>
    <${More} of=${members.length} shown=${shown} more=${more} noun="member" />
    <button type="button" onClick=${add}>Add member</button>`;
}
