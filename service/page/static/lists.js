/** Lists that stay as they are: a change makes another list. */

/** The list with another item at a place, or with none: null. @template T @param {T[]} list @param {number} at @param {T | null} item @returns {T[]} */
export function replaced(list, at, item) {
  return list.flatMap((each, i) => (i !== at ? [each] : item === null ? [] : [item]));
}
