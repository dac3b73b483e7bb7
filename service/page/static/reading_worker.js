/** Reads keys, counts them and writes them as an Arrow stream, beside the page, which stays fluent meanwhile. */
import { counted, pack, pasted, rowsIn, stream } from "./datasets.js";
import { opened, summary } from "./reading.js";

/** @param {File} file @param {string} [column] @returns {Promise<import("./worker.js").Read>} */
async function read(file, column) {
  const found = column === undefined ? await summary(file) : null;
  if (found) return { ...found, ...(await pack(found.rows)) };
  const { columns, whole, column: valuesOf } = await opened(file);
  const chosen = column ?? columns.find((each) => /key|id$/i.test(each)) ?? columns[0];
  const { keys, key_format } = await valuesOf(chosen);
  return { columns, column: chosen, whole, typed: { key_format }, ...(await pack(counted(keys))) };
}

/** @param {import("./worker.js").Work} work */
async function done({ file, column, text, blob, format = "string" }) {
  if (file) return read(file, column);
  return blob ? stream(await rowsIn(blob), format) : pack(pasted(text ?? ""));
}

addEventListener("message", async ({ data }) => {
  try {
    postMessage({ done: await done(data) });
  } catch (error) {
    postMessage({ fault: /** @type {Error} */ (error).message });
  }
});
