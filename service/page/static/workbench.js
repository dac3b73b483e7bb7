/** What all workbenches share: state → requests → answers → pictures. */
import { Rejected, asCurl, exchange, table } from "./ask.js";
import { Faults } from "./fields.js";
import { copy, download } from "./files.js";
import { duration } from "./format.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { Paste, Read } from "./paste.js";
import { Raw } from "./raw.js";

/** @typedef {import("./ask.js").Exchange} Exchange */
/** @typedef {(path: string, body: any, what?: {label?: string, at?: (pointer: string) => string}) => Promise<any>} Post */
/**
 * @template State, Answer
 * @typedef {object} Workbench
 * @property {string} title
 * @property {string} question what it answers, as a heading
 * @property {() => State} example
 * @property {() => State} blank a start without an example's values
 * @property {import("./paste.js").Source<State>} [source] what a paste makes of it; the state has `read` then
 * @property {(state: State, post: Post) => Promise<Answer>} ask
 * @property {(props: {state: State, set: (change: Partial<State>) => void}) => any} Editor
 * @property {(props: {answer: Answer}) => any} [Now] what is, before anything is chosen
 * @property {(props: {state: State, answer: Answer | undefined, set: (change: Partial<State>) => void}) => any} [Picker]
 *   what is chosen in a picture, of the state as it is now, though the answer is to an older one
 * @property {(props: {state: State, answer: Answer, set: (change: Partial<State>) => void}) => any} Answer
 * @property {import("./raw.js").RawRequest<State>} [request] as JSON, to be changed by hand
 * @property {string[]} [views] members of the state that say what of an answer is shown, and ask nothing
 */

/** Milliseconds after which a request that a newer state makes useless is given up; a shorter one is waited for. */
const PATIENCE = 1000;

/** What is shown when the reader gives up a request. */
const CANCELLED = {
  title: "Cancelled",
  detail: "The answer shown, if any, is to an earlier question.",
  status: 0,
};

/**
 * The answers to the state's requests: one state at a time, and of those that come meanwhile only the newest.
 * @param {Workbench<any, any>} workbench @param {any} state @param {() => void} askForToken
 */
function useAnswer(workbench, state, askForToken) {
  const [shown, setShown] = useState(/** @type {any} */ ({ made: [], answer: undefined, rejected: null }));
  const [since, setSince] = useState(0);
  const running = useRef(
    /** @type {{controller: AbortController, next: any, started: number, cancelled: boolean} | null} */ (null),
  );
  const run = async (/** @type {any} */ asked) => {
    const job = { controller: new AbortController(), next: undefined, started: performance.now(), cancelled: false };
    running.current = job;
    setSince(job.started);
    /** @type {Exchange[]} */
    const made = [];
    /** @type {Post} */
    const post = async (path, body, what = {}) => {
      const one = await exchange(path, body, { ...what, signal: job.controller.signal });
      made.push(one);
      return one.value;
    };
    let found;
    try {
      found = { made, answer: await workbench.ask(asked, post), rejected: null, asked };
    } catch (error) {
      if (error instanceof Rejected) {
        if ([401, 403].includes(error.problem.status)) askForToken(); // 403: the token may not ask this
        found = { made: error.exchange ? [...made, error.exchange] : made, rejected: error };
      } else if (!(error instanceof DOMException && error.name === "AbortError")) {
        running.current = null;
        setSince(0);
        throw error;
      } else if (job.cancelled) found = { made, rejected: new Rejected(CANCELLED, null, (pointer) => pointer) };
    }
    if (running.current !== job) return;
    running.current = null;
    setSince(0);
    if (found) setShown((/** @type {any} */ old) => ({ ...old, ...found }));
    if (job.next !== undefined) run(job.next);
  };
  useEffect(() => {
    const job = running.current;
    if (job === null) run(state);
    else {
      job.next = state;
      if (performance.now() - job.started > PATIENCE) job.controller.abort();
    }
  }, [state]);
  const cancel = () => {
    if (running.current) running.current.cancelled = true;
    running.current?.controller.abort();
  };
  useEffect(() => () => running.current?.controller.abort(), []);
  return { ...shown, since, cancel, again: () => run(state) };
}

/** The latest state that differs from the one before it in more than the views. @param {any} state @param {string[]} views */
function useQuestion(state, views) {
  const question = useRef(state);
  const names = Object.keys({ ...question.current, ...state }).filter((name) => !views.includes(name));
  if (names.some((name) => state[name] !== question.current[name])) question.current = state;
  return question.current;
}

/**
 * @param {object} props
 * @param {Workbench<any, any>} props.workbench @param {any} props.state @param {(change: any) => void} props.set
 * @param {(state: any) => void} props.replace @param {() => void} props.askForToken
 */
