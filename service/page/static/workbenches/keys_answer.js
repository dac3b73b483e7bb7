/** The answer about keys: skew, its cause, what moves, and the same with other partitioners. */
import { DataTable, Figure, Figures, Legend } from "../figure.js";
import { count, listed, number, percent, ratio } from "../format.js";
import { html, useRef } from "../lib.js";
import { curve } from "../pictures/curve.js";
import { histogram } from "../pictures/histogram.js";
import { multiples } from "../pictures/multiples.js";

/** @typedef {import("./keys.js").KeysAnswerData} KeysAnswerData */

/** @param {{state: import("./keys.js").KeysState, answer: KeysAnswerData}} props */
export function KeysAnswer({ state, answer: { plan, limits, hottest, throughput, compared } }) {
  const { records, moved, meets } = plan;
  const kept = Object.values(meets ?? {});
  const figures = [
    { label: "Skew of records", value: ratio(records.skew), note: records.cause },
    { label: "Fullest partition", value: number(records.max), note: `mean: ${number(records.mean)} records` },
    {
      label: "Keys that move",
      value: percent(moved?.keys),
      note: moved ? `with ${percent(moved.records)} of the records` : "a new topic",
    },
    kept.length > 0 && {
      label: "Limits",
      value: kept.every(Boolean) ? "kept" : "exceeded",
      tone: kept.every(Boolean) ? /** @type {const} */ ("good") : /** @type {const} */ ("bad"),
      note: limitsOf(state),
    },
    throughput && {
      label: "Throughput needs",
      value: number(throughput.partitions_count),
      tone: throughput.partitions_count > plan.partitions_count ? /** @type {const} */ ("bad") : "",
      note: `partitions, for ${count(throughput.producers, "producer")} and ${count(throughput.consumers, "consumer")}`,
    },
  ];
  return html`<p class="verdict" role="status">${limits.conclusion}</p>
    ${throughput && html`<p class="soft">${throughput.conclusion}</p>`}
    <${Figures} figures=${figures.filter(Boolean)} />
    <${Partitions} plan=${plan} />
    <${Comparison} compared=${compared} />
    ${hottest.length > 0 && html`<${Hottest} hottest=${hottest} mean=${records.mean} />`}`;
}

/** @param {import("./keys.js").KeysState} state */
function limitsOf({ max_skew, max_partition_records_per_second: most }) {
  const named = [max_skew !== null && `skew ${ratio(max_skew)}`, most !== null && `${number(most)} records/s`];
  return `at most ${listed(/** @type {string[]} */ (named.filter(Boolean)))}`;
}

/** @param {any} plan @returns {{low: number, high: number}} records of the fullest partition, by chance alone */
const bandOf = ({ records: { chance, mean } }) => ({ low: chance.low * mean, high: chance.high * mean });

/** @param {{plan: any}} props */
function Partitions({ plan }) {
  const { records, keys } = plan;
  const band = bandOf(plan);
  const summary = `The shaded band is where the fullest of ${number(plan.partitions_count)} partitions lies by chance, in 99 of 100 cases: ${number(Math.round(band.low))} to ${number(Math.round(band.high))} records. The dashed line is the mean.`;
  const rows = records.counts.map((/** @type {number} */ value, /** @type {number} */ i) => [i, value, keys.counts[i]]);
  return html`<${Figure}
    title="Records per partition"
    summary=${summary}
    table=${{ columns: ["partition", "records", "keys"], rows }}
    picture=${(/** @type {number} */ width) => histogram({ counts: records.counts, mean: records.mean, band }, width)}
  />`;
}

/** What was compared last: what is below keeps its place while the slider moves. @param {{compared: import("./keys.js").Compared | null}} props */
function Comparison({ compared }) {
  const last = useRef(compared);
  if (compared) last.current = compared;
  if (!last.current) return null;
  const { state, counts, rivals, writers } = last.current;
  return html`<div class=${compared ? "" : "stale"}>
    ${counts.length > 1 && html`<${Counts} state=${state} counts=${counts} />`}
    ${rivals.length > 1 && html`<${Rivals} rivals=${rivals} />`} ${writers && html`<${Writers} writers=${writers} />`}
  </div>`;
}

