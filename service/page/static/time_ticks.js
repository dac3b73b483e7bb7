/** Times along an axis. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 30]
  .map((n) => n * SECOND)
  .concat(
    [1, 2, 5, 10, 30].map((n) => n * MINUTE),
    [1, 3, 6, 12].map((n) => n * HOUR),
    [1, 2, 7, 30, 90].map((n) => n * DAY),
  );
/** Pixels that a label needs. */
const ROOM = 80;

/** Round times within a span, as many as there is room for. @param {number} from @param {number} to ms @param {number} width pixels @returns {{at: number, text: string}[]} */
export function scaleTicks(from, to, width) {
  const most = Math.max(Math.floor(width / ROOM), 1);
  const step = STEPS.find((each) => (to - from) / each <= most) ?? 365 * DAY;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const iso = new Date(at).toISOString();
    ticks.push({ at, text: step >= DAY ? iso.slice(5, 10) : iso.slice(11, step < MINUTE ? 19 : 16) });
  }
  return ticks;
}
