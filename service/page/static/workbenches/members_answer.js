/** The answer about a number of members: load, drain time and standstill against the number. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { count, duration, number, percent } from "../format.js";
import { html } from "../lib.js";
import { curve } from "../pictures/curve.js";
import { Warnings } from "./warnings.js";

/** @typedef {import("./members.js").MembersState} MembersState */

/** @param {{state: MembersState, answer: any}} props */
export function MembersAnswer({ state, answer }) {
  const { plans, current, current_members_count, recommended } = answer;
  const pods = (state.threads_per_pod ?? 1) > 1;
  const planned = plans.find((/** @type {any} */ { members_count }) => members_count === recommended);
  const share = (planned ?? current)?.zone_traffic?.local_share;
  const figures = [
    {
      label: "Members now",
      value: number(current_members_count),
      note: current ? `${number(current.idle_members)} without a partition` : "",
    },
    {
      label: "Recommended",
      value: number(recommended),
      note: recommended && pods ? `in ${count(planned.pods, "pod")}` : "",
    },
    planned && {
      label: "Largest load then",
      value: number(planned.worst_load),
      note: planned.drain_seconds === null ? "" : `gone after ${duration(planned.drain_seconds)}`,
    },
    share !== undefined && {
      label: "Can be read within its zone",
      value: percent(share),
      note: `of the partitions, with ${count((planned ?? current).members_count, "member")}`,
    },
    planned &&
      planned.idle_partition_ms !== null && {
        label: "Standstill to get there",
        value: duration(planned.idle_partition_ms / 1000),
        note: `summed over partitions, of which ${number(planned.moved)} ${planned.moved === 1 ? "moves" : "move"}`,
      },
  ];
  return html`<p class="verdict" role="status">${answer.conclusion}</p>
    <${Figures} figures=${figures.filter(Boolean)} />
    <${Load} state=${state} answer=${answer} />
    <${Standstill} answer=${answer} />
    <${Policies} answer=${answer} option=${state.keda_option} />
    <${Warnings} warnings=${answer.warnings} />`;
}

/** Whether each number up to the largest is planned. @param {any[]} plans */
const isEach = (plans) => plans.length === plans.at(-1).members_count;

/** @param {{state: MembersState, answer: any}} props */
function Load({ state, answer }) {
  const { plans, balanced } = answer;
  const drains = plans.some((/** @type {any} */ { drain_seconds }) => drain_seconds !== null);
  const points = (/** @type {any[]} */ of) =>
    of.map((plan) => ({
      x: plan.members_count,
      y: drains ? plan.drain_seconds : plan.worst_load,
      dot: plan.gains,
      note: `${loadOf(plan)}${drains ? `, gone after ${duration(plan.drain_seconds)}` : ""}`,
    }));
  const series = [{ name: answer.assignor, look: "line-before", stairs: true, points: points(plans) }];
  if (balanced) series.unshift({ name: "balanced", look: "line-soft", stairs: true, points: points(balanced.plans) });
  const { max_load = null, max_lag_seconds = null } = state.limits ?? {};
  const rate = state.consumption_rate ?? 1;
  const limits = [
    max_lag_seconds === null ? null : { y: max_lag_seconds, label: `limit: ${duration(max_lag_seconds)}` },
    max_load === null
      ? null
      : { y: drains ? max_load / rate : max_load, label: `limit: a load of ${number(max_load)}` },
  ].filter((limit) => limit !== null);
  const limit = limits.sort((a, b) => a.y - b.y)[0] ?? null;
  const measured = drains
    ? "seconds until the lag of the most loaded member is gone"
    : "load of the most loaded member";
  const other = new Map((balanced?.plans ?? []).map((/** @type {any} */ plan) => [plan.members_count, plan]));
  const racked = plans.some((/** @type {any} */ { zone_traffic }) => zone_traffic);
  const columns = [
    ...["members", "pods", "worth using", "largest load", "mean load", "most partitions", "idle", "lag gone after"],
    ...["moved", "rebalances", "standstill of all partitions", "largest load with balanced"],
    ...(racked ? ["can be read within its zone"] : []),
  ];
  const rows = plans.map((/** @type {any} */ plan) => [
    ...[plan.members_count, plan.pods, plan.gains ? "yes" : "no", plan.worst_load, plan.mean_load],
    ...[plan.most_partitions, plan.idle_members, duration(plan.drain_seconds), plan.moved, plan.rebalances],
    ...[duration(seconds(plan)), other.get(plan.members_count)?.worst_load ?? null],
    ...(racked ? [percent(plan.zone_traffic?.local_share)] : []),
  ]);
  const legend = html`<${Legend} marks=${[["kept", answer.assignor], ...(balanced ? [["soft", "balanced"]] : [])]} />`;
  const data = { series, marks: marksOf(answer, state.keda_option), limit, x: "members", y: measured };
  return html`<${Figure}
    title="Load against members"
    summary="A dot marks a number worth using: no smaller one ${isEach(plans) ? "" : "that is planned "}has as low a largest load."
    legend=${legend}
    table=${{ columns, rows }}
    picture=${(/** @type {number} */ width) => curve(data, width)}
  />`;
}

