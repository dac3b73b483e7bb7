/** The batches of a plan, and the files to execute them with. */
import { download } from "../files.js";
import { count, duration, number, size } from "../format.js";
import { html } from "../lib.js";

/** Batches that the page shows; the answer has all. */
const MOST_BATCHES = 100;

/** What a figure begins with that is the least, because write rates are not known. @param {any} plan */
export const atLeast = ({ write_rates_known }) => (write_rates_known ? "" : "at least ");

/** How long a plan takes, as a figure. @param {any} plan */
export function durationOf(plan) {
  const { duration_seconds: seconds, throttle_bytes_per_second: throttle, batches } = plan;
  const divided = count(batches.length, "batch", "batches");
  const note =
    seconds === null && throttle === null && batches.length > 0
      ? `${divided}; a throttle and sizes would tell`
      : divided;
  return { label: "Duration", value: seconds === null ? duration(null) : `${atLeast(plan)}${duration(seconds)}`, note };
}

/** @param {{plan: any}} props the answer to a plan between brokers, or between disks */
export function Batches({ plan }) {
  const { batches, moves, preferred_leader_elections: elections = null } = plan;
  const back = (plan.rollback_needs ?? []).length === 0;
  const row = (/** @type {number} */ i) => ({ ...batches[i], back, name: String(i + 1), suffix: `-${i + 1}` });
  const all = {
    moves: moves.replicas,
    bytes: moves.bytes,
    duration_seconds: plan.duration_seconds,
    reassignment: plan.reassignment,
    rollback: plan.rollback,
    back,
    name: "all",
    suffix: "",
  };
  const shown = batches.slice(0, MOST_BATCHES).map((/** @type {any} */ _, /** @type {number} */ i) => row(i));
  if (batches.length === 0) return null;
  return html`<h4>Batches</h4>
    <div class="wide cards" tabindex="0" role="region" aria-label="Batches">
      <table>
        ${
          batches.length > MOST_BATCHES &&
          html`<caption>
            The first ${MOST_BATCHES} of ${number(batches.length)} batches; the answer's JSON has all.
          </caption>`
        }
        <thead>
          <tr>
            <th scope="col">batch</th>
            <th scope="col" class="number">copies</th>
            <th scope="col" class="number">bytes</th>
            <th scope="col" class="number">duration</th>
            <th scope="col" class="number">files</th>
          </tr>
        </thead>
        <tbody>
          ${[...shown, all].map((batch) => html`<${Batch} batch=${batch} />`)}
        </tbody>
      </table>
    </div>
    ${
      elections?.partitions.length > 0 &&
      html`<p class="hint">
        After all copying, kafka-leader-election makes the preferred leaders lead:${" "}
        <button type="button" onClick=${saved("elections.json", elections)}>elections.json</button>
      </p>`
    }`;
}

/** @param {{batch: any}} props */
function Batch({ batch: { name, suffix, moves, bytes, duration_seconds, reassignment, rollback, back } }) {
  const files = back ? { reassignment, rollback } : { reassignment };
  return html`<tr class=${suffix === "" ? "total" : ""}>
    <td data-label="batch">${name}</td>
    <td class="number" data-label="copies">${number(moves)}</td>
    <td class="number" data-label="bytes">${size(bytes)}</td>
    <td class="number" data-label="duration">${duration(duration_seconds)}</td>
    <td class="number" data-label="files">
      <span class="downloads">
        ${Object.entries(files).map(
          ([file, value]) =>
            html`<button type="button" onClick=${saved(`${file}${suffix}.json`, value)}>${file}${suffix}.json</button>`,
        )}
      </span>
    </td>
  </tr>`;
}

/** @param {string} name @param {any} value */
const saved = (name, value) => () => download(name, JSON.stringify(value, null, 1), "application/json");
