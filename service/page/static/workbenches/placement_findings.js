/** What is wrong with a reassignment JSON. */
import { DataTable } from "../figure.js";
import { html } from "../lib.js";

/** @param {{conclusion?: string, findings: any[]}} props */
export function Findings({ conclusion, findings }) {
  return html`<section>
    <h3>The checked reassignment JSON</h3>
    ${conclusion && html`<p>${conclusion}</p>`}
    ${
      findings.length > 0 &&
      html`<${DataTable}
        caption="Findings"
        columns=${["severity", "rule", "where", "what"]}
        rows=${findings.map(({ severity, rule, pointer, detail }) => [severity, rule, pointer, detail])}
      />`
    }
  </section>`;
}
