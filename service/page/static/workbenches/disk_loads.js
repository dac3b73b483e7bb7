/** What is on each disk before and after a plan. */

/** @typedef {import("./disks.js").DisksState} DisksState */
/**
 * @typedef {object} Disk
 * @property {number} broker its place in the state @property {number} dir its place among the broker's
 * @property {number} broker_id @property {string} path
 * @property {number | null} capacity @property {number} before bytes used @property {number} after
 * @property {number} replicas how many there are before @property {boolean} draining
 */

/** Disks that all tell their size are compared by the share that is used, others by bytes. @param {Disk[]} disks */
export function sharesKnown(disks) {
  return disks.length > 0 && disks.every(({ capacity }) => (capacity ?? 0) > 0);
}

/** How full a disk is: a share of it, or bytes. @param {Disk} disk @param {boolean} shares */
export function fullness({ before, after, capacity }, shares) {
  const [from, to] = [before, after].map((bytes) => (shares ? bytes / Number(capacity) : bytes));
  return { before: from, after: to };
}

/** @param {DisksState} state @param {any} plan the answer, or undefined @returns {Disk[]} broker by broker */
export function diskLoads({ brokers }, plan) {
  /** The bytes of each replica on its disk, where a plan moves any. @type {Map<string, {disk: Disk, bytes: number}>} */
  const where = new Map();
  const moved = new Set((plan?.reassignment.partitions ?? []).map(nameOf));
  /** @type {Map<string, Disk>} */
  const named = new Map();
  const disks = brokers.flatMap(({ broker_id, log_dirs }, broker) =>
    log_dirs.map(({ log_dir, capacity_bytes, used_bytes, draining, replicas }, dir) => {
      const disk = {
        broker,
        dir,
        broker_id,
        path: log_dir,
        capacity: capacity_bytes ?? null,
        draining: Boolean(draining),
      };
      const used = { ...disk, before: 0, after: 0, replicas: 0 };
      for (const { topic_name, partition_ids, partition_bytes } of replicas)
        partition_ids.forEach((id, i) => {
          used.before += Number(partition_bytes[i]) || 0;
          used.replicas += 1;
          const name = nameOf({ topic: topic_name, partition: id });
          if (moved.has(name))
            where.set(`${broker_id}\n${name}`, { disk: used, bytes: Number(partition_bytes[i]) || 0 });
        });
      used.before = used.after = Math.max(used.before, Number(used_bytes) || 0);
      named.set(`${broker_id}\n${log_dir}`, used);
      return used;
    }),
  );
  for (const row of plan?.reassignment.partitions ?? [])
    row.log_dirs.forEach((/** @type {string} */ path, /** @type {number} */ i) => {
      const [from, to] = [where.get(`${row.replicas[i]}\n${nameOf(row)}`), named.get(`${row.replicas[i]}\n${path}`)];
      if (from === undefined || to === undefined) return; // "any": it stays
      from.disk.after -= from.bytes;
      to.after += from.bytes;
    });
  return disks;
}

/** @param {{topic: string, partition: number}} row */
function nameOf({ topic, partition }) {
  return `${topic}\n${partition}`;
}
