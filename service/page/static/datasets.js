/** Keys and how many records each has: counted in the browser, and kept there if they are too many for a link. */
import { Rejected } from "./ask.js";
import { arrowType, arrowValues } from "./key_formats.js";
import { hashOf, keep, kept } from "./link.js";

/** @typedef {import("./key_formats.js").Key} Key */
/** @typedef {{keys: Key[], records: number[]}} Counted keys as texts, whatever their format */
/** @typedef {{key_format?: string, is_sample?: boolean}} Typed what a request says of keys that are not a topic's texts, all of them */
/** @typedef {{origin: string, inline?: Counted, hash?: string, distinct: number, total: number, typed?: Typed, example?: boolean}} Data */
/** @typedef {{distinct: number, total: number, inline?: Counted, blob?: Blob, hash?: string}} Packed blob: an Arrow stream, with its hash */

/** Distinct keys that a link holds. */
const MOST_INLINE = 500;
/** The largest number of records that an Arrow column of 32 bits holds. */
const INT32 = 2 ** 31 - 1;

/** Those of this tab that are too many for a link. @type {Map<string, Blob>} */
const open = new Map();

/** @param {Iterable<Key>} keys one for each record @returns {Counted} */
export function counted(keys) {
  /** @type {Map<Key, number>} */
  const found = new Map();
  for (const key of keys) found.set(key, (found.get(key) ?? 0) + 1);
  return columns(found);
}

/** @param {Map<Key, number>} found @returns {Counted} */
function columns(found) {
  return { keys: [...found.keys()], records: [...found.values()] };
}

/** Lines as keys; a number behind a tab or a comma tells how many records a key has. @param {string} text @returns {Counted} Throws an Error with a sentence. */
export function pasted(text) {
  /** @type {Map<Key, number>} */
  const found = new Map();
  for (const line of text.split(/\r?\n/)) {
    if (line === "") continue;
    const [, key, times = "1"] = /^(.*?)(?:[\t,]\s*(\d+))?$/.exec(line) ?? [];
    const records = (found.get(key) ?? 0) + Number(times);
    if (!Number.isSafeInteger(records)) throw new Error(`The key ${JSON.stringify(key)} has more than 2^53 records.`);
    found.set(key, records);
  }
  return columns(found);
}

/** @param {Counted} rows @returns {Promise<Packed>} what a link or this browser keeps of them */
export async function pack(rows) {
  const told = { distinct: rows.keys.length, total: rows.records.reduce((sum, each) => sum + each, 0) };
  if (rows.keys.length <= MOST_INLINE) return { ...told, inline: rows };
  const blob = await stream(rows, "string");
  return { ...told, blob, hash: await hashOf(await blob.arrayBuffer()) };
}

/** @param {Packed} packed @param {string} origin what a reader is told of where they come from @param {Typed} [typed] @returns {Promise<Data>} */
export async function dataOf({ distinct, total, inline, blob, hash }, origin, typed) {
  if (!blob) return { origin, distinct, total, inline, typed };
  const known = await keep(blob, hash);
  open.set(known, blob);
  return { origin, distinct, total, hash: known, typed };
}

/** @param {Counted} rows @param {string} format @returns {Promise<Blob>} an Arrow stream. Throws an Error with a sentence for keys of another format. */
export async function stream({ keys, records }, format) {
  const arrow = await import("./vendor/flechette.js");
  const large = records.some((each) => each > INT32);
  const types = {
    key: arrow[/** @type {"utf8"} */ (arrowType(format))](),
    records: large ? arrow.int64() : arrow.int32(),
  };
  const table = arrow.tableFromArrays(
    { key: arrowValues(keys, format), records: large ? BigInt64Array.from(records, BigInt) : Int32Array.from(records) },
    { types },
  );
  return new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (arrow.tableToIPC(table, { format: "stream" }))]);
}

/** @param {Blob} blob of `stream` with texts @returns {Promise<Counted>} */
export async function rowsIn(blob) {
  const { tableFromIPC } = await import("./vendor/flechette.js");
  const table = tableFromIPC(await blob.arrayBuffer());
  const [keys, records] = ["key", "records"].map((name) => table.getChild(name).toArray());
  return { keys: [...keys], records: Array.from(records, Number) };
}

/** @param {Data} data @returns {Promise<Counted | Blob>} Throws Rejected, if another browser keeps them. */
export async function rowsOf({ origin, inline, hash = "" }) {
  const known = inline ?? open.get(hash) ?? (await kept(hash));
  if (known instanceof Blob) open.set(hash, known);
  if (known) return known;
  const detail = `The keys (${origin}; SHA-256 ${hash.slice(0, 12)}…) are kept by the browser that made this link. Open the file here.`;
  throw new Rejected({ title: "The input is not in this browser", detail, status: 422 }, null, (pointer) => pointer);
}
