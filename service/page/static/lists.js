/** Lists that stay as they are: a change makes another list. */

/** The list with another item at a place, or with none: null. @template T @param {T[]} list @param {number} at @param {T | null} item @returns {T[]} */
export function replaced(list, at, item) {
  return list.flatMap((each, i) => (i !== at ? [each] : item === null ? [] : [item]));
}

/** Words between commas or spaces; none: null. @param {string} text @returns {string[] | null} */
export function words(text) {
  const found = text.split(/[\s,]+/).filter(Boolean);
  return found.length > 0 ? found : null;
}

/** A name that is not taken. @param {string} stem @param {string[]} taken */
export function fresh(stem, taken) {
  let i = taken.length + 1;
  while (taken.includes(`${stem}-${i}`)) i += 1;
  return `${stem}-${i}`;
}
