/** The disks by broker: pressing one says what becomes of it; and what else each is. */
import { bound, Numeric, Text } from "../fields.js";
import { percent, size } from "../format.js";
import { html, useMemo } from "../lib.js";
import { fresh, replaced } from "../lists.js";
import { Chip, Chips, Pressing } from "./chip.js";
import { diskLoads, fullness, sharesKnown } from "./disk_loads.js";
import { More, useMore } from "./rows.js";

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
    <${Rows} disks=${disks} state=${state} set=${set} />
  </section>`;
}

/** @type {{name: "capacity_bytes" | "used_bytes", label: string}[]} */
const COLUMNS = [
  { name: "capacity_bytes", label: "size, GB" },
  { name: "used_bytes", label: "used now, GB" },
];

/** What disks are. @param {{disks: import("./disk_loads.js").Disk[], state: DisksState, set: Set}} props */
function Rows({ disks, state: { brokers }, set }) {
  const [listed, more] = useMore();
  return html`<details>
    <summary>Paths and sizes</summary>
    <div class="wide">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">broker</th>
            <th scope="col">log directory</th>
            ${COLUMNS.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${disks.slice(0, listed).map(({ broker, dir, broker_id, path }) => {
            const now = brokers[broker]?.log_dirs[dir];
            const change = (/** @type {Partial<LogDir>} */ part) =>
              set({ brokers: withDir(brokers, broker, dir, { ...now, ...part }) });
            const field = bound(now, change, `/brokers/${broker}/log_dirs/${dir}`);
            return html`<tr key="${broker} ${dir}">
              <th scope="row">${broker_id}</th>
              <td>
                <${Text} bare ...${field("log_dir")} label="Path of ${path} on broker ${broker_id}" value=${path} />
              </td>
              ${COLUMNS.map(
                ({ name, label }) =>
                  html`<td>
                    <${Numeric}
                      bare
                      ...${field(name)}
                      label="Broker ${broker_id} ${path}: ${label}"
                      scale=${1e9}
                      set=${(/** @type {number | null} */ value) => change({ [name]: value ?? undefined })}
                    />
                  </td>`,
              )}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <${More} of=${disks.length} shown=${listed} more=${more} noun="disk" />
  </details>`;
}
