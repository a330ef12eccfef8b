// A slider over the ledger: every view at a moment; a period can be played.
import { html, useEffect, useLayoutEffect, useRef, useState } from './lib.js';
import { useDocument } from './api.js';
import { at as moment, param, set, VIEWS } from './route.js';
import { colorOf, onScheme } from './color.js';
import * as f from './format.js';
import { Section, Shown, useTitle } from './ui.js';

const SPEEDS = [[60, '1 min'], [600, '10 min'], [3600, '1 h'], [21600, '6 h']];
const STEP = 500; // milliseconds between two frames

export function History({ views }) {
  useTitle('History');
  const doc = useDocument('timeline', { title: !moment.value });
  return html`<${Shown} doc=${doc}>${(t) => (t.from === null ? html`<p class="unknown">The ledger has no records: nothing of the past is known. A controller keeps them in memory, and with --ledger-dir on disk.</p>`
    : html`<${Slider} t=${t} views=${views} />`)}<//>`;
}

function Slider({ t, views }) {
  const from = Math.floor(new Date(t.from) / 1000);
  const to = Math.ceil(new Date(t.to) / 1000);
  const at = moment.value ? Math.max(from, Math.min(to, Math.round(new Date(moment.value) / 1000))) : to;
  const [playing, setPlaying] = useState(false);
  const speed = Number(param('speed')) || 600;
  const go = (s) => set({ at: f.iso(Math.max(from, Math.min(to, s)) * 1000) });
  useEffect(() => { if (!moment.value) go(to); }, []);
  useEffect(() => {
    if (!playing) return undefined;
    if (at >= to) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => go(at + Math.max(1, Math.round(speed * STEP / 1000))), STEP);
    return () => clearTimeout(timer);
  }, [playing, at, speed, to]);
  const times = t.moments.map((m) => Math.round(new Date(m.at) / 1000));
  const before = times.findLastIndex((s) => s < at);
  const after = times.findIndex((s) => s > at);
  const gap = t.gaps.find((g) => at * 1000 > new Date(g.from) && at * 1000 < new Date(g.to));
  const of = VIEWS.some((v) => v.id === param('of')) ? param('of') : 'fleet';
  const Shown = views[of];
  return html`<div class="slider">
      <p class="when"><strong>${f.moment(at * 1000)}</strong> <span class="muted">${f.span(to - at)} before the end of the records, ${f.moment(to * 1000)}</span></p>
      <${Strip} ...${{ t, from, to, at }} />
      <input type="range" min=${from} max=${to} step="1" value=${at} aria-label="Moment" aria-valuetext=${f.moment(at * 1000)} onInput=${(e) => { setPlaying(false); go(Number(e.target.value)); }} />
      <${Marks} ...${{ t, from, to }} />
      <p class="controls"><button onClick=${() => { if (at >= to) go(from); setPlaying(!playing); }} aria-pressed=${playing}>${playing ? 'Pause' : 'Play'}</button>
        <button disabled=${before < 0} onClick=${() => go(times[before])}>Earlier decision</button><button disabled=${after < 0} onClick=${() => go(times[after])}>Later decision</button>
        <label>Speed <select value=${speed} onChange=${(e) => set({ speed: e.target.value === '600' ? '' : e.target.value })}>${SPEEDS.map(([s, label]) => html`<option key=${s} value=${s} selected=${s === speed}>${label} per second</option>`)}</select></label>
        <label>Moment <input type="text" size="20" value=${f.iso(at * 1000)} spellcheck=${false} onChange=${(e) => { const s = new Date(e.target.value) / 1000; if (!Number.isNaN(s)) go(Math.round(s)); }} /></label>
        <label>Show <select value=${of} onChange=${(e) => set({ of: e.target.value })}>${VIEWS.filter((v) => !['edit', 'history', 'node'].includes(v.id)).map((v) => html`<option key=${v.id} value=${v.id} selected=${v.id === of}>${v.title}</option>`)}</select></label></p>
      ${gap && html`<p class="unknown" role="status">No controller kept records between ${f.moment(gap.from)} and ${f.moment(gap.to)}: what happened meanwhile is not known.</p>`}
    </div>
    <${Section} id="moments" title="Decisions around this moment" note=${`${f.count(t.moments.length)} in all${t.moments.length >= 1000 ? ', the newest that are listed' : ''}`}><${Moments} ...${{ t, times, at, go }} /><//>
    <${Section} id="then" title=${VIEWS.find((v) => v.id === of).title} note=${`at ${f.moment(at * 1000)}`}>${Shown && html`<${Shown} key=${of} />`}<//>`;
}

