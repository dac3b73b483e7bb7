/** The editor of a history: the group, and what tells of it. */
import { bound, Checkbox, Text } from "../fields.js";
import { count, listed } from "../format.js";
import { html } from "../lib.js";

/** @typedef {import("./history.js").HistoryState} HistoryState */

/** @param {{state: HistoryState, set: (change: Partial<HistoryState>) => void}} props */
export function HistoryEditor({ state, set }) {
  const { texts, names = [] } = state;
  const lines = texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
  const called = names.filter(Boolean);
  return html`<${Text} ...${bound(state, set)("group_id")} label="Group id" placeholder="the only one" />
    <p class="hint">
      ${count(lines, "line")} in ${count(texts.length, "text")}${called.length > 0 ? `: ${listed(called)}` : ""}.
    </p>
    <${Checkbox}
      label="Replay it in other ways"
      checked=${state.otherwise ?? false}
      set=${(/** @type {boolean} */ otherwise) => set({ otherwise: otherwise || undefined })}
    />`;
}
