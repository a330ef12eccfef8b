// Colors of the canvas and the legends. They are variables of the style sheet, so that light and dark are decided there.

export const STATES = ['launching', 'starting', 'ready', 'blocked', 'not-ready', 'disrupting', 'draining'];

const HUES = 10;

let read = {};

/** colorOf a variable of the style sheet. */
export function colorOf(name) {
  return read[name] || (read[name] = getComputedStyle(document.documentElement).getPropertyValue(name).trim());
}

/** onScheme calls back when light changes to dark or back. */
export function onScheme(callback) {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const listener = () => {
    read = {};
    callback();
  };
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

/** palette of values: each of the most frequent has a color, the others share one. States have their own. */
export function palette(key, values) {
  if (key === 'state') return new Map(values.map((v) => [v, `--s-${v}`]));
  const plain = new Set(['none', 'unknown', 'no label', 'no NodePool']);
  const out = new Map();
  let i = 0;
  for (const v of values) out.set(v, plain.has(v) || i >= HUES ? '--hue-none' : `--hue-${i++}`);
  return out;
}

const STEPS = 7;

/** step of a scale from 0 to 1: the variable of its color. */
export const step = (x) => (x === null || Number.isNaN(x) ? '--hue-none' : `--scale-${Math.max(0, Math.min(STEPS - 1, Math.floor(x * STEPS)))}`);
export const steps = Array.from({ length: STEPS }, (_, i) => `--scale-${i}`);
