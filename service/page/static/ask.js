/** Requests to the service, as anyone else sends them. */

/** @typedef {{pointer: string, detail: string}} Fault */
/** @typedef {{title: string, detail: string, status: number, errors?: Fault[], retry_after?: number, remedies?: any[], clash?: any[]}} Problem */
/** @typedef {{path: string, label: string, body: any, milliseconds: number, status: number, text: string, value: any}} Exchange */

/** The token of this tab; it is kept nowhere else. */
let token = "";

/** @param {string} text */
export function setToken(text) {
  token = text.trim();
}

/** What the service answered instead of an answer. */
export class Rejected extends Error {
  /** @param {Problem} problem @param {Exchange | null} exchange @param {(pointer: string) => string} at pointer of the body → place in the state */
  constructor(problem, exchange, at) {
    super(problem.detail);
    this.problem = problem;
    this.exchange = exchange;
    this.at = at;
  }
}

/** The address of the service: the page may lie behind a proxy's prefix. @param {string} path */
export function address(path) {
  return new URL(`.${path}`, document.baseURI).href;
}

/** @param {Record<string, string>} more @returns {Record<string, string>} */
function headers(more) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, signal) {
  return (await exchange(path, undefined, { signal })).value;
}

/**
 * @param {string} path @param {any} body undefined: a GET
 * @param {{signal?: AbortSignal, label?: string, at?: (pointer: string) => string}} options
 * @returns {Promise<Exchange>} Throws Rejected, or an AbortError.
 */
export async function exchange(path, body, { signal, label = "", at = (pointer) => pointer } = {}) {
  const started = performance.now();
  const request = body === undefined ? { headers: headers({ Accept: "application/json" }) } : posted(body, {});
  let response, text;
  try {
    response = await fetch(address(path), { ...request, signal });
    text = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    const detail = "The connection was refused or has ended. Is the service running?";
    throw new Rejected({ title: "The service does not answer", detail, status: 0 }, null, at);
  }
  const made = {
    path,
    label,
    body,
    milliseconds: performance.now() - started,
    status: response.status,
    text,
    value: parsed(text),
  };
  if (response.ok && made.value !== undefined) return made;
  const problem = made.value ?? {
    title: "Not an answer of this service",
    detail: text.slice(0, 200),
    status: response.status,
  };
  throw new Rejected({ ...problem, retry_after: Number(response.headers.get("Retry-After")) || undefined }, made, at);
}

/** A key of 64 bits, which JavaScript's numbers may not hold. */
const LONG_KEY = /"key":\s*-?\d{16}/;

/** The text of such a key, where the browser tells it. @param {string} name @param {any} value @param {{source: string}} [context] */
function withLongKeys(name, value, context) {
  return name === "key" && typeof value === "number" && !Number.isSafeInteger(value) && context
    ? context.source
    : value;
}

/** @param {string} text */
function parsed(text) {
  try {
    return LONG_KEY.test(text) ? JSON.parse(text, withLongKeys) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ARROW = "application/vnd.apache.arrow.stream";

/** What a body is sent as: an Arrow stream as it is, all else as JSON. @param {any} body @param {Record<string, string>} more @returns {RequestInit} */
function posted(body, more) {
  return body instanceof Blob
    ? {
        method: "POST",
        headers: headers({ ...more, "Content-Type": ARROW }),
        body: body,
      }
    : { method: "POST", headers: headers({ ...more, "Content-Type": "application/json" }), body: JSON.stringify(body) };
}

/** The answer's main table as CSV. @param {Exchange} made @returns {Promise<string>} */
export async function table({ path, body }) {
  const response = await fetch(address(path), posted(body, { Accept: "text/csv" }));
  if (!response.ok) throw new Error(`The table could not be had: ${response.status}`);
  return response.text();
}

/** Bytes of an argument that Linux takes, less a quote for each. */
const LONGEST_ARGUMENT = 100_000;

/** A text as one word of a shell. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request as a command for a POSIX shell. @param {Exchange} made */
export function asCurl({ path, body }) {
  const credentials = token ? ` -H "Authorization: Bearer $TOKEN"` : "";
  const command = `curl ${quoted(address(path))}${credentials}`;
  if (body instanceof Blob) return `${command} -H 'Content-Type: ${ARROW}' --data-binary @request.arrow`;
  const json = JSON.stringify(body);
  if (new Blob([quoted(json)]).size <= LONGEST_ARGUMENT) return `${command} --json ${quoted(json)}`;
  return `${command} --json @- <<'JSON'\n${json}\nJSON\n`; // JSON.stringify writes one line
}
