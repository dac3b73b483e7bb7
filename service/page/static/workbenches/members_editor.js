/** The editor of a number of members: the group, the lag, what a member manages and the limits. */
import { useWays, wayFrom, wayOf } from "../catalogue.js";
import { Checkbox, Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { html } from "../lib.js";
import { replaced } from "../lists.js";
import { GroupSource } from "./group_source.js";
import { weightsOf, withCount } from "./load.js";
import { countsOf } from "./members_counts.js";
import { LoadKind, LoadOfTopic } from "./load_editor.js";
import { More, useMore } from "./more.js";

/** @typedef {import("./members.js").MembersState} MembersState */
/** @typedef {import("./members.js").Topic} Topic */

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
export function MembersEditor({ state, set }) {
  const choices = useWays();
  const resize = (/** @type {number | null} */ size) => {
    const wanted = Math.max(size ?? 1, 1);
    const more = Array.from({ length: Math.max(wanted - state.members.length, 0) }, (_, i) => ({
      member_id: `member-${state.members.length + i + 1}`,
    }));
    set({ members: [...state.members, ...more].slice(0, wanted) });
  };
  const [listed, more] = useMore();
  const counts = countsOf({ ...state, most: null });
  const weights = weightsOf(state.topics);
  const take = (/** @type {import("../descriptions.js").Group} */ group) =>
    set({
      topics: group.topics,
      members: group.members,
      most: null,
      members_counts: undefined,
      ...(choices.some(({ value }) => value === wayOf(group))
        ? { assignor: group.assignor, group_protocol: group.group_protocol }
        : {}),
    });
  return html`<h2>Group</h2>
    <${Select}
      place="/assignor"
      label="Assignor"
      value=${wayOf(state)}
      choices=${choices}
      set=${(/** @type {string} */ value) => set(wayFrom(value))}
    />
    <${LoadKind} topics=${state.topics} set=${(/** @type {Topic[]} */ topics) => set({ topics })} />
    ${state.topics.slice(0, listed).map((topic, i) => {
      const change = (/** @type {Topic} */ next) => set({ topics: replaced(state.topics, i, next) });
      return html`<${Numeric}
          place="/topics/${i}/partitions_count"
          label="Partitions of ${topic.topic_name}"
          min=${1}
          value=${topic.partitions_count}
          set=${(/** @type {number | null} */ next) => change(withCount(topic, next ?? 1))}
        />
        <${LoadOfTopic}
          place="/topics/${i}"
          topic=${topic}
          change=${(/** @type {Partial<Topic>} */ part) => change({ ...topic, ...part })}
        />`;
    })}
    <${More} of=${state.topics.length} shown=${listed} more=${more} noun="topic" />
    <div class="pair">
      <${Numeric} place="/members" label="Members now" min=${1} value=${state.members.length} set=${resize} />
      <${Numeric}
        place="/members_counts"
        label="Planned up to"
        min=${1}
        placeholder=${state.members_counts ? "as in the request" : counts ? `${number(Math.max(...counts))}, in ${count(counts.length, "step")}` : "partitions"}
        value=${state.most}
        set=${(/** @type {number | null} */ most) => set({ most, members_counts: undefined })}
      />
    </div>
    <p class="hint">
      ${weights ? `${number(weights.reduce((sum, each) => sum + each, 0))} records of lag in all` : "The lag is not known: loads are counted in partitions."}
    </p>
    <${GroupSource} take=${take} />
    <${Limits} state=${state} set=${set} />
    <${Scaling} state=${state} set=${set} />`;
}

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
function Limits({ state, set }) {
  const limit = (/** @type {"max_load" | "max_lag_seconds"} */ name, /** @type {string} */ label) =>
    html`<${Numeric}
      place="/limits/${name}"
      label=${label}
      placeholder="none"
      value=${state.limits?.[name]}
      set=${(/** @type {number | null} */ value) => set({ limits: { ...state.limits, [name]: value } })}
    />`;
  return html`<h2>Limits</h2>
    <${Numeric}
      place="/consumption_rate"
      label="A member works off, records/s"
      placeholder="not known"
      value=${state.consumption_rate}
      set=${(/** @type {number | null} */ consumption_rate) => set({ consumption_rate })}
    />
    <div class="pair">${limit("max_lag_seconds", "Lag gone within, s")} ${limit("max_load", "Load at most")}</div>
    <p class="hint">${count(state.members.length, "member")} now; further ones subscribe like the last.</p>`;
}

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
function Scaling({ state, set }) {
  const keda = (
    /** @type {string} */ name,
    /** @type {string} */ label,
    /** @type {string} */ placeholder,
    scale = 1,
  ) =>
    html`<${Numeric}
      place="/keda/${name}"
      ...${{ label, placeholder, scale }}
      value=${state.keda?.[name]}
      set=${(/** @type {number | null} */ value) => set({ keda: { ...state.keda, [name]: value } })}
    />`;
  return html`<h2>Scaling</h2>
    <div class="pair">
      <${Numeric}
        place="/threads_per_pod"
        label="Members in a pod"
        placeholder="1"
        min=${1}
        value=${state.threads_per_pod}
        set=${(/** @type {number | null} */ threads_per_pod) => set({ threads_per_pod })}
      />
      <${Numeric}
        place="/timing/poll_interval_ms"
        label="Between polls, ms"
        placeholder="1,000"
        value=${state.timing?.poll_interval_ms}
        set=${(/** @type {number | null} */ poll_interval_ms) => set({ timing: { ...state.timing, poll_interval_ms } })}
      />
    </div>
    <${Checkbox}
      label="Simulate the standstill of getting there"
      checked=${state.standstill ?? true}
      set=${(/** @type {boolean} */ standstill) => set({ standstill: standstill ? undefined : false })}
    />
    <details open=${Object.keys(state.keda ?? {}).length > 0}>
      <summary>KEDA's ScaledObject</summary>
      <div class="pair">
        ${keda("lag_threshold", "lagThreshold", "10")}
        ${keda("activation_lag_threshold", "activationLagThreshold", "0")}
        ${keda("min_replica_count", "minReplicaCount", "0")} ${keda("max_replica_count", "maxReplicaCount", "100")}
        ${keda("tolerance", "Tolerance, %", "10", 0.01)}
      </div>
    </details>`;
}
