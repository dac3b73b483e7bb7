/** The brokers by rack, to be drained and added by clicking. */
import { number } from "../format.js";
import { html } from "../lib.js";

/** @typedef {import("./placement.js").PlacementState} PlacementState */
/** @typedef {import("./placement.js").Broker} Broker */

/** @param {{state: PlacementState, plan: any, set: (change: Partial<PlacementState>) => void}} props */
export function Brokers({ state: { brokers }, plan, set }) {
  const racks = [...new Set(brokers.map(({ rack_id }) => rack_id ?? ""))].sort();
  const place = new Map(
    plan.after.broker_load.broker_ids.map((/** @type {number} */ id, /** @type {number} */ i) => [id, i]),
  );
  const load = (/** @type {"before" | "after"} */ side, /** @type {number} */ id) =>
    plan[side].broker_load.replicas.counts[place.get(id) ?? -1] ?? 0;
  const most = Math.max(
    ...brokers.flatMap(({ broker_id }) => [load("before", broker_id), load("after", broker_id)]),
    1,
  );
  const press = (/** @type {Broker} */ pressed) =>
    set({
      brokers: brokers.flatMap((broker) =>
        broker.broker_id !== pressed.broker_id
          ? [broker]
          : broker.change === "joins"
            ? []
            : [{ ...broker, change: broker.change === "drains" ? "" : "drains" }],
      ),
    });
  const add = (/** @type {string} */ rack_id) => {
    const broker_id = Math.max(...brokers.map((broker) => broker.broker_id)) + 1;
    set({ brokers: [...brokers, { broker_id, rack_id: rack_id || null, change: "joins" }] });
  };
  return html`<section>
    <h3>1 · Select brokers</h3>
    <p class="soft small">Press a broker to drain it, or to keep it again; a broker that was added goes away.</p>
    <div class="racks">
      ${racks.map(
        (rack) =>
          html`<div class="rack">
            <h4>${rack ? `rack ${rack}` : "no rack"}</h4>
            ${brokers
              .filter(({ rack_id }) => (rack_id ?? "") === rack)
              .map(
                (broker) =>
                  html`<${Chip}
                    key=${broker.broker_id}
                    broker=${broker}
                    before=${load("before", broker.broker_id)}
                    after=${load("after", broker.broker_id)}
                    most=${most}
                    press=${() => press(broker)}
                  />`,
              )}
            <button
              type="button"
              onClick=${() => add(rack)}
              aria-label="Add broker to ${rack ? `rack ${rack}` : "no rack"}"
            >
              Add broker
            </button>
          </div>`,
      )}
    </div>
  </section>`;
}

const WORDS = { "": "", drains: "drains", joins: "new" };

/** @param {{broker: Broker, before: number, after: number, most: number, press: () => void}} props */
function Chip({ broker: { broker_id, change = "" }, before, after, most, press }) {
  const bar = (/** @type {number} */ value) => (100 * value) / most;
  return html`<button
    type="button"
    class="chip ${change}"
    aria-pressed=${change === "drains" ? "true" : "false"}
    onClick=${press}
  >
    <span class="name">broker ${broker_id} <em>${WORDS[change]}</em></span>
    <span class="figure">${before === after ? number(after) : html`${number(before)} → ${number(after)}`}</span>
    <svg viewBox="0 0 100 4" width="100%" height="4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="kept" width=${bar(Math.min(before, after))} height="4" />
      ${after > before && html`<rect class="taken" x=${bar(before)} width=${bar(after - before)} height="4" />`}
      ${before > after && html`<rect class="gone" x=${bar(after)} width=${bar(before - after)} height="4" />`}
    </svg>
  </button>`;
}
