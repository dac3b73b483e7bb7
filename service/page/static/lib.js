/** Preact with htm: `html` is markup as a value, and every text in it is data, never markup. */
import { createContext, Fragment, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { createContext, Fragment, h, render };
export { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";

/** @typedef {import("./vendor/preact.js").ComponentChildren} Children */
/** @typedef {import("./vendor/preact.js").VNode<any>} Node */

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
