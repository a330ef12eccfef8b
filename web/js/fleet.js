// The fleet: every node as a tile, or as a row of a table.
import { html, useEffect, useMemo, useRef, useState } from './lib.js';
import { useDocument, query } from './api.js';
import { at as moment, go, link, nodeLink, param, set } from './route.js';
import * as f from './format.js';
import { Bar, Known, NodeName, Shown, spoken, State, useTitle } from './ui.js';
import { colorOf, onScheme, palette, step, steps, STATES } from './color.js';
import * as d from './fleetdata.js';
import { FleetMap } from './fleetmap.js';
import { sorted, Table } from './table.js';

const DEFAULTS = { fill: 'cpu', color: 'state', group: 'nodepool', order: 'name' };

export function Fleet() {
  useTitle('Fleet');
  const doc = useDocument(query('fleet', moment.value));
  return html`<${Shown} doc=${doc}>${(fleet) => html`<${FleetOf} fleet=${fleet} />`}<//>`;
}

export function columns(at) {
  const resource = (r, label) => ({
    key: r, label, num: true, value: (n) => d.used(n, r),
    cell: (n) => html`<${Bar} value=${d.used(n, r)} title=${n.requested ? `${f.amount(r, n.requested[r])} of ${f.amount(r, n.allocatable[r])}` : `of ${f.amount(r, n.allocatable[r])}`} />`,
  });
  return [
    { key: 'name', label: 'Node', value: (n) => n.name, cell: (n) => html`<${NodeName} name=${n.name} />` },
    { key: 'state', label: 'State', value: (n) => STATES.indexOf(n.state), cell: (n) => html`<${State} state=${n.state} />` },
    { key: 'nodepool', label: 'NodePool', value: (n) => n.nodePool, cell: (n) => n.nodePool || html`<span class="muted">none</span>` },
    { key: 'type', label: 'Instance type', value: (n) => n.instanceType, cell: (n) => html`<${Known} value=${n.instanceType} />` },
    { key: 'zone', label: 'Zone', value: (n) => n.zone, cell: (n) => html`<${Known} value=${n.zone} />` },
    { key: 'capacity', label: 'Capacity', value: (n) => n.capacityType, cell: (n) => html`<${Known} value=${n.capacityType} />` },
    resource('cpu', 'CPU'), resource('memory', 'Memory'),
    { key: 'pods', label: 'Pods', num: true, value: (n) => n.requested?.pods, cell: (n) => html`<${Known} value=${n.requested?.pods}>${n.requested?.pods} of ${n.allocatable.pods}<//>` },
    { key: 'price', label: '$/h', num: true, value: (n) => n.pricePerHour, cell: (n) => html`<${Known} value=${n.pricePerHour}>${f.dollars(n.pricePerHour)}<//>` },
    { key: 'age', label: 'Age', num: true, value: (n) => new Date(at) - new Date(n.created), cell: (n) => f.age(n.created, at) },
    { key: 'reason', label: 'Disruption', value: (n) => n.reason || n.obstacle, cell: (n) => [n.reason && f.words(n.reason), n.obstacle && f.words(n.obstacle)].filter(Boolean).join(': ') || html`<span class="muted">–</span>` },
  ];
}

