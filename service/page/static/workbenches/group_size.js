/** How large a group is: the partitions of each topic, and the number of members. */
import { Numeric } from "../fields.js";
import { html } from "../lib.js";
import { fresh, replaced } from "../lists.js";
import { withCount } from "./load.js";
import { LoadOfTopic } from "./load_editor.js";
import { More, useMore } from "./rows.js";

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {import("./groups.js").Member} Member */

/** The name of a further member, which is like that of the last. @param {{member_id: string}[]} members */
export function nextName(members) {
  const names = members.map(({ member_id }) => member_id);
  return fresh(names.at(-1)?.replace(/-?\d+$/, "") || "member", names);
}

/** So many of the members, or further ones that subscribe like the last. @param {Member[]} members @param {number | null} size */
export function resized(members, size) {
  const sized = members.slice(0, Math.max(size ?? 1, 1));
  const topic_names = members.at(-1)?.topic_names;
  while (sized.length < (size ?? 1)) sized.push({ member_id: nextName(sized), topic_names });
  return sized;
}

/** A field for the partitions of each topic, and one for their load where it is known. @param {{topics: Topic[], set: (topics: Topic[]) => void}} props */
export function TopicSizes({ topics, set }) {
  const [shown, more] = useMore();
  const change = (/** @type {number} */ i) => (/** @type {Topic} */ topic) => set(replaced(topics, i, topic));
  return html`${topics
      .slice(0, shown)
      .map(
        (topic, i) =>
          html`<${Numeric}
              place="/topics/${i}/partitions_count"
              label="Partitions of ${topic.topic_name}"
              min=${1}
              value=${topic.partitions_count}
              set=${(/** @type {number | null} */ count) => change(i)(withCount(topic, count ?? 1))}
            />
            <${LoadOfTopic}
              place="/topics/${i}"
              topic=${topic}
              change=${(/** @type {Partial<Topic>} */ part) => change(i)({ ...topic, ...part })}
            />`,
      )} <${More} of=${topics.length} shown=${shown} more=${more} noun="topic" />`;
}
