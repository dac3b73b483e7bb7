/** The page: which workbench is shown, and the state of each in its link. */
import { setToken } from "./ask.js";
import { html, render, useEffect, useState } from "./lib.js";
import { usePlace } from "./place.js";
import { Bench, Copy } from "./workbench.js";
import { disks } from "./workbenches/disks.js";
import { groups } from "./workbenches/groups.js";
import { history } from "./workbenches/history.js";
import { keys } from "./workbenches/keys.js";
import { members } from "./workbenches/members.js";
import { placement } from "./workbenches/placement.js";
import { timeline } from "./workbenches/timeline.js";
import { trace } from "./workbenches/trace.js";

/** The first is shown where the address names none. @type {Record<string, import("./workbench.js").Workbench<any, any>>} */
const WORKBENCHES = { groups, timeline, history, members, keys, trace, placement, disks };

function Page() {
  const { place, other, links, set, replace } = usePlace(WORKBENCHES);
  const [gallery, setGallery] = useState(/** @type {any} */ (null));
  const [asksToken, setAsksToken] = useState(false);
  const [session, setSession] = useState(0); // another with each token
  useEffect(() => {
    if (other === "gallery") import("./gallery.js").then(({ Gallery }) => setGallery(Gallery()));
    else setGallery(null);
  }, [other]);

  useEffect(() => setAsksToken(false), [place?.name]); // the next workbench asks again, if it has to

  if (place === null) return null;
  const { name, state, fault } = place;
  const answered = () => {
    setAsksToken(false);
    setSession(session + 1);
  };
  return html`<header class="top">
      <a class="mark" href="#/">partition-allocator</a>
      <nav aria-label="Workbenches">
        ${Object.entries(WORKBENCHES).map(
          ([key, { title }]) =>
            html`<a href=${links[key] ?? `#/${key}`} aria-current=${key === name && !other ? "page" : undefined}
              >${title}</a
            >`,
        )}
      </nav>
      <span class="tools">
        <a href="#/${name}">Example</a>
        <a href="#/${name}/blank">Blank</a>
        <${Copy} label="Copy link" text=${() => location.href} />
        <a href="docs/">API</a>
      </span>
    </header>
    <main>
      ${asksToken && html`<${Token} done=${answered} />`}
      ${fault && html`<div class="problem" role="alert"><p>${fault}</p></div>`}
      ${other && (other === "gallery" ? gallery : html`<${Unknown} name=${other} />`)}
      ${
        !other &&
        html`<${Bench}
          key="${name} ${session}"
          workbench=${WORKBENCHES[name]}
          state=${state}
          ...${{ set, replace }}
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

/** @param {{name: string}} props */
function Unknown({ name }) {
  return html`<div class="problem" role="alert"><p>This page has no workbench named ${name}.</p></div>`;
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

/** A file that is dropped beside its target would be opened by the browser instead of the page. @param {DragEvent} event */
function keepThePage(event) {
  if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
}
addEventListener("dragover", keepThePage);
addEventListener("drop", keepThePage);

const root = /** @type {HTMLElement} */ (document.getElementById("page"));
root.replaceChildren();
render(html`<${Page} />`, root);
