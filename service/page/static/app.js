/** The page: which workbench is shown, and the state of each in its link. */
import { setToken } from "./ask.js";
import { html, render, useEffect, useRef, useState } from "./lib.js";
import { followed, linkTo } from "./link.js";
import { Bench, Copy } from "./workbench.js";
import { groups } from "./workbenches/groups.js";
import { keys } from "./workbenches/keys.js";
import { members } from "./workbenches/members.js";
import { placement } from "./workbenches/placement.js";
import { timeline } from "./workbenches/timeline.js";

/** @type {Record<string, import("./workbench.js").Workbench<any, any>>} */
const WORKBENCHES = { groups, timeline, members, keys, placement };
const FIRST = "groups";

/** The states of the tab, by workbench. @type {Map<string, any>} */
const states = new Map();

/** @param {string} name */
const stateOf = (name) => states.get(name) ?? WORKBENCHES[name].example();

function Page() {
  const [place, setPlace] = useState(/** @type {{name: string, state: any, fault?: string} | null} */ (null));
  const [gallery, setGallery] = useState(/** @type {any} */ (null));
  const [asksToken, setAsksToken] = useState(false);
  const [session, setSession] = useState(0); // another with each token
  const written = useRef(/** @type {string | null} */ (null));

  const follow = async () => {
    if (location.hash === written.current) return;
    const { name, state, fault } = await followed(location.hash);
    setGallery(name === "gallery" ? (await import("./gallery.js")).Gallery() : null);
    const known = name in WORKBENCHES ? name : FIRST;
    if (state !== undefined) states.set(known, state);
    setPlace({ name: known, state: state ?? stateOf(known), fault });
  };
  useEffect(() => {
    follow();
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    if (place === null || gallery !== null || !states.has(place.name)) return undefined;
    const timer = setTimeout(async () => {
      written.current = await linkTo(place.name, place.state);
      history.replaceState(null, "", written.current);
    }, 150);
    return () => clearTimeout(timer);
  }, [place]);

  if (place === null) return null;
  const { name, state, fault } = place;
  const set = (/** @type {any} */ change) =>
    setPlace((now) => {
      const next = { .../** @type {any} */ (now).state, ...change };
      states.set(name, next);
      return { name, state: next };
    });
  const reset = () => {
    states.delete(name);
    history.replaceState(null, "", `#/${name}`);
    setPlace({ name, state: WORKBENCHES[name].example() });
  };
  const answered = () => {
    setAsksToken(false);
    setSession(session + 1);
  };
  return html`<header class="top">
      <a class="mark" href="#/">partition-allocator</a>
      <nav aria-label="Workbenches">
        ${Object.entries(WORKBENCHES).map(
          ([key, { title }]) => html`<a href="#/${key}" aria-current=${key === name ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <span class="tools">
        <button type="button" onClick=${reset}>Example</button>
        <${Copy} label="Copy link" text=${() => location.href} />
        <a href="docs/">API</a>
      </span>
    </header>
    <main>
      ${asksToken && html`<${Token} done=${answered} />`}
      ${fault && html`<div class="problem" role="alert"><p>${fault}</p></div>`}
      ${
        gallery ??
        html`<${Bench}
          key="${name} ${session}"
          workbench=${WORKBENCHES[name]}
          state=${state}
          set=${set}
          askForToken=${() => setAsksToken(true)}
        />`
      }
    </main>
    <footer>
      Nothing is kept on the server; every state is in its link. Apache Kafka is a trademark of The Apache Software
      Foundation.${" "}
      <a href=${new URL("vendor/NOTICES.txt", import.meta.url).href}>Third-party notices</a>
    </footer>`;
}

/** The token, which stays in this tab's memory. @param {{done: () => void}} props */
function Token({ done }) {
  const [text, setText] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setToken(text);
    done();
  };
  return html`<form class="token" onSubmit=${submit}>
    <label for="token">This service answers callers with a token. It is kept in the memory of this tab only.</label>
    <input
      id="token"
      type="password"
      autocomplete="off"
      value=${text}
      onInput=${(/** @type {any} */ event) => setText(event.target.value)}
    />
    <button type="submit">Use token</button>
  </form>`;
}

const root = /** @type {HTMLElement} */ (document.getElementById("page"));
root.replaceChildren();
render(html`<${Page} />`, root);
