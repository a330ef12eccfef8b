// Series over time, stacked, drawn by uPlot; the same as a table for those who cannot see it.
import { html, useEffect, useRef, useState } from './lib.js';
import { colorOf, onScheme } from './color.js';
import * as f from './format.js';

let loading = null;

// uPlot is the largest of the libraries, and most views do without it.
const library = () => (loading ||= import('../vendor/uplot.mjs').then((m) => m.default));

/** stacked sums of series, the first at the bottom, for drawing; null where a point has no value. */
export function stacked(values) {
  const below = new Array(values[0]?.length || 0).fill(0);
  return values.map((list) => list.map((x, i) => (below[i] += x || 0)));
}

// Times are in UTC, with the date where a day begins.
function tick(t, step) {
  const text = new Date(t * 1000).toISOString();
  return step >= 86400 || text.slice(11, 16) === '00:00' ? text.slice(5, 10) : step < 60 ? text.slice(11, 19) : text.slice(11, 16);
}

function options(names, values, width, scheme) {
  const axis = { stroke: colorOf('--muted'), grid: { stroke: colorOf('--line'), width: 1 }, ticks: { stroke: colorOf('--line'), width: 1 }, font: `11px ${colorOf('--sans')}` };
  const last = names.length - 1;
  return {
    width, height: 240, scheme, padding: [8, 24, 0, 0],
    tzDate: (ts) => new Date(ts * 1000 + new Date(ts * 1000).getTimezoneOffset() * 60000), // times in UTC
    cursor: { y: false, points: { size: 6 } },
    legend: { live: true },
    scales: { y: { range: (u, min, max) => [0, Math.max(max * 1.05, 0.01)] } },
    axes: [{ ...axis, space: 80, values: (u, ticks, i, space, step) => ticks.map((t) => tick(t, step)) }, { ...axis, size: 74, values: (u, ticks) => ticks.map((t) => '$' + t.toLocaleString('en-US', { maximumFractionDigits: 4 })) }],
    // The series on top comes first, so that the legend has the order of the picture; each is filled down to zero, and the next covers it.
    series: [{ label: 'UTC', value: (u, t) => (t === null ? '' : f.moment(t * 1000)) }, ...names.map((_, i) => {
      const at = last - i;
      return { label: names[at], stroke: colorOf(`--hue-${at % 10}`), width: 1, fill: colorOf(`--hue-${at % 10}`), points: { show: false },
        value: (u, v, si, k) => (k === null || k === undefined ? '' : f.perHour(values[at][k])) };
    })],
  };
}

/** Chart of dollars per hour: times are in seconds, values one list for each name. */
export function Chart({ label, times, names, values }) {
  const box = useRef(null);
  const [error, setError] = useState('');
  const [scheme, setScheme] = useState(0);
  const [width, setWidth] = useState(0);
  useEffect(() => onScheme(() => setScheme((n) => n + 1)), []);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.floor(box.current?.clientWidth || 0)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!width) return undefined;
    let plot = null;
    let ended = false;
    library().then((uPlot) => {
      if (ended) return;
      plot = new uPlot(options(names, values, width, scheme), [times, ...stacked(values).reverse()], box.current);
    }, () => setError('The chart library cannot be loaded: reload the page. The table has the same numbers.'));
    return () => { ended = true; plot?.destroy(); };
  }, [times, names, values, width, scheme]);
  return html`${error && html`<p class="warn">${error}</p>`}<div class="chart" role="img" aria-label=${label} ref=${box}></div>`;
}
