/** The choice of an assignor: Kafka's and this service's own; those of other clients behind a choice of their own. */
import { Select } from "../fields.js";
import { html, useState } from "../lib.js";

const OTHERS = "other clients";

/**
 * @param {object} props
 * @param {string} props.place @param {string} props.label @param {string | null} [props.value] @param {string} [props.other]
 * @param {import("../catalogue.js").AssignorChoice[]} props.choices @param {(value: string) => void} props.set
 * @param {any} [props.beside] what stands beside the first choice
 */
export function AssignorSelect({ place, label, value, other, choices, set, beside }) {
  const [opened, setOpened] = useState(false);
  const own = choices.filter(({ of_other_client }) => !of_other_client);
  const others = choices.filter(({ of_other_client }) => of_other_client);
  const chosen = others.some((choice) => choice.value === value);
  const first = html`<${Select}
    ...${{ place, label, other }}
    value=${opened || chosen ? OTHERS : value}
    choices=${others.length > 0 ? [...own, { value: OTHERS, label: "other clients …" }] : own}
    set=${(/** @type {string} */ next) => {
      setOpened(next === OTHERS);
      if (next !== OTHERS) set(next);
    }}
  />`;
  return html`${beside ? html`<div class="removable">${first}${beside}</div>` : first}
  ${
    (opened || chosen) &&
    html`<${Select}
      place="${place}/of_client"
      label="${label}, of other clients"
      value=${chosen ? value : ""}
      choices=${chosen ? others : [{ value: "", label: "choose one" }, ...others]}
      set=${set}
    />`
  }`;
}