function FleetOf({ fleet }) {
  const filter = param('filter');
  const fill = param('fill', DEFAULTS.fill);
  const color = param('color', DEFAULTS.color);
  const group = param('group', DEFAULTS.group);
  const order = param('order', DEFAULTS.order);
  const show = param('show', 'tiles');
  const [focus, setFocus] = useState('');
  const keys = useMemo(() => d.labelKeys(fleet.nodes), [fleet]);
  const nodes = useMemo(() => fleet.nodes.filter(d.matcher(filter, fleet.at)), [fleet, filter]);
  const groups = useMemo(() => d.grouped(sorted(nodes, columns(fleet.at), order), group), [nodes, group, order]);
  const scale = useMemo(() => (d.SCALES.some(([k]) => k === color) ? scaleOf(nodes, color, fleet.at) : null), [nodes, color]);
  const values = useMemo(() => (scale ? [] : valuesOf(nodes, color)), [nodes, color]);
  const look = useMemo(() => {
    const colors = palette(color, values.map((v) => v.value));
    return {
      color: scale ? (n) => step(scale.place(n)) : (n) => colors.get(d.category(n, color)) || '--hue-none',
      colors,
      fill: fill === 'none' ? () => undefined : (n) => d.used(n, fill),
      note: noteOf,
      label: (n) => describe(n, fleet.at),
    };
  }, [values, scale, fill, color, fleet]);
  const was = useRef(null);
  useEffect(() => { // what changed is told, but not more often than a listener can follow
    const text = `${f.plural(nodes.length, 'node')}${nodes.length < fleet.nodes.length ? ` of ${f.count(fleet.nodes.length)}` : ''} shown`;
    if (text !== was.current) spoken.value = text;
    was.current = text;
  }, [nodes]);
  return html`
    <${Totals} fleet=${fleet} filter=${filter} legend=${show === 'tiles' && color === 'state' && !filter} />
    <${Controls} ...${{ fill, color, group, order, show, filter, keys }} />
    <div class="strip">${filter && html`<p class="found"><strong>${f.count(nodes.length)}</strong> of ${f.plural(fleet.nodes.length, 'node')}${noteOf({ nodes }, true)}</p>`}
      ${show === 'tiles' && html`<${Legend} ...${{ color, values, scale, look, filter }} />`}</div>
    ${nodes.length === 0 ? html`<p class="muted">${fleet.nodes.length === 0 ? 'There are no nodes.' : html`No node matches the filter. <button onClick=${() => set({ filter: '' })}>Clear it</button>`}</p>`
    : show === 'table' ? html`<${Table} caption="Nodes" columns=${columns(fleet.at)} rows=${nodes} rowKey=${(n) => n.name} order="name" />`
    : html`<${FleetMap} groups=${groups} total=${nodes.length} look=${look} focus=${focus} onFocus=${setFocus} onOpen=${(name) => go(nodeLink(name))} />
      <${Detail} node=${nodes.find((n) => n.name === focus)} at=${fleet.at} />`}`;
}

function valuesOf(nodes, key) {
  const counts = new Map();
  for (const n of nodes) counts.set(d.category(n, key), (counts.get(d.category(n, key)) || 0) + 1);
  const list = [...counts].map(([value, n]) => ({ value, n }));
  return key === 'state' ? list.sort((a, b) => STATES.indexOf(a.value) - STATES.indexOf(b.value))
    : list.sort((a, b) => b.n - a.n || f.byName(a.value, b.value));
}

// Shares have the scale from 0 to 100 %, others that from 0 to the largest value.
function scaleOf(nodes, key, at) {
  if (d.RESOURCES.includes(key)) return { place: (n) => d.used(n, key), low: '0 %', high: '100 %', lacks: nodes.some((n) => d.used(n, key) === null) };
  const known = nodes.map((n) => d.measure(n, key, at)).filter((x) => x !== null);
  const most = known.reduce((a, b) => Math.max(a, b), 0) || 1;
  const text = key === 'price' ? f.perHour : f.span;
  return { place: (n) => { const x = d.measure(n, key, at); return x === null ? null : x / most; }, low: key === 'price' ? '$0/h' : '0s', high: text(most), lacks: known.length < nodes.length };
}

function noteOf({ nodes }, whole = false) {
  const s = d.sums(nodes);
  const parts = [whole ? '' : f.plural(nodes.length, 'node'), f.perHour(s.price) + (s.unknown ? ` without ${f.plural(s.unknown, 'unknown price')}` : '')];
  if (s.known) parts.push(`CPU ${f.percent(f.share(s.requested.cpu, s.allocatable.cpu))}`, `memory ${f.percent(f.share(s.requested.memory, s.allocatable.memory))}`, f.plural(s.requested.pods, 'pod'));
  return parts.filter((p, i) => p || (whole && i === 0)).join(' · ');
}

