/** The disks by broker: pressing one says what becomes of it; and what else each is. */
import { bound, Text } from "../fields.js";
import { percent, size } from "../format.js";
import { html, useMemo } from "../lib.js";
import { fresh, replaced } from "../lists.js";
import { Chip, Chips, Pressing } from "./chip.js";
import { diskLoads, fullness, sharesKnown } from "./disk_loads.js";
import { More, NumbersOfEach, useMore } from "./rows.js";

/** @typedef {import("./disks.js").DisksState} DisksState */
/** @typedef {import("./disks.js").DiskFlag} DiskFlag */
/** @typedef {import("./disks.js").LogDir} LogDir */
/** @typedef {(change: Partial<DisksState>) => void} Set */

/** @type {{value: DiskFlag, label: string, word: string}[]} */
const FLAGS = [
  { value: "draining", label: "remove it: all replicas leave", word: "is removed" },
  { value: "cordoned", label: "cordon it: it gets nothing more", word: "cordoned" },
];

/** @param {DisksState["brokers"]} brokers @param {number} broker @param {number} dir @param {LogDir | null} next null: without it */
function withDir(brokers, broker, dir, next) {
  const { log_dirs, ...row } = brokers[broker];
  return replaced(brokers, broker, { ...row, log_dirs: replaced(log_dirs, dir, next) });
}

/** @param {{state: DisksState, answer: any, set: Set}} props */
export function DisksPicker({ state, answer, set }) {
  const { brokers, pressing = "draining" } = state;
  const [listed, more] = useMore();
  const disks = useMemo(() => diskLoads(state, answer), [state.brokers, answer]);
  const shares = sharesKnown(disks);
  const most = shares ? 1 : disks.reduce((largest, { before, after }) => Math.max(largest, before, after), 1);
  const press = (/** @type {import("./disk_loads.js").Disk} */ { broker, dir, replicas }) => {
    const now = brokers[broker].log_dirs[dir];
    const goes = pressing === "draining" && !now.draining && replicas === 0;
    const next = { ...now, [pressing]: now[pressing] ? undefined : true };
    set({ brokers: withDir(brokers, broker, dir, goes ? null : next) });
  };
  const add = (/** @type {number} */ broker) => {
    const { log_dirs } = brokers[broker];
    const paths = log_dirs.map(({ log_dir }) => log_dir);
    const { capacity_bytes } = log_dirs.at(-1) ?? {};
    const added = { log_dir: fresh("/data/disk", paths), capacity_bytes, replicas: [] };
    set({ brokers: replaced(brokers, broker, { ...brokers[broker], log_dirs: [...log_dirs, added] }) });
  };
  return html`<section>
    <h3>1 · Select disks</h3>
    <${Pressing} noun="disk" pressing=${pressing} flags=${FLAGS} set=${set} />
    <${Chips} count=${disks.length}>
      ${brokers.slice(0, listed).map(
        ({ broker_id, log_dirs }, broker) =>
          html`<div class="rack" key=${broker_id}>
            <h4>broker ${broker_id}</h4>
            ${disks
              .filter((disk) => disk.broker === broker && log_dirs[disk.dir])
              .map((disk) => {
                const now = log_dirs[disk.dir];
                const words = FLAGS.filter(({ value }) => now[value]).map(({ word }) => word);
                return html`<${Chip}
                  key=${disk.path}
                  name=${disk.path}
                  words=${disk.replicas === 0 ? [...words, "empty"] : words}
                  leaves=${Boolean(now.draining)}
                  pressed=${Boolean(now[pressing])}
                  ...${fullness(disk, shares)}
                  most=${most}
                  shown=${shares ? percent : size}
                  press=${() => press(disk)}
                />`;
              })}
            <button type="button" aria-label="Add disk to broker ${broker_id}" onClick=${() => add(broker)}>
              Add disk
            </button>
          </div>`,
      )}
    <//>
    <${More} of=${brokers.length} shown=${listed} more=${more} noun="broker" />
    <${Details} disks=${disks} state=${state} set=${set} />
  </section>`;
}

const COLUMNS = [
  { name: "capacity_bytes", label: "size, GB", scale: 1e9 },
  { name: "used_bytes", label: "used now, GB", scale: 1e9 },
];

/** What disks are. @param {{disks: import("./disk_loads.js").Disk[], state: DisksState, set: Set}} props */
function Details({ disks, state: { brokers }, set }) {
  const row = (/** @type {import("./disk_loads.js").Disk} */ { broker, dir, broker_id, path }) => {
    const now = brokers[broker]?.log_dirs[dir];
    const change = (/** @type {Partial<LogDir>} */ part) =>
      set({ brokers: withDir(brokers, broker, dir, { ...now, ...part }) });
    const field = bound(now, change, `/brokers/${broker}/log_dirs/${dir}`);
    const label = `Path of ${path} on broker ${broker_id}`;
    const text = html`<${Text} bare ...${field("log_dir")} label=${label} value=${path} />`;
    return { id: broker_id, name: `Broker ${broker_id} ${path}`, text, field };
  };
  return html`<${NumbersOfEach}
    summary="Paths and sizes"
    noun="disk"
    heads=${["broker", "log directory"]}
    columns=${COLUMNS}
    items=${disks}
    row=${row}
  />`;
}
