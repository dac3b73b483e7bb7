/** The answer about a number of members: load, drain time and standstill against the number. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { duration, listed, number } from "../format.js";
import { html } from "../lib.js";
import { curve } from "../pictures/curve.js";

/** @typedef {import("./members.js").MembersState} MembersState */

/** @param {{state: MembersState, answer: any}} props */
export function MembersAnswer({ state, answer }) {
  const { plans, current, current_members_count, recommended } = answer;
  const planned = plans.find((/** @type {any} */ { members_count }) => members_count === recommended);
  const figures = [
    {
      label: "Members now",
      value: number(current_members_count),
      note: current ? `${number(current.idle_members)} without a partition` : "",
    },
    {
      label: "Recommended",
      value: number(recommended),
      note: recommended ? "the fewest within the limits" : "no number keeps the limits",
    },
    planned && {
      label: "Largest load then",
      value: number(planned.worst_load),
      note: planned.drain_seconds === null ? "" : `gone after ${duration(planned.drain_seconds)}`,
    },
    planned &&
      planned.idle_partition_ms !== null && {
        label: "Standstill to get there",
        value: duration(planned.idle_partition_ms / 1000),
        note: `${number(planned.moved)} partitions move`,
      },
  ];
  return html`<p class="verdict" role="status">${conclusion(answer)}</p>
    <${Figures} figures=${figures.filter(Boolean)} />
    <${Load} state=${state} answer=${answer} />
    <${Standstill} answer=${answer} />
    <${Policies} answer=${answer} />
    ${
      answer.warnings.length > 0 &&
      html`<section>
        <ul class="effects">
          ${answer.warnings.map((/** @type {string} */ warning) => html`<li>${warning}</li>`)}
        </ul>
      </section>`
    }`;
}

/** @param {any} answer */
function conclusion({ recommended, current_members_count, worth_using, out_of_reach, balanced }) {
  const reasons = Object.values(out_of_reach);
  const now = `the group has ${number(current_members_count)}`;
  if (recommended !== null) {
    const fewer = balanced?.recommended ?? recommended;
    const keeps = `${number(recommended)} ${recommended === 1 ? "member keeps" : "members keep"} the limits; ${now}.`;
    return fewer < recommended ? `${keeps} With balanced, ${number(fewer)} would do.` : keeps;
  }
  if (reasons.length > 0)
    return String(reasons[0])
      .replace(/\.?$/, ".")
      .replace(/^./, (first) => first.toUpperCase());
  const worth = worth_using.length > 10 ? `${worth_using.slice(0, 9).join(", ")} …` : listed(worth_using.map(String));
  return `Each of these numbers of members lowers the largest load, and no others do: ${worth}; ${now}.`;
}

/** @param {{state: MembersState, answer: any}} props */
function Load({ state, answer }) {
  const { plans, balanced, current_members_count, recommended } = answer;
  const drains = plans.some((/** @type {any} */ { drain_seconds }) => drain_seconds !== null);
  const value = (/** @type {any} */ plan) => (drains ? plan.drain_seconds : plan.worst_load);
  const points = (/** @type {any[]} */ of) =>
    of.map((plan) => ({ x: plan.members_count, y: value(plan), dot: plan.gains }));
  const series = [{ name: answer.assignor, look: "line-before", points: points(plans) }];
  if (balanced) series.unshift({ name: "balanced", look: "line-soft", points: points(balanced.plans) });
  const marks = [{ x: current_members_count, label: `now: ${current_members_count}` }];
  if (recommended !== null && recommended !== current_members_count)
    marks.push({ x: recommended, label: `recommended: ${recommended}` });
  const most = drains ? state.max_lag_seconds : state.max_load;
  const limit =
    most === null ? null : { y: most, label: drains ? `limit: ${duration(most)}` : `limit: ${number(most)}` };
  const measured = drains
    ? "seconds until the lag of the most loaded member is gone"
    : "load of the most loaded member";
  const columns = ["members", "largest load", "mean load", "idle", "lag gone after", "moved", "standstill"];
  const rows = plans.map((/** @type {any} */ plan) => [
    plan.members_count,
    plan.worst_load,
    plan.mean_load,
    plan.idle_members,
    duration(plan.drain_seconds),
    plan.moved,
    duration(seconds(plan)),
  ]);
  const legend = html`<${Legend} marks=${[["kept", answer.assignor], ...(balanced ? [["soft", "balanced"]] : [])]} />`;
  const data = { series, marks, limit, x: "members", y: measured };
  return html`<${Figure}
    title="Load against members"
    summary="A dot marks a number worth using: no smaller one has as low a largest load. Between dots, members are added in vain."
    legend=${legend}
    table=${{ columns, rows }}
    picture=${(/** @type {number} */ width) => curve(data, width)}
  />`;
}

/** @param {any} plan */
const seconds = ({ idle_partition_ms: idle }) => (idle === null ? null : idle / 1000);

/** @param {{answer: any}} props */
function Standstill({ answer: { plans, current_members_count } }) {
  const known = plans.filter((/** @type {any} */ { idle_partition_ms }) => idle_partition_ms !== null);
  if (known.length < 2) return null;
  const points = known.map((/** @type {any} */ plan) => ({
    x: plan.members_count,
    y: seconds(plan) ?? 0,
    dot: plan.gains,
  }));
  const data = {
    series: [{ name: "standstill", look: "line-bad", points }],
    marks: [{ x: current_members_count, label: `now: ${current_members_count}` }],
    limit: null,
    x: "members",
    y: "seconds without a reader, summed over partitions",
  };
  const rows = known.map((/** @type {any} */ plan) => [plan.members_count, seconds(plan), plan.rebalances, plan.moved]);
  return html`<${Figure}
    title="Standstill of getting there"
    summary="How long partitions have no reader until the group has so many members, summed over partitions."
    table=${{ columns: ["members", "standstill in s", "rebalances", "moved"], rows }}
    picture=${(/** @type {number} */ width) => curve(data, width, 200)}
  />`;
}

/** @param {{answer: any}} props */
function Policies({ answer: { policies } }) {
  if (!policies?.length) return null;
  const rows = policies.map((/** @type {any} */ each) => [
    each.option ?? "as it comes",
    each.replicas,
    each.members_count,
    each.idle_members,
    each.worst_load,
    duration(each.drain_seconds),
  ]);
  const title = `What KEDA ${policies[0].release} would choose`;
  return html`<section>
    <h3>${title}</h3>
    <${DataTable}
      caption=${title}
      columns=${["option", "pods", "members", "idle", "largest load", "lag gone after"]}
      rows=${rows}
    />
  </section>`;
}
