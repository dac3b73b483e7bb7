/** The state of a workbench in its link: `#/groups/<compressed JSON>`, or `#/groups/input:<hash>` for a state too large for a link. */

/** Characters of a fragment that chats, mails and terminals still take whole. */
const LONGEST = 16_000;
const KEPT = "input:";
const BLANK = "blank";

/** @param {Uint8Array<ArrayBuffer>} bytes @param {ReadableWritablePair<Uint8Array, BufferSource>} through */
async function piped(bytes, through) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {unknown} value @returns {Promise<string>} */
export async function packed(value) {
  return base64url(await piped(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream("deflate-raw")));
}

/** The value of a packed text. Throws for a text that is damaged. @param {string} text */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await piped(bytes, new DecompressionStream("deflate-raw"))));
}

/** The browser's own store, for what is too large for a link. @returns {Promise<IDBDatabase>} */
function opened() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("partition-allocator", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("inputs");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest} act @returns {Promise<any>} */
async function stored(mode, act) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const request = act(database.transaction("inputs", mode).objectStore("inputs"));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Texts that only this tab has. @type {Map<string, any>} */
const inTab = new Map();

/** @param {BufferSource} bytes @returns {Promise<string | undefined>} SHA-256; none for a page by plain HTTP from another machine */
export async function hashOf(bytes) {
  return crypto.subtle && base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/**
 * Keep a value in this browser, or in this tab if browsers give it no hash.
 * @param {string | Blob} value @param {string} [known] its hash @returns {Promise<string>} its hash (SHA-256)
 */
export async function keep(value, known) {
  const hash = known ?? (typeof value === "string" ? await hashOf(new TextEncoder().encode(value)) : undefined);
  if (hash === undefined) {
    const name = `tab-${inTab.size}`;
    inTab.set(name, value);
    return name;
  }
  await stored("readwrite", (store) => store.put(value, hash));
  return hash;
}

/** @param {string} hash @returns {Promise<any>} the text or bytes, or undefined */
export async function kept(hash) {
  return inTab.get(hash) ?? stored("readonly", (store) => store.get(hash));
}

/** @param {string} name of the workbench @param {unknown} state @returns {Promise<string>} the fragment, with its # */
export async function linkTo(name, state) {
  const text = await packed(state);
  if (text.length <= LONGEST) return `#/${name}/${text}`;
  return `#/${name}/${KEPT}${await keep(text)}`;
}

/**
 * What a fragment names. `state` is undefined if it names a workbench alone, or its `blank` start; `fault` says why it cannot be shown.
 * @param {string} fragment
 * @returns {Promise<{name: string, state?: any, blank?: boolean, fault?: string}>}
 */
export async function followed(fragment) {
  const [, name = "", text = ""] = /^#?\/?([a-z]*)(?:\/(.*))?$/.exec(fragment) ?? [];
  if (!text || text === BLANK) return { name, blank: text === BLANK };
  try {
    if (!text.startsWith(KEPT)) return { name, state: await unpacked(text) };
    const found = await kept(text.slice(KEPT.length));
    if (found !== undefined) return { name, state: await unpacked(found) };
    const hash = text.slice(KEPT.length, KEPT.length + 12);
    return {
      name,
      fault: `The input of this link (SHA-256 ${hash}…) is kept by the browser that made it, and is not in this one. Open the file here instead.`,
    };
  } catch {
    return { name, fault: "The link is damaged: a part of it is missing." };
  }
}
