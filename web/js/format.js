// Numbers, amounts and times as text. Whatever is not known is shown as "unknown", never as zero.

export const UNKNOWN = 'unknown';

// One collator: localeCompare makes one for each comparison, which takes a second for the names of a large fleet.
const collator = new Intl.Collator('en', { numeric: true });

/** byName compares texts; numbers in them by their value. */
export const byName = collator.compare;

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (n) => (n === null || n === undefined ? UNKNOWN : whole.format(n));

/** dollars shows cents, and four decimals for amounts below ten dollars, which prices per hour need. */
export function dollars(x) {
  if (x === null || x === undefined) return UNKNOWN;
  const digits = Math.abs(x) < 10 ? 4 : 2;
  const text = Math.abs(x).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (x < 0 ? '−$' : '$') + text;
}

export const perHour = (x) => (x === null || x === undefined ? UNKNOWN : dollars(x) + '/h');

/** change is a difference, with its sign. */
export const change = (x, text) => (x > 0 ? '+' : '') + text(x);

/** cores is from thousandths of a core. */
export function cores(m, unit = true) {
  if (m === null || m === undefined) return UNKNOWN;
  const x = m / 1000;
  return (Math.abs(x) >= 1000 ? whole : tenths).format(x) + (unit ? (x === 1 ? ' core' : ' cores') : '');
}

/** bytes is in binary units. */
export function bytes(b) {
  if (b === null || b === undefined) return UNKNOWN;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  while (Math.abs(b) >= 1024 && i < units.length - 1) {
    b /= 1024;
    i++;
  }
  return (Math.abs(b) >= 100 || i === 0 ? whole : tenths).format(b) + ' ' + units[i];
}

export const amount = (resource, x) => (resource === 'cpu' ? cores(x) : resource === 'memory' ? bytes(x) : count(x) + (x === 1 ? ' pod' : ' pods'));

/** share of used in all, from 0 to 1; null when either is not known. */
export const share = (used, all) => (used === null || used === undefined || !all ? null : used / all);

export const percent = (x) => (x === null || x === undefined ? UNKNOWN : whole.format(x * 100) + ' %');

/** span is a duration in seconds, with its two largest units. */
export function span(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return UNKNOWN;
  const sign = seconds < 0 ? '−' : '';
  let s = Math.round(Math.abs(seconds));
  const d = Math.floor(s / 86400);
  const h = Math.floor((s % 86400) / 3600);
  const m = Math.floor((s % 3600) / 60);
  s %= 60;
  const [large, small] = d ? [`${d}d`, h && `${h}h`] : h ? [`${h}h`, m && `${m}m`] : m ? [`${m}m`, s && `${s}s`] : [`${s}s`, ''];
  return sign + large + (small ? ' ' + small : '');
}

/** age of something at a moment: both are texts or times. */
/** age is the time since a moment; the API has the year 1 for one that is not known. */
export const age = (since, at) => (new Date(since).getUTCFullYear() < 1970 ? UNKNOWN : span((new Date(at) - new Date(since)) / 1000));

/** Times are in UTC, as in logs. */
export const clock = (t) => new Date(t).toISOString().slice(11, 19);
export const moment = (t) => new Date(t).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
/** near is a time without its date, where that is the day of the moment. */
export const near = (t, at) => (new Date(t).toISOString().slice(0, 10) === new Date(at).toISOString().slice(0, 10) ? clock(t) + ' UTC' : moment(t));
export const iso = (t) => new Date(t).toISOString().slice(0, 19) + 'Z';

export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + 's'}`;

/** words turns codes such as PDBBlocked or under-way into words. */
export const words = (code) => (code || '').replace(/-/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
  .replace(/ ([A-Z])(?=[a-z])/g, (c) => c.toLowerCase()).replace(/^(.)/, (c) => c.toUpperCase());
