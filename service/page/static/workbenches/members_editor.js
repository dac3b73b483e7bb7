/** The editor of a number of members: the group, the lag, what a member manages and the limits. */
import { useCatalogue } from "../catalogue.js";
import { Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { html } from "../lib.js";
import { GroupSource } from "./group_source.js";

/** @typedef {import("./members.js").MembersState} MembersState */

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
export function MembersEditor({ state, set }) {
  const choices = useCatalogue("assignors")
    .filter(({ client }) => client === "java" || client === null)
    .map(({ group_protocol, assignor }) => ({
      value: `${group_protocol}:${assignor}`,
      label: assignor,
      group: group_protocol,
    }));
  const setWay = (/** @type {string} */ value) => {
    const [group_protocol, assignor] = value.split(/:(.*)/);
    set({ group_protocol, assignor });
  };
  const resize = (/** @type {number | null} */ size) => {
    const wanted = Math.max(size ?? 1, 1);
    const more = Array.from({ length: Math.max(wanted - state.members.length, 0) }, (_, i) => ({
      member_id: `member-${state.members.length + i + 1}`,
    }));
    set({ members: [...state.members, ...more].slice(0, wanted) });
  };
  const lag = state.topics.reduce(
    (sum, { partition_weights = [] }) => partition_weights.reduce((all, each) => all + each, sum),
    0,
  );
  return html`<h2>Group</h2>
    <${Select}
      place="/assignor"
      label="Assignor"
      value="${state.group_protocol}:${state.assignor}"
      choices=${choices}
      set=${setWay}
    />
    ${state.topics.map(
      (topic, i) =>
        html`<${Numeric}
          place="/topics/${i}/partitions_count"
          label="Partitions of ${topic.topic_name}"
          min=${1}
          value=${topic.partitions_count}
          set=${(/** @type {number | null} */ partitions_count) =>
            set({
              topics: state.topics.map((each, j) =>
                i === j ? { topic_name: each.topic_name, partitions_count: partitions_count ?? 1 } : withoutLag(each),
              ),
            })}
        />`,
    )}
    <div class="pair">
      <${Numeric} place="/members" label="Members now" min=${1} value=${state.members.length} set=${resize} />
      <${Numeric}
        place="/members_counts"
        label="Planned up to"
        min=${1}
        placeholder="partitions"
        value=${state.most}
        set=${(/** @type {number | null} */ most) => set({ most })}
      />
    </div>
    <p class="hint">
      ${lag ? `${number(lag)} records of lag in all` : "The lag is not known: loads are counted in partitions."}
    </p>
    <${GroupSource}
      take=${(/** @type {import("../descriptions.js").Group} */ { topics, members }) => set({ topics, members, most: null })}
    />
    <h2>Limits</h2>
    <${Numeric}
      place="/consumption_rate"
      label="A member works off, records/s"
      placeholder="not known"
      value=${state.consumption_rate}
      set=${(/** @type {number | null} */ consumption_rate) => set({ consumption_rate })}
    />
    <div class="pair">
      <${Numeric}
        place="/max_lag_seconds"
        label="Lag gone within, s"
        placeholder="none"
        value=${state.max_lag_seconds}
        set=${(/** @type {number | null} */ max_lag_seconds) => set({ max_lag_seconds })}
      />
      <${Numeric}
        place="/max_load"
        label="Load at most"
        placeholder="none"
        value=${state.max_load}
        set=${(/** @type {number | null} */ max_load) => set({ max_load })}
      />
    </div>
    <p class="hint">${count(state.members.length, "member")} now; further ones subscribe like the last.</p>`;
}

/** A topic whose lag is not known, or no longer: it is of all topics or of none. @param {import("./groups.js").Topic} topic */
function withoutLag({ partition_weights: _, ...topic }) {
  return topic;
}
