/** The editor of keys: where they come from, the partitioner, the number of partitions and the limits. */
import { usePartitioners } from "../catalogue.js";
import { dataOf, pack, pasted } from "../datasets.js";
import { bound, Drop, Lines, Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { FORMATS } from "../key_formats.js";
import { html, useState } from "../lib.js";
import { MOST_RECORDS } from "../reading.js";
import { keysOfFile, keysOfText } from "../worker.js";
import { NO_LIMITS } from "./keys.js";

/** @typedef {import("./keys.js").KeysState} KeysState */

/** The largest number of partitions of the slider. */
const MOST = 1000;
/** Characters from which a pasted text is read beside the page. */
const LONG = 50_000;

/** @param {{state: KeysState, set: (change: Partial<KeysState>) => void}} props */
export function KeysEditor({ state, set }) {
  const field = bound(state, set);
  return html`<${Partitions} state=${state} set=${set} />
    <${Select} ...${field("partitioner")} place="/partitioners/0" label="Partitioner" choices=${usePartitioners()} />
    <${Source} state=${state} set=${set} />
    <h2>Limits</h2>
    <${Numeric} ...${field("max_skew")} label="Largest skew (fullest partition ÷ mean)" min=${1} />
    <div class="pair">
      <${Numeric} ...${field("records_per_second")} label="Whole topic, records/s" placeholder="not known" />
      <${Numeric}
        ...${field("max_partition_records_per_second")}
        label="Partition at most, records/s"
        placeholder="any"
      />
    </div>
    <${Throughput} throughput=${state.throughput ?? {}} set=${set} />
    <details open=${state.pairs !== ""}>
      <summary>Who wrote this topic?</summary>
      <${Lines}
        ...${field("pairs")}
        place="/observations"
        label="Keys and the partitions that they are on"
        placeholder="order-1, 4"
      />
      <${Numeric}
        ...${field("pairs_count")}
        place="/partitions_count"
        label="Partitions of the topic"
        placeholder="not known"
      />
    </details>`;
}

/** @type {[keyof import("./keys.js").Throughput, string][]} */
const THROUGHPUT = [
  ["target_mb_per_second", "Whole topic"],
  ["producer_mb_per_second", "Written to a partition"],
  ["consumer_mb_per_second", "Read by a consumer"],
];

/** @param {{throughput: import("./keys.js").Throughput, set: (change: Partial<KeysState>) => void}} props */
function Throughput({ throughput, set }) {
  const field = bound(throughput, (change) => set({ throughput: { ...throughput, ...change } }));
  return html`<details open=${Object.values(throughput).some((value) => typeof value === "number")}>
    <summary>How many partitions does a throughput need?</summary>
    <p class="hint">
      In MB/s: the topic's target, and the most that is written to one partition and that one consumer reads.
    </p>
    <div class="triple">
      ${THROUGHPUT.map(([name, label]) => html`<${Numeric} ...${field(name)} label=${label} placeholder="MB/s" />`)}
    </div>
  </details>`;
}

/** @param {{state: KeysState, set: (change: Partial<KeysState>) => void}} props */
function Partitions({ state, set }) {
  const change = (/** @type {boolean} */ moving) => (/** @type {any} */ event) =>
    set({ count: Number(event.target.value), moving });
  return html`<h2>Partitions</h2>
    <div class="slider">
      <input
        type="range"
        min="1"
        max=${MOST}
        value=${state.count}
        aria-label="Number of partitions"
        onInput=${change(true)}
        onChange=${change(false)}
      />
      <output>${number(state.count)}</output>
    </div>
    <div class="pair">
      <${Numeric}
        place="/partitions_counts/0"
        label="Planned"
        value=${state.count}
        min=${1}
        set=${(/** @type {number | null} */ planned) => set({ count: planned ?? 1 })}
      />
      <${Numeric}
        ...${bound(state, set)("current")}
        place="/current_partitions_count"
        label="Today"
        placeholder="a new topic"
        min=${1}
      />
    </div>`;
}

/** @param {{state: KeysState, set: (change: Partial<KeysState>) => void}} props */
function Source({ state, set }) {
  const { data } = state;
  const [file, setFile] = useState(/** @type {{from: File, columns: string[]} | null} */ (null));
  const [cancel, setCancel] = useState(() => () => {});
  const [column, setColumn] = useState("");
  const [fault, setFault] = useState("");
  const [reading, setReading] = useState(false);
  const replace = (/** @type {Partial<KeysState>} */ change) => set({ ...(data.example ? NO_LIMITS : {}), ...change });
  /** @param {() => Promise<void>} act */
  const tried = async (act) => {
    setReading(true);
    setFault("");
    await act().catch((/** @type {Error} */ error) => setFault(error.message));
    setReading(false);
  };
  /** @template T @param {(signal: AbortSignal) => Promise<T | null>} read @param {(found: T) => Promise<void>} use */
  const asked = (read, use) =>
    tried(async () => {
      const ending = new AbortController();
      setCancel(() => () => ending.abort());
      const found = await read(ending.signal);
      if (found !== null) await use(found);
    });
  const take = (/** @type {File} */ from, /** @type {string} */ name) =>
    asked(
      (signal) => keysOfFile(from, name || undefined, signal),
      async (read) => {
        const { columns, column = "", whole, typed, partitioner, current } = read;
        setFile(columns ? { from, columns } : null);
        setColumn(column);
        const part = whole ? "" : `, its first ${number(MOST_RECORDS)} records`;
        const origin = columns
          ? `${from.name}, column ${column}${part}`
          : `${from.name}${typed.is_sample ? ", a sample" : ""}`;
        const taken = await dataOf(read, origin, typed);
        replace(columns ? { data: taken } : { data: taken, partitioner: partitioner ?? state.partitioner, current });
      },
    );
  const paste = (/** @type {string} */ text) =>
    asked(
      async (signal) => (text.length <= LONG ? pack(pasted(text)) : keysOfText(text, signal)),
      async (read) => {
        setFile(null);
        replace({ data: await dataOf(read, "pasted keys", { key_format: data.typed?.key_format }) });
      },
    );
  const text = data.inline
    ? data.inline.keys.map((key, i) => `${key ?? ""}\t${data.inline?.records[i]}`).join("\n")
    : "";
  return html`<h2>Keys</h2>
    <p class="hint">${data.origin}: ${count(data.distinct, "key")}, ${count(data.total, "record")}</p>
    <${Lines}
      place="/histogram"
      label="One key per line, with its records after a tab"
      value=${text}
      set=${paste}
      most=${LONG}
    />
    <${Drop}
      label="Open CSV, Parquet, Arrow, or a summary of pipeline skew"
      accept=".csv,.tsv,.txt,.parquet,.arrow,.arrows,.feather,.json"
      take=${(/** @type {File} */ chosen) => take(chosen, "")}
    />
    <${Select}
      place="/key_format"
      label="Format of the keys"
      value=${data.typed?.key_format ?? "string"}
      choices=${FORMATS}
      set=${(/** @type {string} */ key_format) => set({ data: { ...data, typed: { ...data.typed, key_format } } })}
    />
    ${
      reading &&
      html`<p class="hint" role="status">
        <progress aria-hidden="true"></progress> Reading…
        <button type="button" onClick=${cancel}>Cancel</button>
      </p>`
    }
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      file &&
      data.origin.startsWith(file.from.name) &&
      html`<${Select}
        place="/column"
        label="Column with the key"
        value=${column}
        choices=${file.columns.map((name) => ({ value: name, label: name }))}
        set=${(/** @type {string} */ name) => take(file.from, name)}
      />`
    }`;
}
