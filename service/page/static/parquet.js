/** Parquet files → columns. */
import { keyText, keysOfBytes } from "./key_formats.js";

/** @typedef {import("./key_formats.js").Key} Key */
/** @typedef {(input: Uint8Array, length: number) => Uint8Array} Decompressor */

/** Where to look for the keys of a folder of the pipeline's job skew. */
export const WANTED = "Open partition-count-plans.json of the same folder, which has the keys and their records.";
/** Brotli's dictionary alone would be a quarter of the page. */
const CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4", "LZ4_RAW"];

/** @returns {Promise<Record<string, Decompressor>>} those that hyparquet itself does not have */
async function decompressors() {
  const [{ decompress }, { gunzip }, { decompressLz4, decompressLz4Raw }] = await Promise.all([
    import("./vendor/fzstd.js"),
    import("./vendor/hyparquet-compressors/gzip.js"),
    import("./vendor/hyparquet-compressors/lz4.js"),
  ]);
  return {
    ZSTD: (input) => decompress(input),
    GZIP: (input, length) => gunzip(input, new Uint8Array(length)),
    LZ4: decompressLz4,
    LZ4_RAW: decompressLz4Raw,
  };
}

/** @param {File} file @param {number} most rows @returns {Promise<import("./reading.js").Opened>} Throws an Error with a sentence for a file that cannot be read. */
export async function parquet(file, most) {
  const { parquetMetadataAsync, parquetRead, parquetSchema } = await import("./vendor/hyparquet/index.js");
  const buffer = {
    byteLength: file.size,
    slice: (/** @type {number} */ start, /** @type {number} */ end) => file.slice(start, end).arrayBuffer(),
  };
  const metadata = await parquetMetadataAsync(buffer);
  const rows = Number(metadata.num_rows);
  const elements = parquetSchema(metadata)
    .children.filter(({ children }) => children.length === 0)
    .map(({ element }) => element);
  const columns = elements.map(({ name }) => name);
  if (columns.includes("partitioner") && columns.includes("partitions_count"))
    throw new Error(`${file.name} is a table of the job skew, without keys. ${WANTED}`);
  if (columns.length === 0) throw new Error(`${file.name} has no column that could hold keys.`);
  const codecs = new Set(metadata.row_groups.flatMap((group) => group.columns.map((each) => each.meta_data?.codec)));
  const unread = [...codecs].find((codec) => codec && !CODECS.includes(codec));
  if (unread)
    throw new Error(
      `${file.name} is compressed with ${unread}, which this page cannot read. Write it with Snappy or Zstandard, or as CSV.`,
    );
  return {
    columns,
    whole: rows <= most,
    column: async (name) => {
      /** @type {any[]} */
      const values = [];
      await parquetRead({
        file: buffer,
        metadata,
        compressors: await decompressors(),
        utf8: false, // bytes stay what they are
        columns: [name],
        rowEnd: Math.min(rows, most),
        onChunk: ({ columnData }) => {
          for (const value of /** @type {any} */ (columnData)) values.push(value ?? null);
        },
      });
      return keysOf(values, elements[columns.indexOf(name)]);
    },
  };
}

/** Key formats of Parquet's types, and of those that say more. */
const OF_TYPE = { INT32: "int", INT64: "long", FLOAT: "float", DOUBLE: "double", BOOLEAN: "boolean" };
const OF_CONVERTED = { INT_16: "short", INT_32: "int", INT_64: "long" };

/** @param {any[]} values @param {any} element of the schema @returns {{keys: Key[], key_format?: string}} */
function keysOf(values, { type, converted_type, logical_type }) {
  if (values.some((value) => value instanceof Uint8Array)) return keysOfBytes(values);
  const plain = !converted_type && !logical_type;
  return {
    keys: values.map(keyText),
    key_format: plain ? OF_TYPE[/** @type {"INT64"} */ (type)] : OF_CONVERTED[/** @type {"INT_64"} */ (converted_type)],
  };
}
