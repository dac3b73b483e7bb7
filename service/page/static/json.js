/** JSON as people edit it: what fits into a line is one, and the line of each JSON pointer. */

const WIDTH = 96;

/** @param {any} value on one line; JSON has no line break but between its parts */
const flat = (value) => JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");

/** A number, a text, or a list of them. @param {any} value */
const isPlain = (value) => [value].flat().every((each) => typeof each !== "object" || each === null);

/** @param {string | number} name */
const escaped = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

/** @param {any} value @returns {{text: string, lineOf: (pointer: string) => number}} lines count from 1; that of what is not there is that of its parent */
export function written(value) {
  /** @type {string[]} */
  const lines = [];
  /** @type {Map<string, number>} */
  const starts = new Map();
  const put = (
    /** @type {any} */ part,
    /** @type {string} */ pointer,
    /** @type {string} */ before,
    /** @type {string} */ after,
  ) => {
    starts.set(pointer, lines.length + 1);
    const indent = /^ */.exec(before)?.[0] ?? "";
    const line = flat(part);
    if (pointer !== "" && (isPlain(part) || before.length + line.length <= WIDTH)) {
      lines.push(before + line + after);
      return;
    }
    const [open, close] = Array.isArray(part) ? "[]" : "{}";
    const entries = Object.entries(part).filter(([, each]) => each !== undefined);
    lines.push(before + open);
    entries.forEach(([name, each], i) => {
      const key = Array.isArray(part) ? "" : `${JSON.stringify(name)}: `;
      put(each, `${pointer}/${escaped(name)}`, `${indent}  ${key}`, i < entries.length - 1 ? "," : "");
    });
    lines.push(indent + close + after);
  };
  put(value, "", "", "");
  return { text: lines.join("\n"), lineOf: (pointer) => lineIn(starts, pointer) };
}

/** @param {Map<string, number>} starts @param {string} pointer @returns {number} */
function lineIn(starts, pointer) {
  return starts.get(pointer) ?? (pointer === "" ? 1 : lineIn(starts, pointer.slice(0, pointer.lastIndexOf("/"))));
}

/** The value of a JSON text. @param {string} text @returns {any} Throws an Error with a sentence. */
export function read(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${/** @type {Error} */ (error).message.replace(/\.$/, "")}.`);
  }
}