const describe = (n, at) => [n.name, n.state.replace('-', ' '), n.nodePool || 'no NodePool', n.instanceType || 'instance type unknown', n.zone, n.capacityType,
  ...d.RESOURCES.map((r) => (n.requested ? `${r} ${f.percent(d.used(n, r))}` : '')), n.pricePerHour === null ? 'price unknown' : f.perHour(n.pricePerHour),
  `age ${f.age(n.created, at)}`, f.words(n.reason), f.words(n.obstacle)].filter(Boolean).join(', ');

// With the legend of states below, their counts are not shown twice.
function Totals({ fleet, filter, legend }) {
  const t = fleet.totals;
  const load = (r, label) => html`<div class="total"><dt>${label}</dt><dd>${t.requested ? html`<${Bar} value=${f.share(t.requested[r], t.allocatable[r])} />` : html`<span class="unknown">unknown</span>`}
    <span class="sub">${t.requested ? f.amount(r, t.requested[r]) + ' of ' : ''}${f.amount(r, t.allocatable[r])}</span></dd></div>`;
  return html`<dl class="totals">
    <div class="total"><dt>Nodes</dt><dd><span class="big">${f.count(t.nodes)}</span></dd></div>
    <div class="total"><dt>Price</dt><dd><span class="big">${f.perHour(t.pricePerHour)}</span>${t.unknownPrices > 0 && html`<span class="sub unknown">without ${f.plural(t.unknownPrices, 'node')} of unknown price</span>`}</dd></div>
    ${load('cpu', 'CPU requested')}${load('memory', 'Memory requested')}${load('pods', 'Pods')}
    <div class="total"><dt>Pending</dt><dd><a class=${'big' + (t.pending ? ' warn' : '')} href=${link('pending')}>${f.plural(t.pending, 'pod')}</a></dd></div>
    ${!legend && html`<div class="total wide"><dt>States</dt><dd class="states">${STATES.filter((s) => t.states[s]).map((s) => html`<button key=${s} class="chip" aria-pressed=${d.hasTerm(filter, 'state=' + s)}
      onClick=${() => set({ filter: d.toggled(filter, 'state=' + s) })}><${State} state=${s} /> ${f.count(t.states[s])}</button>`)}</dd></div>`}
  </dl>`;
}

const Choice = ({ name, label, value, fallback, children }) => html`<label>${label} <select value=${value}
  onChange=${(e) => set({ [name]: e.target.value === fallback ? '' : e.target.value })}>${children}</select></label>`;

const options = (list, value) => list.map(([key, label]) => html`<option key=${key} value=${key} selected=${key === value}>${label}</option>`);

