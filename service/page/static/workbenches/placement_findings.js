/** What is wrong with a reassignment JSON. */
import { DataTable } from "../figure.js";
import { html } from "../lib.js";

/** @param {{findings: any[]}} props */
export function Findings({ findings }) {
  return html`<section>
    <h3>What is wrong with the reassignment</h3>
    ${
      findings.length === 0
        ? html`<p>Nothing was found.</p>`
        : html`<${DataTable}
            caption="Findings"
            columns=${["severity", "rule", "where", "what"]}
            rows=${findings.map(({ severity, rule, pointer, detail }) => [severity, rule, pointer, detail])}
          />`
    }
  </section>`;
}
