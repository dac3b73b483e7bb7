/** Arrow files and streams → columns. */
import { keyText, keysOfBytes } from "./key_formats.js";

/** Bytes of a file up to which it is read: all of it, as a column lies in many places. */
const MOST_BYTES = 256_000_000;

/** @param {File} file @param {number} most rows @returns {Promise<import("./reading.js").Opened>} Throws an Error with a sentence for a file that cannot be read. */
export async function arrow(file, most) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is too large to be read here. Write it as Parquet.`);
  const [{ CompressionType, Type, setCompressionCodec, tableFromIPC }, { decompress }] = await Promise.all([
    import("./vendor/flechette.js"),
    import("./vendor/fzstd.js"),
  ]);
  setCompressionCodec(CompressionType.ZSTD, { decode: (bytes) => decompress(bytes).slice(), encode: (bytes) => bytes });
  const bytes = await file.arrayBuffer();
  let table;
  try {
    table = tableFromIPC(bytes, { useBigInt: true, useDate: true });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const codec = /codec "(\w+)"/.exec(message);
    const reason = codec ? `is compressed with ${codec[1]}, which this page cannot read` : `cannot be read: ${message}`;
    throw new Error(`${file.name} ${reason}. Write it with Zstandard or without compression.`, { cause: error });
  }
  /** Key formats of the types that have one; those of an integer by its bits. @type {{[type: number]: (type: any) => string | undefined}} */
  const formats = {
    [Type.Int]: ({ bitWidth, signed }) =>
      signed ? { 16: "short", 32: "int", 64: "long" }[String(bitWidth)] : undefined,
    [Type.Float]: ({ precision }) => [undefined, "float", "double"][precision],
    [Type.Bool]: () => "boolean",
  };
  return {
    columns: table.schema.fields.map(({ name }) => name),
    whole: table.numRows <= most,
    column: async (name) => {
      const column = table.getChild(name);
      const values = Array.from(/** @type {any} */ (column.toArray()).slice(0, most), (value) => value ?? null);
      if (values.some((value) => value instanceof Uint8Array)) return keysOfBytes(values);
      const { dictionary, ...type } = /** @type {any} */ (column.type);
      return { keys: values.map(keyText), key_format: formats[(dictionary ?? type).typeId]?.(dictionary ?? type) };
    },
  };
}
