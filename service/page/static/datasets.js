/** Keys and how many records each has: counted in the browser, and kept there if they are too many for a link. */
import { Rejected } from "./ask.js";
import { kept, keep } from "./link.js";

/** @typedef {{keys: string[], records: number[]}} Counted */
/** @typedef {{origin: string, inline?: Counted, hash?: string, distinct: number, total: number}} Data */

/** Distinct keys that a link holds. */
const MOST_INLINE = 500;

/** Those of this tab. @type {Map<string, Counted>} */
const open = new Map();

/** @param {Iterable<string>} keys one for each record @returns {Counted} */
export function counted(keys) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const key of keys) found.set(key, (found.get(key) ?? 0) + 1);
  return columns(found);
}

/** @param {Map<string, number>} found @returns {Counted} */
function columns(found) {
  return { keys: [...found.keys()], records: [...found.values()] };
}

/** @param {Counted} rows @param {string} origin what a reader is told of where they come from @returns {Promise<Data>} */
export async function asData(rows, origin) {
  const summary = { origin, distinct: rows.keys.length, total: rows.records.reduce((sum, each) => sum + each, 0) };
  if (rows.keys.length <= MOST_INLINE) return { ...summary, inline: rows };
  const hash = await keep(JSON.stringify(rows));
  open.set(hash, rows);
  return { ...summary, hash };
}

/** @param {Data} data @returns {Promise<Counted>} Throws Rejected, if another browser keeps them. */
export async function rowsOf({ origin, inline, hash = "" }) {
  if (inline) return inline;
  const known = open.get(hash);
  if (known) return known;
  const text = await kept(hash);
  if (text !== undefined) {
    open.set(hash, JSON.parse(text));
    return rowsOf({ origin, hash, distinct: 0, total: 0 });
  }
  const detail = `The keys (${origin}; SHA-256 ${hash.slice(0, 12)}…) are kept by the browser that made this link. Open the file here.`;
  throw new Rejected({ title: "The input is not in this browser", detail, status: 422 }, null, (pointer) => pointer);
}

/** Lines as keys; a number behind a tab or a comma tells how many records a key has. @param {string} text @returns {Counted} */
export function pasted(text) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const line of text.split(/\r?\n/)) {
    if (line === "") continue;
    const [, key, times] = /^(.*?)(?:[\t,]\s*(\d{1,15}))?$/.exec(line) ?? [];
    found.set(key, (found.get(key) ?? 0) + (times === undefined ? 1 : Number(times)));
  }
  return columns(found);
}
