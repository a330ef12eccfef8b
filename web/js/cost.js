// What the fleet costs, over time and divided, what it would have to cost, and what was saved.
import { html, useMemo } from './lib.js';
import { query, useDocument } from './api.js';
import { at as moment, link, param, set } from './route.js';
import * as f from './format.js';
import { Known, Section, Shown, useTitle } from './ui.js';
import { Table } from './table.js';
import { Chart } from './chart.js';

const DIVISIONS = { nodepool: ['NodePool', 'byNodePool'], zone: ['zone', 'byZone'], capacity: ['capacity type', 'byCapacityType'] };
const MOST_SERIES = 9;

export function Cost() {
  useTitle('Cost');
  const doc = useDocument(query('cost', moment.value));
  return html`<${Shown} doc=${doc}>${(c) => html`<${CostOf} c=${c} />`}<//>`;
}

function CostOf({ c }) {
  const by = DIVISIONS[param('by')] ? param('by') : 'nodepool';
  const [title, field] = DIVISIONS[by];
  return html`<${Totals} c=${c} />
    <${Section} id="series" title="Price over time" note=${c.series.length ? `${f.plural(c.series.length, 'point')} from the ledger, times in UTC` : ''}>
      <p class="toggle" role="group" aria-label="Divide by">${Object.entries(DIVISIONS).map(([key, [label]]) => html`<button key=${key} aria-pressed=${by === key} onClick=${() => set({ by: key === 'nodepool' ? '' : key })}>by ${label}</button>`)}</p>
      <${Series} series=${c.series} field=${field} title=${title} /><//>
    <div class="halves"><div>
      <${Divided} title="By NodePool" key="np" id="np" rows=${c.byNodePool} all=${c.now} filter="nodepool" /><${Divided} title="By zone" key="z" id="z" rows=${c.byZone} all=${c.now} filter="zone" /><${Divided} title="By capacity type" key="ct" id="ct" rows=${c.byCapacityType} all=${c.now} filter="capacity" />
      <${Savings} rows=${c.savings} /></div><div>
      <${Workloads} rows=${c.workloads} past=${c.past} all=${c.now} /><${Divided} title="By instance type" key="it" id="it" rows=${c.byInstanceType} all=${c.now} filter="type" /></div></div>`;
}

function Totals({ c }) {
  const b = c.bound;
  const saved = c.savings.reduce((sum, s) => sum + s.perHour, 0);
  return html`<dl class="totals">
    <div class="total"><dt>Price now</dt><dd><span class="big">${f.perHour(c.now.pricePerHour)}</span><span class="sub">${f.plural(c.now.nodes, 'node')}${c.now.unknownPrices > 0 && html`, <span class="unknown">without ${c.now.unknownPrices} of unknown price</span>`}</span></dd></div>
    <div class="total"><dt>A month</dt><dd><span class="big">${f.dollars(c.now.pricePerHour * 730)}</span><span class="sub">730 hours at this price</span></dd></div>
    <div class="total"><dt>Packed anew</dt><dd>${b ? html`<span class="big">${f.perHour(b.packed)}</span><span class="sub">${c.now.pricePerHour > 0 ? `${f.percent(Math.abs(1 - b.packed / c.now.pricePerHour))} ${b.packed > c.now.pricePerHour ? 'more' : 'less'}, with pods that wait` : ''}${b.unplaced > 0 ? html`, <span class="warn">${f.plural(b.unplaced, 'pod')} without a place</span>` : ''}</span>` : html`<span class="unknown big">unknown</span>`}</dd></div>
    <div class="total"><dt>Proven least</dt><dd>${b ? html`<span class="big">${f.perHour(b.least)}</span><span class="sub">gap of the packing ${b.gapPercent.toFixed(1)} %</span>` : html`<span class="unknown big">unknown</span>`}</dd></div>
    <div class="total"><dt>Savings that count now</dt><dd>${c.series.length > 0 ? html`<span class="big">${f.perHour(saved)}</span><span class="sub">${f.dollars(c.savings.reduce((sum, s) => sum + s.dollars, 0))} in the period of the ledger</span>` : html`<span class="unknown big">unknown</span>`}</dd></div></dl>`;
}

