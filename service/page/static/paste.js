/** A cluster as people have it at hand, pasted or from files: the service reads it, and what it read replaces the whole state. */
import { exchange, Rejected } from "./ask.js";
import { Drop, Lines, Select } from "./fields.js";
import { html, useEffect, useRef, useState } from "./lib.js";

/**
 * @template State
 * @typedef {object} Source
 * @property {string} needs what is asked for where the texts do not suffice
 * @property {string} [placeholder] of the field
 * @property {boolean} [asIs] whether the texts make the state as they are, and not what the service reads in them as a description
 * @property {(bodies: any, texts: string[]) => {name: string, state: State}[]} found the states that bodies of requests, or the texts, make: several, if one is to be chosen
 */
/** @typedef {{conclusion: string, warnings: string[]}} Understood in the service's words */
/** @typedef {{partition_id: number, replicas: number[]}} Placed */
/** @typedef {import("./workbenches/load.js").Entry[]} Rates */
/**
 * @typedef {{topic_name: string, placements: Placed[], partition_bytes?: number[],
 *   partition_bytes_per_second?: Rates, partition_bytes_out_per_second?: Rates}} PlacedTopic
 */

/** What the service reads in texts, with bodies of requests. @param {string[]} texts later ones complete earlier ones @returns {Promise<any>} */
export async function described(texts) {
  return (await exchange("/v1/descriptions?bodies=true", { texts })).value;
}

/** What is wrong with texts, each by its number if they are several. @param {import("./ask.js").Problem} problem @param {string[]} texts */
function faultOf({ errors, detail }, texts) {
  if (!errors) return detail;
  const nth = (/** @type {string} */ pointer) =>
    texts.length > 1 ? `Text ${Number(pointer.split("/")[2] ?? 0) + 1}: ` : "";
  return errors.map((each) => nth(each.pointer) + each.detail).join(" ");
}

/**
 * @param {object} props
 * @param {Source<any>} props.source @param {Understood | undefined} props.read of the state that is shown
 * @param {string} props.fault @param {(fault: string) => void} props.refuse @param {(state: any) => void} props.take
 */
export function Paste({ source, read, fault, refuse, take }) {
  /** @typedef {{read: Understood | undefined, texts: string[], found: {name: string, state: any}[]}} Kept */
  const [kept, setKept] = useState(/** @type {Kept} */ ({ read: undefined, texts: [], found: [] }));
  const [chosen, setChosen] = useState(0);
  const latest = useRef(/** @type {string[]} */ ([]));
  useEffect(() => () => void (latest.current = []), []); // the reader has gone on
  const choose = (/** @type {Kept} */ { found, read: understood }, /** @type {number} */ i) => {
    setChosen(i);
    take({ ...found[i].state, read: understood });
  };
  const ask = async (/** @type {string[]} */ texts) => {
    latest.current = texts;
    if (source.asIs) {
      const next = { read: undefined, texts, found: source.found({}, texts) };
      setKept(next);
      choose(next, 0);
      return;
    }
    try {
      const { conclusion, warnings, bodies } = await described(texts);
      if (latest.current !== texts) return;
      const next = { read: { conclusion, warnings }, texts, found: source.found(bodies, texts) };
      setKept(next);
      if (next.found.length > 0) choose(next, 0);
      else refuse([conclusion, ...warnings, source.needs].join(" "));
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      if (latest.current === texts) refuse(faultOf(error.problem, texts));
    }
  };
  const add = (/** @type {string[]} */ earlier, /** @type {string} */ text) => text.trim() && ask([...earlier, text]);
  const shown = kept.read === read || (fault !== "" && kept.found.length === 0); // and not an example since
  return html`<section class="source" aria-label="Your own data">
    <${Lines}
      place="/paste"
      label="Paste your own"
      placeholder=${source.placeholder ?? "what kafka-topics --describe, kafka-consumer-groups --describe and others print, a snapshot, a log …"}
      most=${0}
      set=${(/** @type {string} */ text) => add([], text)}
    />
    <${Drop}
      label="Open files"
      accept=""
      multiple
      take=${async (/** @type {File[]} */ ...files) => ask(await Promise.all(files.map((file) => file.text())))}
    />
    ${
      shown &&
      kept.texts.length > 0 &&
      html`<${Lines}
        place="/paste_more"
        label="Complete what was read"
        placeholder=${source.asIs ? "another broker's log, records …" : "racks of brokers, lag, sizes, subscriptions …"}
        most=${0}
        set=${(/** @type {string} */ text) => add(kept.texts, text)}
      />`
    }
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      shown &&
      kept.found.length > 1 &&
      html`<${Select}
        place="/group_id"
        label="Group"
        value=${String(chosen)}
        choices=${kept.found.map(({ name }, i) => ({ value: String(i), label: name }))}
        set=${(/** @type {string} */ i) => choose(kept, Number(i))}
      />`
    }
  </section>`;
}

/** What was read of a paste. @param {Understood} props */
export function Read({ conclusion, warnings }) {
  return html`<section class="read">
    <p role="status">${conclusion}</p>
    ${
      warnings.length > 0 &&
      html`<ul class="effects">
        ${warnings.map((warning) => html`<li>${warning}</li>`)}
      </ul>`
    }
  </section>`;
}