function Controls({ fill, color, group, order, show, filter, keys }) {
  const labels = (value) => html`<optgroup label="Label">${options(keys.map((k) => [k, k]), value)}${
    value.includes('/') && !keys.includes(value) && html`<option value=${value} selected>${value}</option>`}</optgroup>`;
  return html`<form class="controls" role="search" onSubmit=${(e) => e.preventDefault()}>
    <label class="grow">Filter <input id="filter" type="search" value=${filter} placeholder="name, zone=a, cpu<30, -state=ready" autocomplete="off" spellcheck=${false}
      aria-describedby="filter-help" onInput=${(e) => set({ filter: e.target.value })} /></label>
    <span class="hidden" id="filter-help">Words, key=value for NodePool, zone, type, capacity, state, reason, obstacle or a label, and cpu, memory, pods in percent, price in dollars per hour, age in hours with less and greater signs. A minus sign excludes.</span>
    ${show === 'tiles' && html`<${Choice} name="fill" label="Fill" value=${fill} fallback=${DEFAULTS.fill}>${options([['cpu', 'CPU'], ['memory', 'memory'], ['pods', 'pods'], ['none', 'nothing']], fill)}<//>
    <${Choice} name="color" label="Color" value=${color} fallback=${DEFAULTS.color}>${options(d.CATEGORIES, color)}${options(d.SCALES, color)}${labels(color)}<//>
    <${Choice} name="group" label="Group" value=${group} fallback=${DEFAULTS.group}>${options([['none', 'nothing'], ...d.CATEGORIES], group)}${labels(group)}<//>
    <${Choice} name="order" label="Order" value=${order} fallback=${DEFAULTS.order}>${options([['name', 'name'], ['-cpu', 'CPU, most first'], ['cpu', 'CPU, least first'], ['-memory', 'memory, most first'], ['memory', 'memory, least first'], ['-price', '$/h, most first'], ['price', '$/h, least first'], ['-age', 'oldest first'], ['age', 'newest first'], ['state', 'state'], ['zone', 'zone']], order)}<//>`}
    <span class="toggle" role="group" aria-label="Show as">${[['tiles', 'Tiles'], ['table', 'Table']].map(([key, label]) => html`<button key=${key} type="button" aria-pressed=${show === key}
      onClick=${() => set({ show: key === 'tiles' ? '' : key })}>${label}</button>`)}</span>
  </form>`;
}

function Legend({ color, values, scale, look, filter }) {
  const [, setScheme] = useState(0);
  useEffect(() => onScheme(() => setScheme((n) => n + 1)), []);
  if (scale) {
    return html`<p class="legend"><span>${scale.low}</span>${steps.map((s) => html`<span key=${s} class="swatch joined" style=${{ background: colorOf(s) }}></span>`)}<span>${scale.high}</span>${
      scale.lacks && html`<span class="swatch" style=${{ background: colorOf('--hue-none') }}></span><span class="unknown">unknown</span>`}</p>`;
  }
  const named = values.filter((v) => look.colors.get(v.value) !== '--hue-none' || ['none', 'unknown', 'no label', 'no NodePool'].includes(v.value)).slice(0, 12);
  const rest = values.length - named.length;
  return html`<p class="legend">${named.map(({ value, n }) => {
    const term = d.termFor(color, value);
    const label = html`<span class="swatch" style=${{ background: colorOf(look.colors.get(value)) }}></span>${value} <span class="muted">${f.count(n)}</span>`;
    return term ? html`<button key=${value} class="chip" aria-pressed=${d.hasTerm(filter, term)} onClick=${() => set({ filter: d.toggled(filter, term) })}>${label}</button>`
      : html`<span key=${value} class="chip">${label}</span>`;
  })}${rest > 0 && html`<span class="chip"><span class="swatch" style=${{ background: colorOf('--hue-none') }}></span>${f.plural(rest, 'other value')}</span>`}</p>`;
}

function Detail({ node: n, at }) {
  if (!n) return html`<div class="detail muted">Point at a tile, or move with the arrow keys; Enter opens the node.</div>`;
  return html`<div class="detail"><${NodeName} name=${n.name} /> <${State} state=${n.state} />
    <span>${n.nodePool || 'no NodePool'}</span><span><${Known} value=${n.instanceType} /></span><span><${Known} value=${n.zone} /></span><span><${Known} value=${n.capacityType} /></span>
    ${n.requested ? d.RESOURCES.map((r) => html`<span key=${r}>${r === 'cpu' ? 'CPU' : r} <b>${f.percent(d.used(n, r))}</b></span>`) : html`<span class="unknown">requests unknown</span>`}
    <span><b><${Known} value=${n.pricePerHour}>${f.perHour(n.pricePerHour)}<//></b></span><span>age ${f.age(n.created, at)}</span>
    ${n.reason && html`<span>${f.words(n.reason)}</span>`}${n.obstacle && html`<span class="warn">${f.words(n.obstacle)}</span>`}</div>`;
}
