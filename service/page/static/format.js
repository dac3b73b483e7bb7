/** Numbers and words, as a reader wants them. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const HUNDREDTHS = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const NONE = "–";

/** A number does not part from its unit at the end of a line. @param {string | number} value @param {string} unit */
const of = (value, unit) => `${value}\u00a0${unit}`;

/** 12,345 or 2.33; – for what is not known. @param {number | null | undefined} value */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? WHOLE.format(value) : HUNDREDTHS.format(value);
}

/** 2.50: a ratio always has its decimals, so that columns are aligned. @param {number | null | undefined} value */
export function ratio(value) {
  return value === null || value === undefined ? NONE : HUNDREDTHS.format(value);
}

/** 1.2M, for the ticks of an axis. @param {number} value */
export function short(value) {
  return Math.abs(value) < 10_000 ? number(value) : SHORT.format(value);
}

/** 12.5%. @param {number | null | undefined} share */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  const value = share * 100;
  return `${value !== 0 && value < 9.95 ? value.toFixed(1) : WHOLE.format(value)}%`;
}

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB"];

/** 1.5 GB (10⁹ bytes). @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return NONE;
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes / 0.9995) / 3), BYTES.length - 1); // 999.5 kB are 1.0 MB
  const value = bytes / 1000 ** power;
  return of(power === 0 || value >= 99.95 ? WHOLE.format(value) : value.toFixed(1), BYTES[power]);
}

/** 1 h 5 min, 5 min 3 s, 12.0 s, 350 ms. @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds === 0) return of(0, "s");
  if (seconds < 0.9995) return of(WHOLE.format(seconds * 1000), "ms");
  if (seconds < 59.95) return of(seconds.toFixed(1), "s");
  const whole = Math.round(seconds);
  if (whole < 600) return `${of(Math.floor(whole / 60), "min")} ${of(whole % 60, "s")}`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return of(minutes, "min");
  if (minutes < 2880) return of(Math.floor(minutes / 60), "h") + (minutes % 60 ? ` ${of(minutes % 60, "min")}` : "");
  return of(WHOLE.format(minutes / 1440), "days");
}

/** A sentence of the service with amounts as this page has them: 240 GB, 2 h 5 min. @param {string} sentence */
export function plain(sentence) {
  const value = (/** @type {string} */ digits) => Number(digits.replaceAll(",", ""));
  return sentence
    .replaceAll(/(\d[\d,]*) bytes/g, (_, digits) => size(value(digits)))
    .replaceAll(/(\d[\d,.]*) s\b/g, (_, digits) => duration(value(digits)));
}

/** 1 partition, 2 partitions. @param {number} count @param {string} noun @param {string} [plural] */
export function count(count, noun, plural = `${noun}s`) {
  return `${number(count)} ${count === 1 ? noun : plural}`;
}

/** `a, b and c`. @param {string[]} words */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A long text by its beginning. @param {string} text @param {number} most */
export function clipped(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** What all texts begin with. @param {string[]} texts */
function common([first, ...others]) {
  let start = others.length > 0 ? first : "";
  for (const text of others) while (!text.startsWith(start)) start = start.slice(0, -1);
  return start;
}

/** @param {string} text */
const reversed = (text) => [...text].reverse().join("");

/** Characters of a name by which a reader knows it again. */
const TOLD = 8;

/**
 * Names in so many characters: where one is longer, the words that all begin or end with are left out, and of the rest what is
 * not needed to tell them apart.
 * @param {string[]} names @param {number} most
 */
export function fitted(names, most) {
  const fit = (/** @type {string[]} */ texts) => texts.every(({ length }) => length <= most);
  if (fit(names)) return names;
  const start = common(names).replace(/[\p{L}\p{N}]+$/u, "").length;
  const rests = start > 2 ? names.map((name) => `…${name.slice(start)}`) : names;
  const end = common(rests.map(reversed)).replace(/[\p{L}\p{N}]+$/u, "").length;
  const parts = end > 2 ? rests.map((rest) => `${rest.slice(0, -end)}…`) : rests;
  if (fit(parts)) return parts;
  const alike = (/** @type {number} */ length) =>
    new Set(parts.map((part) => part.slice(0, length))).size < new Set(parts).size;
  let told = TOLD + 1;
  while (told + 1 < most && alike(told)) told += 1;
  return parts.map((part) => clipped(part, Math.min(told + 1, most)));
}

/** Rows as CSV (RFC 4180). @param {string[]} columns @param {(string | number | null)[][]} rows */
export function csv(columns, rows) {
  /** @param {string | number | null} value */
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}
