// One node: its pods, why it is here, why it is not removed and what would change that, and its life.
import { html, useState } from './lib.js';
import { query, useDocument } from './api.js';
import { at as moment, go, link, nodeLink, route } from './route.js';
import * as f from './format.js';
import { Bar, Facts, Known, NodeNames, Section, Shown, State, Texts, useTitle, When } from './ui.js';
import { Table } from './table.js';
import { Life } from './life.js';
import { columns } from './fleet.js';
import { matcher } from './fleetdata.js';

export function Node() {
  const { name } = route.value;
  useTitle(name || 'Node');
  return name ? html`<${One} key=${name} name=${name} />` : html`<${Choose} />`;
}

function Choose() {
  const [text, setText] = useState('');
  const doc = useDocument(query('fleet', moment.value));
  return html`<${Shown} doc=${doc}>${(fleet) => {
    const nodes = fleet.nodes.filter(matcher(text, fleet.at));
    return html`<form class="controls" role="search" onSubmit=${(e) => { e.preventDefault(); if (nodes.length) go(nodeLink(nodes[0].name)); }}>
      <label class="grow">Find a node <input id="filter" type="search" value=${text} placeholder="name, NodePool, zone or instance type" autocomplete="off" spellcheck=${false} onInput=${(e) => setText(e.target.value)} /></label></form>
    <${Table} caption="Nodes" columns=${columns(fleet.at)} rows=${nodes} rowKey=${(n) => n.name} order="name" limit=${50} empty="No node matches." />`;
  }}<//>`;
}

function One({ name }) {
  const doc = useDocument(query('node/' + encodeURIComponent(name), moment.value));
  return html`<${Shown} doc=${doc}>${(n) => html`
    <h1 class="object">${n.name} <${State} state=${n.state} /></h1>
    <${Facts} facts=${[
      ['Price', html`<${Known} value=${n.pricePerHour}>${f.perHour(n.pricePerHour)} <span class="muted">${f.dollars(n.pricePerHour * 730)} a month</span><//>`],
      ['Instance type', html`<${Known} value=${n.instanceType} />`],
      ['Zone', html`<${Known} value=${n.zone} />`],
      ['Capacity type', html`<${Known} value=${n.capacityType} />`],
      ['NodePool', n.nodePool ? html`<a href=${link('pools')}>${n.nodePool}</a>` : 'none'],
      n.nodeClaim && n.nodeClaim !== n.name && ['NodeClaim', html`<span class="name">${n.nodeClaim}</span>`],
      ['Age', html`${f.age(n.created, n.at)} <span class="muted">since ${f.moment(n.created)}</span>`],
      ...['cpu', 'memory', 'pods'].map((r) => [r === 'cpu' ? 'CPU requested' : r === 'memory' ? 'Memory requested' : 'Pods',
        html`<${Bar} value=${n.requested ? f.share(n.requested[r], n.allocatable[r]) : null} /> <span class="muted">${n.requested ? f.amount(r, n.requested[r]) + ' of ' : ''}${f.amount(r, n.allocatable[r])}</span>`]),
    ]} />
    <div class="halves">
      <div><${WhyHere} n=${n} /><${WhyKept} n=${n} />
        <${Section} id="life" title="Life" note=${n.life.length ? f.plural(n.life.length, 'record') : ''}><${Life} life=${n.life} at=${n.at} /><//></div>
      <div><${Pods} n=${n} /><${Labels} labels=${n.labels} /></div>
    </div>`}<//>`;
}

function WhyHere({ n }) {
  return html`<${Section} id="why" title="Why it is here">${n.why ? html`<p>Launched <${When} time=${n.why.at} at=${n.at} />${
    n.why.command && html`, by the command <span class="name">${n.why.command}</span>`}. Reason: <strong>${f.words(n.why.reason).toLowerCase()}</strong>.</p>
    ${n.why.pods.count > 0 && html`<p>For ${f.plural(n.why.pods.count, 'pod')}: <${Texts} names=${n.why.pods} most=${6} /></p>`}`
    : html`<p class="unknown">${n.nodeClaim ? 'Unknown: the ledger has no record of its launch.' : 'Karpenter did not launch this node.'}</p>`}<//>`;
}

function WhyKept({ n }) {
  const e = n.explanation;
  if (!e) {
    return html`<${Section} id="kept" title="Why it is not removed"><p class="unknown">${n.past ? 'Unknown: this is computed for the present only.' : n.nodeClaim ? 'Unknown.' : 'Karpenter does not manage this node, and never removes it.'}</p><//>`;
  }
  const going = n.state === 'draining' || n.state === 'disrupting';
  return html`<${Section} id="kept" title=${going ? 'Why it is being removed' : 'Why it is not removed'}>
    ${e.obstacle && html`<${Obstacle} o=${e.obstacle} />`}
    ${e.expected?.length > 0 && html`<p>${f.plural(e.expected.length, 'pending pod')} ${e.expected.length === 1 ? 'is' : 'are'} expected on it: <${Texts} names=${e.expected} /></p>`}
    ${e.verdicts.length > 0 && html`<ul class="verdicts">${e.verdicts.map((v) => html`<li key=${v.reason}><${Verdict} v=${v} /></li>`)}</ul>`}
    <p class="muted">Removing it moves ${f.plural(e.podsToMove, 'pod')}.</p><//>`;
}

