/** Which numbers of members are planned, of a group too large for all of them. */

/** What the service plans in one request: partitions or subscriptions, added up over all numbers of members and two assignors. */
const MOST_PLANNED = 18_000_000;
/** Numbers of members of a group too large for all of them. */
const FEW = 24;

/** The numbers of members to be planned; null: those that the service chooses. @param {import("./members.js").MembersState} state @returns {number[] | null} */
export function countsOf({ topics, members, most, threads_per_pod, members_counts }) {
  if (members_counts) return members_counts;
  const step = threads_per_pod ?? 1;
  const partitions = topics.reduce((sum, { partitions_count }) => sum + (Number(partitions_count) || 0), 0);
  const cost = (/** @type {number} */ count) => 2 * Math.max(partitions, count * Math.max(topics.length, 1));
  const largest = Math.max(Math.floor((most ?? partitions) / step), 1);
  if (((cost(step) + cost(largest * step)) / 2) * largest <= MOST_PLANNED)
    return most ? Array.from({ length: largest }, (_, i) => (i + 1) * step) : null;
  const end = most ? largest : Math.min(largest, Math.ceil((4 * members.length) / step));
  const spread = Array.from({ length: FEW }, (_, i) => Math.round(end ** (i / (FEW - 1))) * step);
  const now = members.length % step === 0 ? [members.length] : [];
  const chosen = [...new Set([...spread, ...now])].sort((a, b) => a - b);
  while (chosen.reduce((sum, count) => sum + cost(count), 0) > MOST_PLANNED && chosen.length > 1) chosen.pop();
  return chosen;
}