function Moments({ t, times, at, go }) {
  const here = times.findLastIndex((s) => s <= at);
  const first = Math.max(0, Math.min(here - 3, t.moments.length - 7));
  const list = t.moments.slice(first, first + 7);
  if (list.length === 0) return html`<p class="muted">None.</p>`;
  return html`<ol class="moments">${list.map((m, i) => html`<li key=${m.at + m.text} aria-current=${first + i === here ? 'true' : undefined}><button class="inline" onClick=${() => go(times[first + i])}>${f.moment(m.at)}</button> <span class="tag">${m.kind}</span> <span>${m.text}</span></li>`)}</ol>`;
}

const KINDS = { command: '--s-disrupting', plan: '--s-blocked', provisioning: '--s-launching', nodeclaim: '--s-starting', start: '--text', saving: '--s-ready' };

// Decisions and gaps above the slider. They are also in the list, so that the picture is left out for screen readers.
function Strip({ t, from, to, at }) {
  const canvas = useRef(null);
  const [, again] = useState(0);
  useEffect(() => onScheme(() => again((n) => n + 1)), []);
  useEffect(() => {
    const observer = new ResizeObserver(() => again((n) => n + 1));
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const ratio = devicePixelRatio || 1;
    const width = canvas.current.clientWidth;
    const height = canvas.current.clientHeight;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(height * ratio);
    const c = canvas.current.getContext('2d');
    c.scale(ratio, ratio);
    // The thumb of the slider is 16 pixels wide, and its middle is what counts.
    const x = (s) => 8 + (width - 16) * (to > from ? (s - from) / (to - from) : 1);
    c.fillStyle = colorOf('--tile');
    c.fillRect(8, 0, width - 16, height);
    for (const g of t.gaps) {
      c.fillStyle = colorOf('--line');
      c.fillRect(x(new Date(g.from) / 1000), 0, Math.max(2, x(new Date(g.to) / 1000) - x(new Date(g.from) / 1000)), height);
    }
    for (const m of t.moments) {
      c.fillStyle = colorOf(KINDS[m.kind] || '--muted');
      c.fillRect(x(new Date(m.at) / 1000), m.kind === 'start' ? 0 : 5, 1.5, height);
    }
    c.fillStyle = colorOf('--accent');
    c.fillRect(x(at) - 1, 0, 2, height);
  });
  return html`<canvas ref=${canvas} class="strip-canvas" aria-hidden="true"></canvas>`;
}

function Marks({ t, from, to }) {
  const [, again] = useState(0);
  useEffect(() => onScheme(() => again((n) => n + 1)), []);
  return html`<p class="legend"><span>${f.moment(from * 1000)}</span><span class="grow"></span>${
    [['command', 'command'], ['plan', 'plan'], ['provisioning', 'launch'], ['start', 'start of a controller']].map(([kind, label]) => html`<span key=${kind} class="chip"><span class="swatch" style=${{ background: colorOf(KINDS[kind]) }}></span>${label}</span>`)}${
    t.gaps.length > 0 && html`<span class="chip"><span class="swatch" style=${{ background: colorOf('--line') }}></span>${f.plural(t.gaps.length, 'gap')} without records</span>`}<span class="grow"></span><span>${f.moment(to * 1000)}</span></p>`;
}

