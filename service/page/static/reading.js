/** Files that are dropped on the page → columns. They are read here, a part at a time, and never sent as they are. */

import { arrow } from "./arrow.js";
import { WANTED, parquet } from "./parquet.js";

/** Records that are read of a file. */
export const MOST_RECORDS = 1_000_000;
/** Bytes that are read of a text file. */
const MOST_BYTES = 64_000_000;

/** What an Arrow stream begins with. */
const STREAM = "\xff\xff\xff\xff";

/** @typedef {import("./key_formats.js").Key} Key */
/** @typedef {{columns: string[], whole: boolean, column: (name: string) => Promise<{keys: Key[], key_format?: string}>}} Opened */
/** @typedef {{rows: import("./datasets.js").Counted, typed: import("./datasets.js").Typed, partitioner?: string, current: number | null}} Summary */

/** Bytes that are read of a JSON file; the pipeline's have at most some thousand keys. */
const MOST_JSON = 16_000_000;

/**
 * The keys of the pipeline's job skew, if the file is the request that it writes beside its tables; null for a file of another form.
 * @param {File} file @returns {Promise<Summary | null>} Throws an Error with a sentence for any other JSON.
 */
export async function summary(file) {
  if (!/^\s*\{/.test(await file.slice(0, 64).text())) return null;
  if (file.size > MOST_JSON) throw new Error(`${file.name} is too large for a summary of the job skew.`);
  let value;
  try {
    value = JSON.parse(await file.text(), exact);
  } catch (error) {
    throw new Error(`${file.name} is not JSON: ${/** @type {Error} */ (error).message}.`);
  }
  const { job, histogram, partitioners = [], key_format, is_sample, current_partitions_count } = value;
  if (job === "skew") throw new Error(`${file.name} has the results of the job skew, but not its keys. ${WANTED}`);
  if (!Array.isArray(histogram) || histogram.length === 0)
    throw new Error(`${file.name} has no histogram. It is neither a table of keys nor what the job skew writes.`);
  const wrong = histogram.findIndex((row) => row?.key === undefined || !Number.isSafeInteger(row.records ?? 1));
  if (wrong >= 0) throw new Error(`${file.name}: /histogram/${wrong} has no key, or no whole number of records.`);
  return {
    rows: {
      keys: histogram.map(({ key }) => (key === null ? null : String(key))),
      records: histogram.map(({ records = 1 }) => records),
    },
    typed: { key_format, is_sample },
    partitioner: partitioners[0],
    current: current_partitions_count ?? null,
  };
}

/**
 * A number of JSON: the text of one that JavaScript's numbers do not hold exactly, where the browser tells it.
 * @param {string} _ @param {any} value @param {{source: string}} [context]
 */
function exact(_, value, context) {
  const whole = typeof value === "number" && Number.isInteger(value);
  return whole && !Number.isSafeInteger(value) && context ? context.source : value;
}

/** @param {File} file @returns {Promise<Opened>} Throws an Error with a sentence for a file that cannot be read. */
export async function opened(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const magic = String.fromCharCode(...start);
  if (magic === "PAR1") return parquet(file, MOST_RECORDS);
  return magic === "ARRO" || magic === STREAM ? arrow(file, MOST_RECORDS) : delimited(file);
}

/** @param {File} file @returns {Promise<Opened>} */
async function delimited(file) {
  const text = await file.slice(0, MOST_BYTES).text();
  if (text.includes("\0")) throw new Error(`${file.name} is neither Parquet nor Arrow nor text.`);
  const [header = [], ...rows] = records(text);
  if (header.length === 0) throw new Error(`${file.name} is empty.`);
  return {
    columns: header,
    whole: file.size <= MOST_BYTES && rows.length < MOST_RECORDS,
    column: async (name) => ({ keys: rows.map((row) => row[header.indexOf(name)] ?? "") }),
  };
}

/** CSV (RFC 4180), also with tabs or semicolons. @param {string} text @returns {string[][]} */
export function records(text) {
  const line = text.slice(0, text.search(/\r?\n|$/));
  const separator = ["\t", ";", ","].find((each) => line.includes(each)) ?? ",";
  const cell = new RegExp(`("(?:[^"]|"")*"|(?!")[^${separator}\r\n]*)(${separator}|\r?\n|$)`, "gy");
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  while (cell.lastIndex < text.length && rows.length <= MOST_RECORDS) {
    const found = cell.exec(text);
    if (!found) throw new Error(`Row ${rows.length + 1} has a quote that does not end.`);
    row.push(found[1].startsWith('"') ? found[1].slice(1, -1).replaceAll('""', '"') : found[1]);
    if (found[2] !== separator) {
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
  }
  return rows;
}
