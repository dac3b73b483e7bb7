/** The topics of a group: their partitions, now and after a change, and the load of these. */
import { bound, Numeric, Text } from "../fields.js";
import { html } from "../lib.js";
import { fresh, replaced } from "../lists.js";
import { kindOf, withCount, withKind } from "./load.js";
import { LoadKind, LoadOfTopic } from "./load_editor.js";
import { Remove, Rows } from "./rows.js";

/** @typedef {import("./groups.js").Topic} Topic */

/**
 * @param {object} props
 * @param {Topic[]} props.topics @param {(topics: Topic[]) => void} props.set
 * @param {boolean} [props.grows] whether topics may have more partitions after a change
 * @param {boolean} [props.loaded] whether the load of a partition is chosen here
 */
export function Topics({ topics, set, grows = false, loaded = true }) {
  const kind = kindOf(topics);
  const add = () => {
    const names = topics.map(({ topic_name }) => topic_name);
    set([...topics, ...withKind([{ topic_name: fresh("topic", names), partitions_count: 6 }], kind)]);
  };
  const row = (/** @type {Topic} */ topic, /** @type {number} */ i) => {
    const put = (/** @type {Topic | null} */ next) => set(replaced(topics, i, next));
    const change = (/** @type {Partial<Topic>} */ part) => put({ ...topic, ...part });
    const field = bound(topic, change, `/topics/${i}`);
    const partitions = `Partitions of ${topic.topic_name}`;
    return html`<tr>
        <td><${Text} bare ...${field("topic_name")} label="Topic ${i + 1}" /></td>
        <td class="narrow">
          <${Numeric}
            bare
            min=${1}
            ...${field("partitions_count")}
            label=${partitions}
            set=${(/** @type {number | null} */ count) => put(withCount(topic, /** @type {number} */ (count)))}
          />
        </td>
        ${
          grows &&
          html`<td class="narrow">
            <${Numeric}
              bare
              min=${1}
              ...${field("partitions_then")}
              label="${partitions} after the change"
              placeholder="same"
            />
          </td>`
        }
        <td class="act"><${Remove} name=${topic.topic_name} act=${() => put(null)} /></td>
      </tr>
      ${
        kind &&
        html`<tr class="below">
          <td colspan="4"><${LoadOfTopic} place="/topics/${i}" topic=${topic} change=${change} /></td>
        </tr>`
      }`;
  };
  return html`<h2>Topics</h2>
    ${loaded && html`<${LoadKind} topics=${topics} set=${set} />`}
    <${Rows}
      noun="topic"
      columns=${["Topic", "Partitions", ...(grows ? ["Then"] : [])]}
      items=${topics}
      ...${{ row, add }}
    />`;
}
