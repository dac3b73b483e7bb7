/** Key formats: the texts of keys → what JSON and Arrow have of them. */

/** As `/v1/partitions` names them, with what a reader needs to choose one. */
export const FORMATS = [
  { value: "string", label: "string" },
  { value: "uuid", label: "uuid" },
  { value: "base64", label: "bytes, as base64" },
  { value: "hex", label: "bytes, as hex" },
  { value: "short", label: "short (2 bytes)" },
  { value: "int", label: "int (4 bytes)" },
  { value: "long", label: "long (8 bytes)" },
  { value: "float", label: "float (4 bytes)" },
  { value: "double", label: "double (8 bytes)" },
  { value: "boolean", label: "boolean" },
];

/** A key as a text; null: a record without one. @typedef {string | null} Key */

/** Arrow's types of keys that are no texts. */
const TYPES = { short: "int16", int: "int32", long: "int64", float: "float32", double: "float64", boolean: "bool" };
/** Bits of the whole numbers among them. @type {Record<string, number>} */
const BITS = { short: 16, int: 32, long: 64 };

/** @param {string} format @returns {string} the name of Arrow's type of such keys */
export function arrowType(format) {
  return TYPES[/** @type {"long"} */ (format)] ?? "utf8";
}

/** @param {Key} key @param {string} format @returns {string | bigint | number | boolean | null} Throws an Error with a sentence for a text of another format. */
function valueOf(key, format) {
  if (key === null || !(format in TYPES)) return key;
  if (format === "boolean" && /^(true|false)$/.test(key)) return key === "true";
  if (format in BITS && /^-?\d+$/.test(key) && BigInt.asIntN(BITS[format], BigInt(key)) === BigInt(key))
    return BigInt(key);
  if (/^(float|double)$/.test(format) && key.trim() !== "" && (key === "NaN" || !Number.isNaN(Number(key))))
    return Number(key);
  throw new Error(`${JSON.stringify(key)} is not a valid ${format}.`);
}

/** @param {Key[]} keys @param {string} format @returns {any[]} a column of `arrowType`. Throws an Error with a sentence. */
export function arrowValues(keys, format) {
  const values = keys.map((key) => valueOf(key, format));
  return format === "short" || format === "int"
    ? values.map((value) => (value === null ? null : Number(value)))
    : values;
}

/** Keys as JSON has them; null if it cannot have them exactly. @param {Key[]} keys @param {string} format @returns {any[] | null} Throws an Error with a sentence. */
export function jsonValues(keys, format) {
  const values = keys.map((key) => valueOf(key, format));
  const exact = values.every((value) =>
    typeof value === "bigint"
      ? Number.isSafeInteger(Number(value))
      : typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0)),
  );
  return exact ? values.map((value) => (typeof value === "bigint" ? Number(value) : value)) : null;
}

/** Bytes are texts if all of them are. @param {(Uint8Array | null)[]} values @returns {{keys: Key[], key_format?: string}} */
export function keysOfBytes(values) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return { keys: values.map((value) => value && decoder.decode(value)) };
  } catch {
    return { keys: values.map((value) => value && btoa(String.fromCharCode(...value))), key_format: "base64" };
  }
}

/** A value of a file as the text of a key. @param {any} value @returns {Key} */
export function keyText(value) {
  if (value === null) return null;
  if (Object.is(value, -0)) return "-0";
  return value instanceof Date ? value.toISOString() : String(value);
}