function Verdict({ v }) {
  const what = v.now ? ['now', 'would be disrupted now'] : v.plan ? ['wait', 'possible, not now'] : v.wanted ? ['blocked', 'wanted, but blocked'] : ['no', 'does not apply'];
  return html`<p class="verdict"><strong>${f.words(v.reason)}</strong> <span class=${'tag t-' + what[0]}>${what[1]}</span></p>
    ${v.conditions?.map((c) => html`<p key=${c}>${c}</p>`)}
    ${v.plan && html`<p>Plan: ${v.plan.decision.replace('-', ' ')}${v.plan.replacements?.length ? html` by <span class="name">${v.plan.replacements.slice(0, 3).join(', ')}</span>${v.plan.replacements.length > 3 ? ` or ${f.plural(v.plan.replacements.length - 3, 'other')}` : ''}` : ''}, saves <${Known} value=${v.plan.savesPerHour}>${f.perHour(v.plan.savesPerHour)}<//>${
      v.plan.approval ? html`, once a person approves (OperationsPolicy <span class="name">${v.plan.approval.operationsPolicy}</span>: ${v.plan.approval.message})` : ''}${
      v.plan.with?.length ? html`, together with <${NodeNames} names=${v.plan.with} />` : ''}.</p>`}
    ${v.obstacle && html`<${Obstacle} o=${v.obstacle} quiet=${!v.wanted} />`}`;
}

/** Obstacle is what prevents a disruption, and what would change that. */
export function Obstacle({ o, quiet }) {
  return html`<div class=${'obstacle' + (quiet ? ' quiet' : '')}><p>${o.message} <code title="see docs/reference/obstacles.md">${o.code}</code></p>
    ${o.detail && html`<p class="muted">${o.detail}</p>`}
    ${o.pods?.length > 0 && html`<p>Pods: <${Texts} names=${o.pods} /></p>`}
    ${o.podDisruptionBudgets?.length > 0 && html`<p>PodDisruptionBudgets: <${Texts} names=${o.podDisruptionBudgets} /></p>`}
    ${o.closedDestinations?.length > 0 && html`<p>Waits for: <${NodeNames} names=${o.closedDestinations} /></p>`}
    ${o.paidPerHour > 0 && html`<p>It costs ${f.perHour(o.paidPerHour)}; the cheapest replacement ${f.perHour(o.leastPerHour)}.</p>`}
    ${o.threshold > 0 && html`<p>Score ${o.score.toFixed(2)}; ${o.threshold.toFixed(2)} is required.</p>`}
    ${o.until && html`<p>Ends by itself: <${When} time=${o.until} /></p>`}
    ${o.help && html`<p class="help"><span class="arrow" aria-hidden="true">→</span> ${o.help}</p>`}</div>`;
}

function Pods({ n }) {
  const list = [
    { key: 'name', label: 'Pod', value: (p) => `${p.namespace}/${p.name}`, cell: (p) => html`<span class="name">${p.namespace}/${p.name}</span>${p.daemon && html` <span class="tag">daemon</span>`}` },
    { key: 'workload', label: 'Workload', value: (p) => p.workload, cell: (p) => html`<span class="nowrap">${p.workload}</span>` },
    { key: 'pcpu', label: 'CPU (cores)', num: true, value: (p) => p.requests.cpu, cell: (p) => (p.requests.cpu / 1000).toFixed(2) },
    { key: 'pmemory', label: 'Memory', num: true, value: (p) => p.requests.memory, cell: (p) => f.bytes(p.requests.memory) },
    { key: 'page', label: 'Age', num: true, value: (p) => new Date(n.at) - new Date(p.created), cell: (p) => f.age(p.created, n.at) },
  ];
  return html`<${Section} id="pods" title="Pods" note=${f.count(n.pods.length)}><${Table} caption="Pods of the node" columns=${list} rows=${n.pods} rowKey=${(p) => `${p.namespace}/${p.name}`} limit=${60}
    empty=${n.past ? 'Unknown: the ledger does not record the pods of nodes.' : 'No pods.'} /><//>`;
}

function Labels({ labels }) {
  const keys = Object.keys(labels || {}).sort();
  if (keys.length === 0) return null;
  return html`<details class="labels"><summary>Labels <span class="note">${keys.length}</span></summary><ul>${keys.map((k) => html`<li key=${k}><a href=${link('fleet', '', { color: k, group: k })} title="Group the fleet by this label">${k}</a>=${labels[k]}</li>`)}</ul></details>`;
}
