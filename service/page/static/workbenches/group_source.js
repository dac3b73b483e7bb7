/** A group from what people have at hand: pasted or dropped. */
import { groupsIn } from "../descriptions.js";
import { Select } from "../fields.js";
import { html, useState } from "../lib.js";
import { Pasted } from "./pasted.js";

/** @typedef {import("../descriptions.js").Group} Group */

/** @param {{take: (group: Group) => void}} props */
export function GroupSource({ take }) {
  const [found, setFound] = useState(/** @type {Group[]} */ ([]));
  const [chosen, setChosen] = useState("");
  const choose = (/** @type {Group} */ group) => {
    setChosen(group.group_id);
    take(group);
  };
  const read = (/** @type {string} */ text) => {
    const groups = groupsIn(text);
    setFound(groups);
    choose(groups[0]);
  };
  return html`<details>
    <summary>Take a group from Kafka</summary>
    <${Pasted}
      place="/paste"
      label="Paste kafka-consumer-groups --describe, or a snapshot"
      placeholder="GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID …"
      read=${read}
    />
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
