/** The editor of a number of members: the group, the lag, what a member manages and the limits. */
import { assignorOf, useWays, wayFrom, wayOf } from "../catalogue.js";
import { bound, Checkbox, Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { html } from "../lib.js";
import { AssignorSelect } from "./assignor.js";
import { resized } from "./group_size.js";
import { totalOf, withTotal } from "./load.js";
import { countsOf } from "./members_counts.js";
import { Topics } from "./topics_editor.js";

/** @typedef {import("./members.js").MembersState} MembersState */
/** @typedef {import("./members.js").Topic} Topic */

/** Options of KEDA's Kafka triggers, of which one excludes most others. */
const OPTIONS = ["limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions", "allowIdleConsumers"];

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
export function MembersEditor({ state, set }) {
  const choices = useWays();
  const counts = countsOf({ ...state, most: null });
  return html`<h2>Group</h2>
    <${AssignorSelect}
      place="/assignor"
      label="Assignor"
      value=${wayOf(state)}
      other=${assignorOf(state)}
      choices=${choices}
      set=${(/** @type {string} */ value) => set(wayFrom(value))}
    />
    <${Topics} topics=${state.topics} set=${(/** @type {Topic[]} */ topics) => set({ topics })} />
    <${Numeric}
      place="/total_lag"
      label="Lag in all, records"
      placeholder="not known"
      hint=${state.topics.length > 0 ? "A number typed here is spread evenly over all partitions." : ""}
      value=${totalOf(state.topics)}
      set=${(/** @type {number | null} */ total) => set({ topics: withTotal(state.topics, total) })}
    />
    <div class="pair">
      <${Numeric}
        place="/members"
        label="Members now"
        value=${state.members.length}
        set=${(/** @type {number | null} */ size) => set({ members: resized(state.members, size) })}
      />
      <${Numeric}
        place="/members_counts"
        label="Planned up to"
        min=${1}
        placeholder=${state.members_counts ? "as in the request" : counts ? `${number(Math.max(...counts))}, in ${count(counts.length, "step")}` : "one per partition"}
        value=${state.most}
        set=${(/** @type {number | null} */ most) => set({ most, members_counts: undefined })}
      />
    </div>
    <${Limits} state=${state} set=${set} />
    <${Scaling} state=${state} set=${set} />`;
}

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
function Limits({ state, set }) {
  const limit = bound(state.limits, (change) => set({ limits: { ...state.limits, ...change } }), "/limits");
  return html`<h2>Limits</h2>
    <${Numeric}
      ...${bound(state, set)("consumption_rate")}
      label="A member processes, records/s"
      placeholder="not known"
    />
    <div class="pair">
      <${Numeric} ...${limit("max_lag_seconds")} label="Lag gone within, s" placeholder="none" />
      <${Numeric} ...${limit("max_load")} label="Largest load" placeholder="none" />
    </div>
    <p class="hint">${count(state.members.length, "member")} now; further ones subscribe like the last.</p>`;
}

/** @param {{state: MembersState, set: (change: Partial<MembersState>) => void}} props */
function Scaling({ state, set }) {
  const setKeda = (/** @type {any} */ change) => set({ keda: { ...state.keda, ...change } });
  const keda = bound(state.keda, setKeda, "/keda");
  const timing = bound(state.timing, (change) => set({ timing: { ...state.timing, ...change } }), "/timing");
  return html`<h2>Scaling</h2>
    <div class="pair">
      <${Numeric} ...${bound(state, set)("threads_per_pod")} label="Members in a pod" placeholder="1" min=${1} />
      <${Numeric} ...${timing("poll_interval_ms")} label="Between polls, ms" placeholder="1,000" />
    </div>
    <${Checkbox}
      label="Simulate the standstill on the way there"
      checked=${state.standstill ?? true}
      set=${(/** @type {boolean} */ standstill) => set({ standstill: standstill ? undefined : false })}
    />
    <details open=${Object.keys(state.keda ?? {}).length > 0 || Boolean(state.keda_option)}>
      <summary>KEDA's ScaledObject</summary>
      <div class="pair">
        <${Numeric} ...${keda("lag_threshold")} label="lagThreshold" placeholder="10" />
        <${Numeric} ...${keda("activation_lag_threshold")} label="activationLagThreshold" placeholder="0" />
        <${Numeric} ...${keda("min_replica_count")} label="minReplicaCount" placeholder="0" />
        <${Numeric} ...${keda("max_replica_count")} label="maxReplicaCount" placeholder="100" />
        <${Numeric} ...${keda("tolerance")} label="Tolerance, %" placeholder="10" scale=${0.01} />
        <${Select}
          ...${keda("offset_reset_policy")}
          label="offsetResetPolicy"
          value=${state.keda?.offset_reset_policy ?? "latest"}
          choices=${["latest", "earliest"].map((value) => ({ value, label: value }))}
        />
      </div>
      <${Select}
        ...${bound(state, set)("keda_option")}
        label="Option that is configured"
        choices=${["", ...OPTIONS].map((value) => ({ value, label: value || "none" }))}
      />
      <${Checkbox}
        label="scaleToZeroOnInvalidOffset"
        checked=${state.keda?.scale_to_zero_on_invalid_offset ?? false}
        set=${(/** @type {boolean} */ to_zero) => setKeda({ scale_to_zero_on_invalid_offset: to_zero || null })}
      />
    </details>`;
}
