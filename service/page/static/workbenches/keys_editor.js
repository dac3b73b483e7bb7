/** The editor of keys: where they come from, the partitioner, the number of partitions and the limits. */
import { useCatalogue } from "../catalogue.js";
import { asData, counted, pasted } from "../datasets.js";
import { Drop, Lines, Numeric, Select } from "../fields.js";
import { count, number } from "../format.js";
import { html, useState } from "../lib.js";
import { MOST_RECORDS, opened } from "../reading.js";

/** @typedef {import("./keys.js").KeysState} KeysState */

/** The largest number of partitions of the slider. */
const MOST = 1000;

/** @param {{state: KeysState, set: (change: Partial<KeysState>) => void}} props */
export function KeysEditor({ state, set }) {
  const choices = useCatalogue("partitioners").map(({ partitioner, client }) => ({
    value: partitioner,
    label: partitioner,
    group: client,
  }));
  return html`<${Partitions} state=${state} set=${set} />
    <${Select}
      place="/partitioners/0"
      label="Partitioner"
      value=${state.partitioner}
      choices=${choices}
      set=${(/** @type {string} */ partitioner) => set({ partitioner })}
    />
    <${Source} state=${state} set=${set} />
    <h2>Limits</h2>
    <${Numeric}
      place="/max_skew"
      label="Largest skew (fullest partition ÷ mean)"
      value=${state.max_skew}
      min=${1}
      set=${(/** @type {number | null} */ max_skew) => set({ max_skew })}
    />
    <div class="pair">
      <${Numeric}
        place="/records_per_second"
        label="Topic, records/s"
        value=${state.records_per_second}
        set=${(/** @type {number | null} */ records_per_second) => set({ records_per_second })}
      />
      <${Numeric}
        place="/max_partition_records_per_second"
        label="Partition at most"
        value=${state.max_partition_records_per_second}
        set=${(/** @type {number | null} */ most) => set({ max_partition_records_per_second: most })}
      />
    </div>
    <details open=${state.pairs !== ""}>
      <summary>Who wrote this topic?</summary>
      <${Lines}
        place="/observations"
        label="Keys and the partitions that they are on"
        placeholder="order-1, 4"
        value=${state.pairs}
        set=${(/** @type {string} */ pairs) => set({ pairs })}
      />
      <${Numeric}
        place="/partitions_count"
        label="Partitions of the topic"
        placeholder="not known"
        value=${state.pairs_count}
        set=${(/** @type {number | null} */ pairs_count) => set({ pairs_count })}
      />
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
        place="/current_partitions_count"
        label="Today"
        placeholder="a new topic"
        value=${state.current}
        min=${1}
        set=${(/** @type {number | null} */ current) => set({ current })}
      />
    </div>`;
}

/** @param {{state: KeysState, set: (change: Partial<KeysState>) => void}} props */
function Source({ state: { data }, set }) {
  const [file, setFile] = useState(/** @type {import("../reading.js").Opened | null} */ (null));
  const [column, setColumn] = useState("");
  const [fault, setFault] = useState("");
  const [reading, setReading] = useState(false);
  /** @param {() => Promise<void>} act */
  const tried = async (act) => {
    setReading(true);
    setFault("");
    await act().catch((/** @type {Error} */ error) => setFault(error.message));
    setReading(false);
  };
  const take = async (/** @type {import("../reading.js").Opened} */ from, /** @type {string} */ name) => {
    setColumn(name);
    const part = from.whole ? "" : `, its first ${number(MOST_RECORDS)} records`;
    set({ data: await asData(counted(await from.column(name)), `${from.name}, column ${name}${part}`) });
  };
  const drop = (/** @type {File} */ chosen) =>
    tried(async () => {
      const from = await opened(chosen);
      setFile(from);
      await take(from, from.columns.find((name) => /key|id$/i.test(name)) ?? from.columns[0]);
    });
  const paste = async (/** @type {string} */ text) => {
    setFile(null);
    set({ data: await asData(pasted(text), "pasted keys") });
  };
  const text = data.inline ? data.inline.keys.map((key, i) => `${key}\t${data.inline?.records[i]}`).join("\n") : "";
  return html`<h2>Keys</h2>
    <p class="hint">${data.origin}: ${count(data.distinct, "key")}, ${count(data.total, "record")}</p>
    <${Lines} place="/histogram" label="One key a line, with its records behind a tab" value=${text} set=${paste} />
    <${Drop} label="Open a CSV or Parquet file" accept=".csv,.tsv,.txt,.parquet" take=${drop} />
    ${reading && html`<p class="hint" role="status">Reading…</p>`}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      file &&
      html`<${Select}
        place="/column"
        label="Column with the key"
        value=${column}
        choices=${file.columns.map((name) => ({ value: name, label: name }))}
        set=${(/** @type {string} */ name) => tried(() => take(file, name))}
      />`
    }`;
}