function Series({ series, field, title }) {
  const data = useMemo(() => {
    const sum = new Map();
    for (const p of series) for (const [name, x] of Object.entries(p[field] || {})) sum.set(name, (sum.get(name) || 0) + x);
    const order = [...sum].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const names = order.length > MOST_SERIES + 1 ? [...order.slice(0, MOST_SERIES), `${order.length - MOST_SERIES} others`] : order;
    const values = names.map((name, i) => series.map((p) => (i === MOST_SERIES && order.length > names.length ? order.slice(MOST_SERIES).reduce((s, n) => s + (p[field]?.[n] || 0), 0) : p[field]?.[name] || 0)));
    return { times: series.map((p) => new Date(p.at) / 1000), names, values };
  }, [series, field]);
  if (series.length < 2) return html`<p class="unknown">Unknown: the ledger has ${series.length === 0 ? 'no point' : 'one point'} of the price.</p>`;
  const first = series[0];
  const last = series[series.length - 1];
  const unpriced = series.reduce((most, p) => Math.max(most, p.unknownPrices), 0);
  return html`<${Chart} label=${`Price by ${title} from ${f.moment(first.at)} to ${f.moment(last.at)}: from ${f.perHour(first.pricePerHour)} to ${f.perHour(last.pricePerHour)}. The table below has the numbers.`} ...${data} />
    ${unpriced > 0 && html`<p class="unknown">Up to ${f.plural(unpriced, 'node')} had a price that is not known, and count as $0.</p>`}
    <details><summary>As a table</summary><${Table} id="series-sort" caption=${`Price by ${title} over time`} order="-at" limit=${50} rows=${series} rowKey=${(p) => p.at} columns=${[
      { key: 'at', label: 'Time', value: (p) => p.at, cell: (p) => f.moment(p.at) }, { key: 'nodes', label: 'Nodes', num: true, value: (p) => p.nodes },
      { key: 'all', label: 'All $/h', num: true, value: (p) => p.pricePerHour, cell: (p) => f.dollars(p.pricePerHour) },
      ...data.names.slice(0, MOST_SERIES).map((n) => ({ key: n, label: n, num: true, value: (p) => p[field]?.[n] || 0, cell: (p) => f.dollars(p[field]?.[n] || 0) })),
    ]} /></details>`;
}

function Divided({ title, id, rows, all, filter }) {
  return html`<${Section} id=${id} title=${title}><${Table} id=${'sort-' + id} caption=${'Price ' + title.toLowerCase()} rows=${rows} rowKey=${(r) => r.name} limit=${12} order="-price" columns=${[
    { key: 'name', label: 'Name', value: (r) => r.name || '', cell: (r) => (r.name && !/\s/.test(r.name) ? html`<a href=${link('fleet', '', { filter: `${filter}=${r.name}` })}>${r.name}</a>` : html`<span class="muted">${r.name || 'none'}</span>`) },
    { key: 'nodes', label: 'Nodes', num: true, value: (r) => r.nodes, cell: (r) => f.count(r.nodes) },
    { key: 'price', label: '$/h', num: true, value: (r) => r.pricePerHour, cell: (r) => html`${f.dollars(r.pricePerHour)}${r.unknownPrices > 0 && html` <span class="unknown">+ ${r.unknownPrices} unknown</span>`}` },
    { key: 'share', label: 'Share', num: true, value: (r) => f.share(r.pricePerHour, all.pricePerHour), cell: (r) => f.percent(f.share(r.pricePerHour, all.pricePerHour)) },
    { key: 'each', label: '$/h per node', num: true, value: (r) => f.share(r.pricePerHour, r.nodes - r.unknownPrices), cell: (r) => html`<${Known} value=${f.share(r.pricePerHour, r.nodes - r.unknownPrices)}>${f.dollars(f.share(r.pricePerHour, r.nodes - r.unknownPrices))}<//>` },
  ]} /><//>`;
}

function Savings({ rows }) {
  return html`<${Section} id="savings" title="Savings" note="claims of commands that succeeded"><${Table} id="sort-savings" caption="Savings by reason" rows=${rows} rowKey=${(r) => r.reason} order="-dollars" empty="The ledger has no claims of savings." columns=${[
    { key: 'reason', label: 'Reason', value: (r) => r.reason, cell: (r) => f.words(r.reason) },
    { key: 'hour', label: '$/h now', num: true, value: (r) => r.perHour, cell: (r) => f.dollars(r.perHour) },
    { key: 'dollars', label: 'Saved $', num: true, value: (r) => r.dollars, cell: (r) => f.dollars(r.dollars) },
    { key: 'commands', label: 'Commands', num: true, value: (r) => r.commands, cell: (r) => html`${r.commands}${r.unpriced > 0 && html` <span class="unknown">${r.unpriced} unpriced</span>`}` },
  ]} /><//>`;
}

function Workloads({ rows, past, all }) {
  return html`<${Section} id="workloads" title="Most expensive workloads" note="with their share of unused capacity"><${Table} id="sort-workloads" caption="Workloads by price" rows=${rows} rowKey=${(r) => r.workload} order="-price" limit=${20}
    empty=${past ? 'Unknown: the ledger does not record the pods of nodes.' : 'None.'} columns=${[
    { key: 'workload', label: 'Workload', value: (r) => r.workload, cell: (r) => html`<span class="name">${r.workload}</span>` },
    { key: 'pods', label: 'Pods', num: true, value: (r) => r.pods, cell: (r) => f.count(r.pods) },
    { key: 'price', label: '$/h', num: true, value: (r) => r.pricePerHour, cell: (r) => f.dollars(r.pricePerHour) },
    { key: 'share', label: 'Share', num: true, value: (r) => f.share(r.pricePerHour, all.pricePerHour), cell: (r) => f.percent(f.share(r.pricePerHour, all.pricePerHour)) },
  ]} /><//>`;
}