export function Bench({ workbench, state, set, replace, askForToken }) {
  const { views = [] } = workbench;
  const question = useQuestion(state, views);
  const { made, answer, asked, rejected, since, cancel, again } = useAnswer(workbench, question, askForToken);
  const shown = { ...asked, ...Object.fromEntries(views.map((name) => [name, state[name]])) };
  const answers = useRef(/** @type {HTMLElement | null} */ (null));
  const [refused, setRefused] = useState(/** @type {{pasted: string, state: any}} */ ({ pasted: "", state: null }));
  const older = refused.state === state; // than what was entered last and refused
  const took = useRef(false);
  const take = (/** @type {any} */ next) => {
    took.current = true;
    replace(next);
  };
  useEffect(() => {
    if (took.current) goToAnswer(); // once the form is as long as it stays
    took.current = false;
  }, [state]);
  const goToAnswer = () => {
    answers.current?.focus({ preventScroll: true });
    answers.current?.scrollIntoView();
  };
  const stale = rejected || older || asked?.read !== state.read ? "stale" : "";
  const faults = new Map();
  for (const { pointer, detail } of rejected?.problem.errors ?? []) {
    const place = rejected.at(pointer);
    faults.set(place, faults.has(place) ? `${faults.get(place)} ${detail}` : detail);
  }
  return html`<${Faults.Provider} value=${faults}>
    <h1>${workbench.question}</h1>
    <button type="button" class="to-answer" onClick=${goToAnswer}>Go to the answer ↓</button>
    <div class="bench">
      <section class="editor" aria-label="Input">
        ${
          workbench.source &&
          html`<${Paste}
            source=${workbench.source}
            read=${state.read}
            fault=${older ? refused.pasted : ""}
            refuse=${(/** @type {string} */ pasted) => setRefused({ pasted, state })}
            take=${take}
          />`
        }
        <${workbench.Editor} state=${state} set=${set} />
        ${
          workbench.request &&
          html`<${Raw}
            request=${workbench.request}
            refuse=${() => setRefused({ pasted: "", state })}
            ...${{ state, set, rejected }}
          />`
        }
      </section>
      <div class="answer" ref=${answers} tabindex="-1" aria-busy=${since ? "true" : "false"}>
        ${since !== 0 && html`<${Waiting} since=${since} cancel=${cancel} />`}
        ${state.read && html`<${Read} ...${state.read} />`}
        ${workbench.Now && answer !== undefined && html`<div class=${stale}><${workbench.Now} answer=${answer} /></div>`}
        ${workbench.Picker && html`<${workbench.Picker} ...${{ state, answer, set }} />`}
        ${rejected && html`<${ProblemBox} problem=${rejected.problem} again=${again} />`}
        <div class=${stale}>
          ${answer !== undefined && html`<${workbench.Answer} state=${shown} answer=${answer} set=${set} />`}
        </div>
        ${made.length > 0 && html`<${Requests} made=${made} />`}
      </div>
    </div>
  <//>`;
}

/** What shows that a long request is under way. @param {{since: number, cancel: () => void}} props */
function Waiting({ since, cancel }) {
  const [now, setNow] = useState(since);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 250);
    return () => clearInterval(timer);
  }, [since]);
  if (now - since < 500) return null;
  return html`<div class="waiting" role="status">
    <progress aria-hidden="true"></progress> The service computes: ${duration((now - since) / 1000)}
    <button type="button" onClick=${cancel}>Cancel</button>
  </div>`;
}

/** @param {{problem: import("./ask.js").Problem, again: () => void}} props */
function ProblemBox({ problem, again }) {
  const faults = problem.errors ?? [];
  return html`<div class="problem" role="alert">
    <h2>${problem.title}</h2>
    ${faults.length === 0 && html`<p>${problem.detail}</p>`}
    <ul>
      ${faults.map((fault) => html`<li><code>${fault.pointer || "/"}</code> ${fault.detail}</li>`)}
    </ul>
    ${
      (problem.remedies ?? []).length > 0 &&
      html`<p>What would help:</p>
        <ul>
          ${problem.remedies?.map((remedy) => html`<li>${typeof remedy === "string" ? remedy : remedy.detail}</li>`)}
        </ul>`
    }
    ${
      (problem.status === 0 || problem.status >= 429) &&
      html`<button type="button" onClick=${again}>Try again</button>
        ${problem.retry_after && html`<span class="hint"> The service asks to wait ${problem.retry_after} s.</span>`}`
    }
  </div>`;
}

/** What was asked, to be asked again elsewhere. @param {{made: Exchange[]}} props */
function Requests({ made }) {
  return html`<section class="requests" aria-label="Requests">
    <h3>What this page has asked</h3>
    <ul>
      ${made.map(
        (one) =>
          html`<li>
            <code>POST ${one.path}</code> <span>${one.label}</span>
            <span class="soft">${one.status} · ${duration(one.milliseconds / 1000)}</span>
            <span class="downloads">
              ${
                one.body instanceof Blob &&
                html`<button
                  type="button"
                  onClick=${() => download("request.arrow", one.body, "application/vnd.apache.arrow.stream")}
                >
                  request.arrow
                </button>`
              }
              <${Copy} label="Copy as curl" text=${() => asCurl(one)} />
              <button type="button" onClick=${() => download("answer.json", one.text, "application/json")}>JSON</button>
              ${
                one.status === 200 &&
                html`<button type="button" onClick=${async () => download("answer.csv", await table(one), "text/csv")}>
                  CSV
                </button>`
              }
            </span>
          </li>`,
      )}
    </ul>
  </section>`;
}

/** @param {{label: string, text: () => string}} props */
export function Copy({ label, text }) {
  const [done, setDone] = useState(false);
  const act = async () => {
    await copy(text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" onClick=${act}>${done ? "Copied" : label}</button>`;
}
