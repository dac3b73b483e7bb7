/** The topics of a group: their partitions, before and after the change, and the load of these. */
import { Numeric, Text } from "../fields.js";
import { html } from "../lib.js";
import { fresh, replaced } from "../lists.js";
import { kindOf, withCount, withKind } from "./load.js";
import { LoadKind, LoadOfTopic } from "./load_editor.js";
import { More, useMore } from "./more.js";

/** @typedef {import("./groups.js").Topic} Topic */

/** @param {{topics: Topic[], set: (topics: Topic[]) => void}} props */
export function Topics({ topics, set }) {
  const [shown, more] = useMore();
  const change = (/** @type {number} */ i, /** @type {Topic | null} */ topic) => set(replaced(topics, i, topic));
  const add = () => {
    const topic = {
      topic_name: fresh(
        "topic",
        topics.map(({ topic_name }) => topic_name),
      ),
      partitions_count: 6,
    };
    set([...topics, ...withKind([topic], kindOf(topics))]);
  };
  const kind = kindOf(topics);
  return html`<h2>Topics</h2>
    <${LoadKind} topics=${topics} set=${set} />
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Topic</th>
          <th scope="col">Partitions</th>
          <th scope="col">Then</th>
          <th><span class="hidden">Remove</span></th>
        </tr>
      </thead>
      <tbody>
        ${topics.slice(0, shown).map(
          (topic, i) =>
            html`<tr>
                <td>
                  <${Text}
                    bare
                    place="/topics/${i}/topic_name"
                    label="Topic ${i + 1}"
                    value=${topic.topic_name}
                    set=${(/** @type {string} */ topic_name) => change(i, { ...topic, topic_name })}
                  />
                </td>
                <td class="narrow">
                  <${Numeric}
                    bare
                    min=${1}
                    place="/topics/${i}/partitions_count"
                    label="Partitions of ${topic.topic_name}"
                    value=${topic.partitions_count}
                    set=${(/** @type {number | null} */ count) => change(i, withCount(topic, /** @type {number} */ (count)))}
                  />
                </td>
                <td class="narrow">
                  <${Numeric}
                    bare
                    min=${1}
                    place="/topics/${i}/partitions_then"
                    label="Partitions of ${topic.topic_name} after the change"
                    placeholder="same"
                    value=${topic.partitions_then}
                    set=${(/** @type {number | null} */ partitions_then) => change(i, { ...topic, partitions_then })}
                  />
                </td>
                <td class="act">
                  <button
                    type="button"
                    class="remove"
                    aria-label="Remove ${topic.topic_name}"
                    onClick=${() => change(i, null)}
                  >
                    ×
                  </button>
                </td>
              </tr>
              ${
                kind &&
                html`<tr class="below">
                  <td colspan="4">
                    <${LoadOfTopic}
                      place="/topics/${i}"
                      topic=${topic}
                      change=${(/** @type {Partial<Topic>} */ part) => change(i, { ...topic, ...part })}
                    />
                  </td>
                </tr>`
              }`,
        )}
      </tbody>
    </table>
    <${More} of=${topics.length} shown=${shown} more=${more} noun="topic" />
    <button type="button" onClick=${add}>Add topic</button>`;
}
