/** How large a group is: the number of its members. */
import { fresh } from "../lists.js";

/** @typedef {import("./groups.js").Member} Member */

/** The name of a further member, which is like that of the last. @param {{member_id: string}[]} members */
export function nextName(members) {
  const names = members.map(({ member_id }) => member_id);
  return fresh(names.at(-1)?.replace(/-?\d+$/, "") || "member", names);
}

/** So many of the members, or further ones that subscribe like the last. @param {Member[]} members @param {number | null} size */
export function resized(members, size) {
  const sized = members.slice(0, Math.max(size ?? 0, 0));
  const topic_names = members.at(-1)?.topic_names;
  while (sized.length < (size ?? 0)) sized.push({ member_id: nextName(sized), topic_names });
  return sized;
}
