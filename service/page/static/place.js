/** Which workbench is shown, and its state, as the address bar has them: each change is a step of the browser's history. */
import { useEffect, useRef, useState } from "./lib.js";
import { followed, linkTo } from "./link.js";

/** Milliseconds within which changes are one step of the history. */
const ONE_STEP = 500;

/** @typedef {import("./workbench.js").Workbench<any, any>} Workbench */
/** @typedef {{name: string, state: any, fault?: string, linked: boolean}} Place linked: the address bar has it */

/**
 * @param {Record<string, Workbench>} workbenches the first is shown where the address names none
 * `links` are those of each workbench to its latest state; `other` is the name of what is no workbench, such as the gallery.
 */
export function usePlace(workbenches) {
  const [place, setPlace] = useState(/** @type {Place | null} */ (null));
  const [other, setOther] = useState("");
  const [links, setLinks] = useState(/** @type {Record<string, string>} */ ({}));
  const latest = useRef({ place, fragment: "", step: -ONE_STEP }); // the fragment of what is shown, not of what is followed
  latest.current.place = place;

  const follow = async () => {
    const fragment = location.hash;
    latest.current.step = -ONE_STEP; // a change replaces no state that the reader went to
    const { name, state, blank, fault } = await followed(fragment);
    if (location.hash !== fragment) return; // the reader has gone on
    const known = name in workbenches ? name : Object.keys(workbenches)[0];
    latest.current.fragment = fragment;
    setOther(name in workbenches ? "" : name);
    const started = workbenches[known][blank ? "blank" : "example"]();
    setLinks((old) => ({ ...old, [known]: state === undefined && !blank ? `#/${known}` : fragment }));
    setPlace({ name: known, state: state ?? started, fault, linked: true });
  };
  const write = async (/** @type {Place} */ decided) => {
    const link = await linkTo(decided.name, decided.state);
    const now = latest.current;
    if (now.place !== decided && now.place?.name === decided.name) return; // a newer state is written
    setLinks((old) => ({ ...old, [decided.name]: link }));
    if (now.place !== decided || location.hash !== now.fragment) return; // the reader has gone on
    const same = performance.now() - now.step < ONE_STEP;
    now.step = performance.now();
    now.fragment = link;
    history[same ? "replaceState" : "pushState"](null, "", link);
    setPlace((newest) => (newest === decided ? { ...decided, linked: true } : newest)); // a change may not be drawn yet
  };
  useEffect(() => {
    follow();
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    if (place) document.title = `${workbenches[place.name].title} · partition-allocator`;
    if (place && !place.linked && !place.state.moving) write(place);
  }, [place]);

  const set = (/** @type {any} */ change) =>
    setPlace((now) => now && { name: now.name, state: { ...now.state, ...change }, linked: false });
  const replace = (/** @type {any} */ state) => setPlace((now) => now && { name: now.name, state, linked: false });
  return { place, other, links, set, replace };
}
