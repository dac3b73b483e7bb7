/** What is done with many keys beside the page. */

/** @typedef {import("./datasets.js").Packed} Packed */
/** @typedef {import("./datasets.js").Typed} Typed */
/** @typedef {{file?: File, column?: string, text?: string, blob?: Blob, format?: string}} Work */
/**
 * Keys of a table have the columns that there are; those of a summary what it says of partitions.
 * @typedef {Packed & {typed: Typed, columns?: string[], column?: string, whole?: boolean, partitioner?: string, current?: number | null}} Read
 */

const URL_OF_WORKER = new URL("reading_worker.js", import.meta.url).href;

/** The one script that the page's policy lets it start: no other URL is trusted. */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("worker", {
  createScriptURL: () => URL_OF_WORKER,
});

/**
 * @param {Work} work @param {AbortSignal} [signal] ends it
 * @returns {Promise<any>} null: it was ended. Throws an Error with a sentence.
 */
function done(work, signal) {
  const worker = new Worker(policy ? policy.createScriptURL("") : URL_OF_WORKER, { type: "module" });
  const result = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => ("done" in data ? resolve(data.done) : reject(new Error(data.fault)));
    worker.onerror = () => reject(new Error("The keys could not be read."));
    signal?.addEventListener("abort", () => resolve(null));
  });
  worker.postMessage(work);
  return result.finally(() => worker.terminate());
}

/**
 * @param {File} file @param {string | undefined} column undefined: the one whose name is most like a key's @param {AbortSignal} signal
 * @returns {Promise<Read | null>} null: it was ended. Throws an Error with a sentence for a file that cannot be read.
 */
export const keysOfFile = (file, column, signal) => done({ file, column }, signal);

/** @param {string} text lines of keys @param {AbortSignal} signal @returns {Promise<Packed | null>} null: it was ended. Throws an Error with a sentence. */
export const keysOfText = (text, signal) => done({ text }, signal);

/** @param {Blob} blob a stream of texts @param {string} format @returns {Promise<Blob>} the same keys in their format. Throws an Error with a sentence. */
export const typed = (blob, format) => done({ blob, format });
