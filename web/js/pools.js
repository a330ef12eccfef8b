// NodePools: limits, weights, conditions, drift, disruption, and offerings that cannot be launched.
import { html } from './lib.js';
import { query, useDocument } from './api.js';
import { at as moment, link } from './route.js';
import * as f from './format.js';
import { Bar, Facts, Known, NodeNames, Shown, useTitle, When } from './ui.js';
import { Table } from './table.js';
import { Allowances, BudgetList } from './moves.js';

export function Pools() {
  useTitle('Pools');
  const doc = useDocument(query('pools', moment.value));
  return html`<${Shown} doc=${doc}>${(p) => (p.pools.length === 0 ? html`<p class="muted">There are no NodePools.</p>`
    : html`<ul class="cards">${p.pools.map((pool) => html`<li key=${pool.name} class="card" id=${'pool-' + pool.name}><${Pool} p=${pool} at=${p.at} /></li>`)}</ul>`)}<//>`;
}

function Pool({ p, at }) {
  return html`<h2>${p.name} ${p.launches ? html`<span class="tag t-now">launches nodes</span>` : html`<span class="tag t-blocked">launches no nodes</span>`}</h2>
    ${!p.launches && p.message && html`<div class="obstacle"><p>${p.message}</p>${p.help && html`<p class="help"><span class="arrow" aria-hidden="true">→</span> ${p.help}</p>`}</div>`}
    <${Facts} facts=${[
      ['Nodes', html`<a href=${link('fleet', '', { filter: `nodepool=${p.name}` })}>${f.count(p.nodes)}</a>${p.replicas !== null && html` <span class="muted">of ${f.plural(p.replicas, 'replica')}</span>`}`],
      ['Price', html`<${Known} value=${p.pricePerHour}>${f.perHour(p.pricePerHour)}<//>${p.unpricedNodes > 0 && html` <span class="unknown">without ${f.plural(p.unpricedNodes, 'node')}</span>`}`],
      ['Weight', f.count(p.weight)],
      ['Node class', html`<${Known} value=${p.nodeClass} />`],
      ['Drifted', html`<span class=${p.drifted ? 'warn' : ''}>${f.plural(p.drifted, 'node')}</span>`],
      ['Unavailable offerings', html`<span class=${p.unavailableCount ? 'warn' : ''}>${f.count(p.unavailableCount)}</span>`],
    ]} />
    <div class="halves"><div>
      <h3>Usage and limits</h3><${Usage} usage=${p.usage} />
      <h3>Conditions</h3><${Conditions} list=${p.conditions} at=${at} />
      <h3>Unavailable offerings</h3><${Unavailable} p=${p} at=${at} /></div><div>
      <h3>Disruption</h3><${Disruption} p=${p} />
      <h3>Budgets</h3><${BudgetList} budgets=${p.budgets} at=${at} /><${Allowances} allowances=${p.allowances} />
      ${p.disrupting.length > 0 && html`<p>In use by: <${NodeNames} names=${p.disrupting.map((d) => d.node)} /></p>`}</div></div>`;
}

const SUFFIXES = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

/** quantity of Kubernetes as a number; null for one that cannot be read. */
export function quantity(text) {
  const [, number, suffix] = String(text).match(/^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/) || [];
  if (number === undefined || (suffix && !SUFFIXES[suffix])) return null;
  return Number(number) * (suffix ? SUFFIXES[suffix] : 1);
}

// Amounts are shown as written where that is short: sums of memory in Ki are not.
function shown(resource, text) {
  const x = quantity(text);
  if (x === null) return text;
  if (resource === 'cpu') return f.cores(x * 1000);
  return /memory|storage/.test(resource) ? f.bytes(x) : f.count(x);
}

function Usage({ usage }) {
  if (usage.length === 0) return html`<p class="muted">None.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Usage"><table class="small"><thead><tr><th scope="col">Resource</th><th scope="col" class="num">Used</th><th scope="col" class="num">Limit</th><th scope="col" class="num">Share</th></tr></thead><tbody>${
    usage.map((u) => html`<tr key=${u.resource}><td>${u.resource}</td><td class="num">${shown(u.resource, u.used)}</td><td class="num">${u.limit ? shown(u.resource, u.limit) : html`<span class="muted">none</span>`}</td><td class="num">${
      u.limit ? html`<${Bar} value=${f.share(quantity(u.used), quantity(u.limit))} />` : ''}</td></tr>`)}</tbody></table></div>`;
}

const GOOD = { True: 'now', False: 'blocked', Unknown: 'wait' };

function Conditions({ list, at }) {
  if (list.length === 0) return html`<p class="muted">None.</p>`;
  return html`<ul class="plain">${list.map((c) => html`<li key=${c.type}><strong>${c.type}</strong> <span class=${'tag t-' + (GOOD[c.status] || 'no')}>${c.status}</span> <${When} time=${c.since} at=${at} />${
    c.status !== 'True' && (c.reason || c.message) && html`<br />${c.reason} ${c.message}`}</li>`)}</ul>`;
}

function Unavailable({ p, at }) {
  return html`<${Table} id=${'sort-off-' + p.name} caption="Unavailable offerings" rows=${p.unavailable} limit=${10} empty=${p.unavailableCount ? '' : 'None.'} columns=${[
    { key: 'type', label: 'Instance type', value: (o) => o.instanceType, cell: (o) => html`<span class="name">${o.instanceType}</span>` },
    { key: 'zone', label: 'Zone', value: (o) => o.zone }, { key: 'capacity', label: 'Capacity', value: (o) => o.capacityType },
    { key: 'until', label: 'Until', value: (o) => o.until, cell: (o) => html`<${Known} value=${o.until}><${When} time=${o.until} at=${at} /><//>` },
    { key: 'why', label: 'Why', value: (o) => o.why || '', cell: (o) => html`<${Known} value=${o.why} />` },
  ]} />${p.unavailableCount > p.unavailable.length && html`<p class="unknown">${f.count(p.unavailableCount - p.unavailable.length)} more are not listed.</p>`}`;
}

function Tallies({ list }) {
  return html`<ul class="plain">${list.map((t, i) => html`<li key=${t.code + i}><span class=${t.wanted ? 'warn' : ''}>${f.plural(t.count, 'node')}</span> <code title=${t.message}>${t.code}</code> <span class="muted">${t.message}</span>
    <details><summary>What would help, and which nodes</summary><p class="help"><span class="arrow" aria-hidden="true">→</span> ${t.help}</p><p><${NodeNames} names=${t.nodes} most=${10} /></p></details></li>`)}</ul>`;
}

function Disruption({ p }) {
  return html`${p.disruption.map((o) => html`<div key=${o.reason}><p><strong>${f.words(o.reason)}</strong>: ${o.possible > 0 ? html`${f.plural(o.possible, 'node')} possible, <strong>${o.now}</strong> now` : html`<span class="muted">no node</span>`}</p>
    ${o.others.length > 0 && html`<details><summary>${f.plural(o.others.reduce((s, t) => s + t.count, 0), 'other node')} by obstacle</summary><${Tallies} list=${o.others} /></details>`}</div>`)}
    ${p.excluded.length > 0 && html`<p><strong>Excluded</strong> from every reason but repair</p><${Tallies} list=${p.excluded} />`}`;
}

