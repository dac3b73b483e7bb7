/** What is wrong with a reassignment JSON. */
import { DataTable } from "../figure.js";
import { html } from "../lib.js";

/** @param {{findings: any[]}} props */
export function Findings({ findings }) {
  return html`<section>
    <h3>The checked reassignment JSON</h3>
    ${
      findings.length === 0
        ? html`<p>No problems found.</p>`
        : html`<${DataTable}
            caption="Findings"
            columns=${["severity", "rule", "where", "what"]}
            rows=${findings.map(({ severity, rule, pointer, detail }) => [severity, rule, pointer, detail])}
          />`
    }
  </section>`;
}