/** @param {any} plan */
const loadOf = ({ worst_load }) => `a load of ${number(worst_load)}`;

/** Is this KEDA's choice with the option that is configured? @param {any} policy @param {string | undefined} configured */
const isSet = ({ option }, configured) => (option ?? "") === (configured ?? "");

/** Numbers of members that have a name. @param {any} answer @param {string | undefined} option of KEDA @returns {{x: number, label: string}[]} */
function marksOf({ plans, current_members_count: now, recommended, policies }, option) {
  const largest = plans.at(-1).members_count;
  const keda = policies?.find((/** @type {any} */ each) => isSet(each, option))?.members_count ?? null;
  return [
    { x: now, label: `now: ${number(now)}` },
    recommended !== null && recommended !== now && { x: recommended, label: `recommended: ${number(recommended)}` },
    keda !== null && { x: Math.min(keda, largest), label: `KEDA: ${number(keda)}` },
  ].filter((mark) => mark !== false);
}

/** @param {any} plan */
const seconds = ({ idle_partition_ms: idle }) => (idle === null ? null : idle / 1000);

/** @param {{answer: any}} props */
function Standstill({ answer }) {
  const { plans, current_members_count } = answer;
  const known = plans.filter((/** @type {any} */ { idle_partition_ms }) => idle_partition_ms !== null);
  if (known.length < 2) return null;
  const points = known.map((/** @type {any} */ plan) => ({
    x: plan.members_count,
    y: seconds(plan) ?? 0,
    dot: plan.gains,
    note: duration(seconds(plan)),
  }));
  const data = {
    series: [{ name: "standstill", look: "line-bad", stairs: false, points }],
    marks: [{ x: current_members_count, label: `now: ${current_members_count}` }],
    limit: null,
    x: "members",
    y: "seconds without a reader, summed over partitions",
  };
  const rows = known.map((/** @type {any} */ plan) => [
    ...[plan.members_count, seconds(plan), plan.longest_idle_ms / 1000, plan.rebalances, plan.moved],
  ]);
  return html`<${Figure}
    title="Standstill on the way there"
    summary="How long partitions have no reader until the group has each number of members, summed over partitions. A dot marks a number worth using."
    table=${{ columns: ["members", "standstill of all partitions in s", "longest of a partition in s", "rebalances", "moved"], rows }}
    picture=${(/** @type {number} */ width) => curve(data, width, 200)}
  />`;
}

/** @param {{answer: any, option: string | undefined}} props */
function Policies({ answer: { policies }, option }) {
  if (!policies?.length) return null;
  const rows = policies.map((/** @type {any} */ each) => [
    `${each.option ?? "none"}${option && isSet(each, option) ? ", as configured" : ""}`,
    each.total_lag,
    each.replicas,
    each.members_count,
    each.idle_members,
    each.worst_load,
    duration(each.drain_seconds),
  ]);
  const title = `What KEDA ${policies[0].release} would choose`;
  return html`<section>
    <h3>${title}</h3>
    <p class="soft small">
      From the same lag, by each of its options, once it has settled; above, by the one configured.
    </p>
    <${DataTable}
      caption=${title}
      columns=${["option", "lag", "pods", "members", "idle", "largest load", "gone after"]}
      rows=${rows}
    />
  </section>`;
}
