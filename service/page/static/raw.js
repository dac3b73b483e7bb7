/** A workbench's request as JSON, to set what has no field. */
import { Drop, useDraft } from "./fields.js";
import { download } from "./files.js";
import { read, written } from "./json.js";
import { html, useMemo, useRef, useState } from "./lib.js";

/** Characters up to which a request can be edited in the page. */
const LONGEST = 200_000;

/**
 * @template State
 * @typedef {object} RawRequest
 * @property {string} path
 * @property {(state: State) => any} of the body of a state
 * @property {(body: any, state: State) => Partial<State> | Promise<Partial<State>>} take what a body changes in the state; throws an Error with a sentence
 * @property {(pointer: string, rejected: import("./ask.js").Rejected) => string} [at] pointer of what was sent → of the body of the state, where they differ
 * @property {(state: State) => string} [hint] what is told of the body; none or empty: that it is what is sent
 */

/** A body from a state that has its members beside those of the page: what is not set is not in it. @param {any} state @param {string[]} own the page's */
export function bodyOf(state, own) {
  return Object.fromEntries(
    Object.entries(state).filter(
      ([name, value]) => !own.includes(name) && value !== null && value !== undefined && value !== "",
    ),
  );
}

/** The change that makes a state that of a body. @param {any} body @param {any} state @param {string[]} own the page's */
export function taken(body, state, own) {
  const gone = Object.keys(state).filter((name) => !own.includes(name));
  const members = Object.entries(body).filter(([name]) => !own.includes(name));
  return { ...Object.fromEntries(gone.map((name) => [name, undefined])), ...Object.fromEntries(members) };
}

/** A list of a body, each row an object with an id: what pictures need. @param {any} body @param {string} name @param {string} id */
export function rows(body, name, id) {
  const list = body[name];
  if (!Array.isArray(list)) throw new Error(`/${name}: a list is needed here.`);
  const bad = list.findIndex((row) => row === null || typeof row !== "object" || row[id] === undefined);
  if (bad >= 0) throw new Error(`/${name}/${bad}: an object with ${id} is needed here.`);
  return list;
}

/** @typedef {{request: RawRequest<any>, state: any, set: (change: any) => void, refuse: () => void, rejected: import("./ask.js").Rejected | null}} Props */

/** @param {Props} props */
export function Raw(props) {
  const [open, setOpen] = useState(false);
  return html`<details class="raw" onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
    <summary>Request as JSON</summary>
    ${open && html`<${Body} ...${props} />`}
  </details>`;
}

/** @param {Props} props */
function Body({ request, state, set, refuse, rejected }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [refused, setRefused] = useState(/** @type {{text: string, fault: string} | null} */ (null));
  const body = useMemo(() => request.of(state), [state]);
  const { text, lineOf } = useMemo(() => written(body), [body]);
  const take = async (/** @type {string} */ edited) => {
    try {
      const value = read(edited);
      if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("An object is needed.");
      set({ ...(await request.take(value, state)), read: undefined });
      setRefused(null);
    } catch (error) {
      setRefused({ text: edited, fault: /** @type {Error} */ (error).message });
      refuse();
    }
  };
  const typing = useDraft(refused?.text ?? text, take);
  const asked = rejected?.exchange?.path.split("?")[0] === request.path;
  const at = (/** @type {string} */ pointer) => (request.at && rejected ? request.at(pointer, rejected) : pointer);
  const faults = asked && refused === null ? (rejected?.problem.errors ?? []) : [];
  const wrong = refused !== null || faults.length > 0;
  const show = (/** @type {string} */ pointer) => () => selectLine(area.current, lineOf(pointer));
  return html`<p class="hint">
      ${request.hint?.(state) || html`What is sent to <code>${request.path}</code>.`} Any field of the${" "}
      <a href="docs/">API</a>${" "} can be set here; it is sent when you leave the text.
    </p>
    ${
      text.length <= LONGEST
        ? html`<textarea
            ref=${area}
            aria-label="Request as JSON"
            aria-invalid=${wrong ? "true" : undefined}
            aria-describedby=${wrong ? "raw-faults" : undefined}
            spellcheck=${false}
            ...${typing}
          ></textarea>`
        : html`<p class="hint">It is too long to be edited here: save it, change it and open it again.</p>
            <button type="button" onClick=${() => download("request.json", text, "application/json")}>
              request.json
            </button>`
    }
    ${
      wrong &&
      html`<ul class="faults" id="raw-faults">
        ${refused && html`<li class="fault" role="alert">${refused.fault}</li>`}
        ${faults
          .map(({ pointer, detail }) => ({ pointer: at(pointer), detail }))
          .map(
            ({ pointer, detail }) =>
              html`<li class="fault">
                <button type="button" onClick=${show(pointer)}>line ${lineOf(pointer)}</button>${" "}
                <code>${pointer || "/"}</code> ${detail}
              </li>`,
          )}
      </ul>`
    }
    <${Drop}
      label="Open a request.json"
      accept=".json"
      take=${async (/** @type {File} */ file) => take(await file.text())}
    />`;
}

/** Select a line and bring it into view. @param {HTMLTextAreaElement | null} area @param {number} line */
function selectLine(area, line) {
  if (area === null) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = ((line - 3) / lines.length) * area.scrollHeight;
}
