/** Files that are dropped on the page → columns. They are read here, a part at a time, and never sent as they are. */

/** Records that are read of a file. */
export const MOST_RECORDS = 1_000_000;
/** Bytes that are read of a text file. */
const MOST_BYTES = 64_000_000;

/** @typedef {{name: string, columns: string[], whole: boolean, column: (name: string) => Promise<string[]>}} Opened */

/** @param {File} file @returns {Promise<Opened>} Throws an Error with a sentence for a file that cannot be read. */
export async function opened(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return String.fromCharCode(...start) === "PAR1" ? parquet(file) : delimited(file);
}

/** @param {File} file @returns {Promise<Opened>} */
async function delimited(file) {
  const text = await file.slice(0, MOST_BYTES).text();
  if (text.includes("\0")) throw new Error(`${file.name} is neither Parquet nor text.`);
  const [header = [], ...rows] = records(text);
  if (header.length === 0) throw new Error(`${file.name} is empty.`);
  return {
    name: file.name,
    columns: header,
    whole: file.size <= MOST_BYTES && rows.length < MOST_RECORDS,
    column: async (name) => rows.map((row) => row[header.indexOf(name)] ?? ""),
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

/** @param {File} file @returns {Promise<Opened>} */
async function parquet(file) {
  const [{ parquetMetadataAsync, parquetRead, parquetSchema }, { decompress }] = await Promise.all([
    import("./vendor/hyparquet/index.js"),
    import("./vendor/fzstd.js"),
  ]);
  const buffer = {
    byteLength: file.size,
    slice: (/** @type {number} */ start, /** @type {number} */ end) => file.slice(start, end).arrayBuffer(),
  };
  const metadata = await parquetMetadataAsync(buffer);
  const rows = Number(metadata.num_rows);
  const compressors = { ZSTD: (/** @type {Uint8Array} */ input) => decompress(input) };
  return {
    name: file.name,
    columns: parquetSchema(metadata).children.map(({ element }) => element.name),
    whole: rows <= MOST_RECORDS,
    column: async (name) => {
      /** @type {string[]} */
      const values = [];
      await parquetRead({
        file: buffer,
        metadata,
        compressors,
        columns: [name],
        rowEnd: Math.min(rows, MOST_RECORDS),
        onChunk: ({ columnData }) => {
          for (const value of /** @type {any} */ (columnData)) values.push(text(value));
        },
      });
      return values;
    },
  };
}

/** @param {any} value */
function text(value) {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value ?? "");
}
