/** What Kafka's tools print, or a snapshot: pasted, or from a file. */
import { Drop, Lines } from "../fields.js";
import { html, useState } from "../lib.js";

/**
 * @param {object} props
 * @param {string} props.place JSON pointer @param {string} props.label @param {string} props.placeholder
 * @param {(text: string) => void} props.read throws what is wrong with the text, which is then shown
 */
export function Pasted({ place, label, placeholder, read }) {
  const [fault, setFault] = useState("");
  const take = (/** @type {string} */ text) => {
    if (text.trim() === "") return;
    try {
      read(text);
      setFault("");
    } catch (error) {
      setFault(/** @type {Error} */ (error).message);
    }
  };
  return html`<${Lines} place=${place} label=${label} value="" placeholder=${placeholder} set=${take} />
    <${Drop}
      label="Open a file with one of these"
      accept=".json,.txt"
      take=${async (/** @type {File} */ file) => take(await file.text())}
    />
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}`;
}
