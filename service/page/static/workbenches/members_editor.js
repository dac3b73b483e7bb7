/** The editor of a number of members: the group, the lag, what a member manages and the limits. */
import { useWays, wayFrom, wayOf } from "../catalogue.js";
import { Checkbox, Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { html } from "../lib.js";
import { TopicSizes, resized } from "./group_size.js";
import { GroupSource } from "./group_source.js";
import { weightsOf } from "./load.js";
import { countsOf } from "./members_counts.js";
import { LoadKind } from "./load_editor.js";

/** @typedef {import("./members.js").MembersState} MembersState */
/** @typedef {import("./members.js").Topic} Topic */

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
export function MembersEditor({ state, set }) {
  const choices = useWays();
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
    <${TopicSizes} topics=${state.topics} set=${(/** @type {Topic[]} */ topics) => set({ topics })} />
    <div class="pair">
      <${Numeric}
        place="/members"
        label="Members now"
        min=${1}
        value=${state.members.length}
        set=${(/** @type {number | null} */ size) => set({ members: resized(state.members, size) })}
      />
      <${Numeric}
        place="/members_counts"
        label="Planned up to"
        min=${1}
        placeholder=${state.members_counts ? "as in the request" : counts ? `${number(Math.max(...counts))}, in ${count(counts.length, "step")}` : "one a partition"}
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
      label="A member processes, records/s"
      placeholder="not known"
      value=${state.consumption_rate}
      set=${(/** @type {number | null} */ consumption_rate) => set({ consumption_rate })}
    />
    <div class="pair">${limit("max_lag_seconds", "Lag gone within, s")} ${limit("max_load", "Largest load")}</div>
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
        <${Select}
          place="/keda/offset_reset_policy"
          label="offsetResetPolicy"
          value=${state.keda?.offset_reset_policy ?? "latest"}
          choices=${["latest", "earliest"].map((value) => ({ value, label: value }))}
          set=${(/** @type {string} */ offset_reset_policy) => set({ keda: { ...state.keda, offset_reset_policy } })}
        />
      </div>
      <${Checkbox}
        label="scaleToZeroOnInvalidOffset"
        checked=${state.keda?.scale_to_zero_on_invalid_offset ?? false}
        set=${(/** @type {boolean} */ to_zero) =>
          set({ keda: { ...state.keda, scale_to_zero_on_invalid_offset: to_zero || null } })}
      />
    </details>`;
}
