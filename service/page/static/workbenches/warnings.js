/** What the service adds to an answer. */
import { html } from "../lib.js";

/** @param {{warnings: string[]}} props */
export function Warnings({ warnings }) {
  if (warnings.length === 0) return null;
  return html`<section>
    <h3>Notes</h3>
    <ul class="effects">
      ${warnings.map((warning) => html`<li>${warning}</li>`)}
    </ul>
  </section>`;
}
