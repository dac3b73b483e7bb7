/** The strategies that the service has, asked for once. */
import { get } from "./ask.js";
import { useEffect, useState } from "./lib.js";

/** @type {Map<string, Promise<any[]>>} */
const lists = new Map();

/** @param {"assignors" | "partitioners" | "placers"} name @returns {Promise<any[]>} */
function list(name) {
  const known = lists.get(name);
  if (known) return known;
  const asked = get(`/v1/${name}`).then((value) => value[name]);
  asked.catch(() => lists.delete(name)); // asked again when there is a token
  lists.set(name, asked);
  return asked;
}

/** The strategies of one kind; none until they are known. @param {"assignors" | "partitioners" | "placers"} name @returns {any[]} */
export function useCatalogue(name) {
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    list(name).then(setRows, () => {});
  }, [name]);
  return rows;
}