/** @param {{state: import("./keys.js").KeysState, counts: any[]}} props */
function Counts({ state: { count: chosen, current, max_skew }, counts }) {
  const points = (/** @type {(plan: any) => number} */ value) =>
    counts.map((plan) => ({
      x: plan.partitions_count,
      y: value(plan),
      dot: plan.partitions_count === chosen,
      note: `skew ${ratio(value(plan))}`,
    }));
  const skew = (/** @type {any} */ plan) => plan.records.skew;
  const data = {
    series: [
      {
        name: "by chance at most",
        look: "line-soft",
        stairs: false,
        points: points(({ records }) => records.chance.high),
      },
      { name: "these keys", look: "line-before", stairs: false, points: points(skew) },
    ],
    marks: [
      { x: chosen, label: `chosen: ${number(chosen)}` },
      ...(current === null || current === chosen ? [] : [{ x: current, label: `now: ${number(current)}` }]),
    ],
    limit: max_skew === null ? null : { y: max_skew, label: `limit: ${ratio(max_skew)}` },
    x: "partitions",
    y: "skew (fullest partition ÷ mean)",
  };
  const rows = counts.map((plan) => [plan.partitions_count, skew(plan), plan.records.chance.high, plan.records.max]);
  return html`<${Figure}
    title="Skew against the number of partitions"
    summary="The fullest partition by the mean of all, and what chance alone stays below in 99 of 100 cases."
    legend=${html`<${Legend}
      marks=${[
        ["kept", "these keys"],
        ["soft", "by chance at most"],
      ]}
    />`}
    table=${{ columns: ["partitions", "skew", "by chance at most", "records of the fullest"], rows }}
    picture=${(/** @type {number} */ width) => curve(data, width)}
  />`;
}

/** @param {{rivals: any[]}} props */
function Rivals({ rivals }) {
  const data = rivals.map((plan) => ({
    name: plan.partitioner,
    note: `skew ${ratio(plan.records.skew)}`,
    counts: plan.records.counts,
    mean: plan.records.mean,
    band: bandOf(plan),
  }));
  const rows = rivals.map(({ partitioner, records, moved }) => [
    partitioner,
    records.skew,
    records.max,
    records.empty_partitions,
    moved?.keys ?? null,
  ]);
  return html`<${Figure}
    title="The same keys with other partitioners"
    summary="All on one scale. Where a bar is above the band, chance alone would seldom fill a partition so much."
    table=${{ columns: ["partitioner", "skew", "fullest partition", "empty partitions", "share of keys moved"], rows }}
    picture=${(/** @type {number} */ width) => multiples(data, width)}
  />`;
}

/** @param {{hottest: any[], mean: number}} props */
function Hottest({ hottest, mean }) {
  const rows = hottest.map(({ key, records, share }) => [
    key ?? "(no key)",
    records,
    percent(share),
    `${ratio(records / mean)} ×`,
  ]);
  return html`<section>
    <h3>The hottest keys</h3>
    <${DataTable}
      caption="The hottest keys"
      columns=${["key", "records", "of all", "of a mean partition"]}
      rows=${rows}
    />
  </section>`;
}

/** @param {{writers: any}} props */
function Writers({ writers }) {
  const rows = writers.candidates
    .slice(0, 8)
    .map((/** @type {any} */ each) => [
      each.partitioners.slice(0, 3).join(", "),
      each.pairs_explained,
      each.pairs,
      each.ruled_out ? "ruled out" : "possible",
    ]);
  return html`<section>
    <h3>Who wrote this topic?</h3>
    <p>${writers.conclusion}</p>
    <${DataTable} caption="Partitioners" columns=${["partitioner", "explained", "of pairs", ""]} rows=${rows} />
  </section>`;
}
