/** A group from what people have at hand: pasted or dropped. */
import { groupsIn } from "../descriptions.js";
import { Drop, Lines, Select } from "../fields.js";
import { html, useState } from "../lib.js";

/** @typedef {import("../descriptions.js").Group} Group */

/** @param {{take: (group: Group) => void}} props */
export function GroupSource({ take }) {
  const [found, setFound] = useState(/** @type {Group[]} */ ([]));
  const [chosen, setChosen] = useState("");
  const [fault, setFault] = useState("");
  const choose = (/** @type {Group} */ group) => {
    setChosen(group.group_id);
    take(group);
  };
  const read = (/** @type {string} */ text) => {
    if (text.trim() === "") return;
    try {
      const groups = groupsIn(text);
      setFault("");
      setFound(groups);
      choose(groups[0]);
    } catch (error) {
      setFault(/** @type {Error} */ (error).message);
    }
  };
  return html`<details>
    <summary>Take a group from Kafka</summary>
    <${Lines}
      place="/paste"
      label="Paste kafka-consumer-groups --describe, or a snapshot"
      value=""
      placeholder="GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID …"
      set=${read}
    />
    <${Drop}
      label="Open a file with one of these"
      accept=".json,.txt"
      take=${async (/** @type {File} */ file) => read(await file.text())}
    />
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      found.length > 1 &&
      html`<${Select}
        place="/group_id"
        label="Group"
        value=${chosen}
        choices=${found.map(({ group_id }) => ({ value: group_id, label: group_id }))}
        set=${(/** @type {string} */ id) => choose(/** @type {Group} */ (found.find(({ group_id }) => group_id === id)))}
      />`
    }
  </details>`;
}
