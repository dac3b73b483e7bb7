/** The answer about a placement: what moves, who holds what, and what further copies would buy. */
import { Figure, Figures } from "../figure.js";
import { number, plain, size } from "../format.js";
import { html } from "../lib.js";
import { frontier as frontierPicture } from "../pictures/frontier.js";
import { atLeast, durationOf } from "./batches.js";
import { CheckTables } from "./placement_check.js";
import { Findings } from "./placement_findings.js";
import { Matrix } from "./placement_matrix.js";
import { Review } from "./placement_review.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("./placement.js").PlacementAnswerData} PlacementAnswerData */
/** @typedef {(change: Partial<PlacementState>) => void} Set */

/** @param {{state: PlacementState, answer: PlacementAnswerData, set: Set}} props */
export function PlacementAnswer({ state, answer: { check, plan, frontier, linted }, set }) {
  return html`${linted && html`<${Findings} ...${linted} />`}
    ${
      plan &&
      html`<p class="verdict" role="status">${plain(plan.conclusion)}</p>
        <${Figures} figures=${figures(plan, state)} />`
    }
    <${Matrix} state=${state} plan=${plan} set=${set} />
    ${frontier.length > 1 && html`<${Frontier} frontier=${frontier} plan=${plan} balance=${state.balance ?? "replicas"} set=${set} />`}
    ${plan ? html`<${Review} state=${state} plan=${plan} />` : html`<${CheckTables} check=${check} />`}`;
}

/** @param {any} plan @param {PlacementState} state */
function figures(plan, state) {
  const { moves, throttle_needed_bytes_per_second } = plan;
  const bytes = state.balance === "bytes";
  const bound = `lower bound: ${bytes ? size(moves.lower_bound) : number(moves.lower_bound)}`;
  const needed = throttle_needed_bytes_per_second;
  return [
    { label: "Replicas copied", value: number(moves.replicas), note: bytes ? "" : bound },
    {
      label: "Bytes copied",
      value: size(moves.bytes),
      note: moves.bytes === null ? "sizes are not known" : bytes ? bound : "",
    },
    durationOf(plan),
    { label: "Preferred leaders that change", value: number(moves.leaders) },
    moves.elections > 0 && { label: "Preferred leader elections", value: number(moves.elections) },
    needed && { label: "Throttle needed", value: `${atLeast(plan)}${size(needed)}/s`, note: "for all within the time" },
  ].filter(Boolean);
}

/** @param {{frontier: any[], plan: any, balance: any, set: Set}} props */
function Frontier({ frontier, plan, balance, set }) {
  const bytes = balance === "bytes";
  const points = frontier.map(({ copies, spread, proven }) => ({ price: copies, goal: spread, proven }));
  const { replicas } = plan.moves;
  const goal = `spread of ${bytes || balance === "replicas" ? balance : "the load"}`;
  const rows = frontier.map(({ copies, bytes: copied, spread, stddev, proven }) => [
    copies,
    copied === null ? null : size(copied),
    bytes ? size(spread) : spread,
    bytes ? size(stddev) : stddev,
    proven ? "yes" : "no",
  ]);
  const [least, most] = [frontier[0].copies, frontier[frontier.length - 1].copies];
  const choose = (/** @type {any} */ event) => set({ objective: "even", max_moves: Number(event.target.value) });
  return html`<${Figure}
    title="What more copies gain"
    summary="Copies against the ${goal} over brokers: the largest load less the smallest, each by its broker's share. The large dot is the plan."
    legend=${html`<label class="slider">
      Copies at most
      <input type="range" min=${least} max=${most} value=${replicas} onChange=${choose} />
      <output>${number(replicas)}</output>
    </label>`}
    table=${{ columns: ["copies", "bytes", "spread", "standard deviation", "proven"], rows }}
    picture=${(/** @type {number} */ width) => frontierPicture({ points, chosen: replicas, price: "replicas copied", goal }, width)}
  />`;
}
