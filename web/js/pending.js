// Pods that wait for a node, by reason, and the nodes that are launched for pods.
import { html } from './lib.js';
import { query, useDocument } from './api.js';
import { at as moment } from './route.js';
import * as f from './format.js';
import { Known, NodeName, Section, Shown, Texts, useTitle } from './ui.js';
import { Table } from './table.js';

const STATES = { Refused: ['fits nowhere', 'blocked'], Nominated: ['has a place', 'now'], Pending: ['gets a node', 'wait'], Idle: ['not considered', 'no'] };

export function Pending() {
  useTitle('Pending');
  const doc = useDocument(query('pending', moment.value));
  return html`<${Shown} doc=${doc}>${(p) => {
    const all = p.groups.reduce((sum, g) => sum + g.pods.length, 0);
    return html`<${Section} id="waiting" title="Pods without a node" note=${all ? `${f.plural(all, 'pod')} in ${f.plural(p.groups.length, 'group')}` : ''}>
      ${p.groups.length === 0 ? html`<p class="muted">${p.past && p.unknown.length ? 'None that the ledger knows of at this moment.' : 'None: every pod that Karpenter considers has a node.'}</p>`
      : html`<ol class="cards">${p.groups.map((g, i) => html`<li key=${g.pods[0] || i} class="card"><${Group} g=${g} at=${p.at} /></li>`)}</ol>`}<//>
      <${Section} id="planned" title="Nodes for pods" note=${p.planned.length ? f.count(p.planned.length) : ''}><${Planned} nodes=${p.planned} /><//>`;
  }}<//>`;
}

function Group({ g, at }) {
  const [title, tone] = STATES[g.state] || [f.words(g.state), 'no'];
  return html`<h3>${f.plural(g.pods.length, 'pod')} <span class=${'tag t-' + tone}>${title}</span> <span class="muted">oldest waits <${Waits} since=${g.oldest} at=${at} /></span></h3>
    <p>${g.workloads.length > 0 && html`<${Texts} names=${g.workloads} most=${4} />: `}<${Texts} names=${g.pods} most=${2} /></p><${Fate} fate=${g.fate} />`;
}

const Waits = ({ since, at }) => html`<time dateTime=${since}>${f.age(since, at)}</time>`;

function Fate({ fate }) {
  return html`${fate.message && html`<p>${fate.message}</p>`}
    ${fate.placement && html`<p>Expected on <${NodeName} name=${fate.placement.node || fate.placement.nodeClaim} />, of NodePool ${fate.placement.nodePool || 'none'}.</p>`}
    ${fate.launch && html`<p>A node is launched from NodePool <strong>${fate.launch.nodePool}</strong>: <span class="name">${fate.launch.instanceType}</span>, ${f.perHour(fate.launch.pricePerHour)}.</p>`}
    ${fate.reasons?.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Reasons"><table><thead><tr><th scope="col">NodePool</th><th scope="col">Why not</th><th scope="col">What would help</th></tr></thead>
      <tbody>${fate.reasons.map((r, i) => html`<tr key=${i}><td class="nowrap">${r.nodePool || html`<span class="muted">all</span>`}${i === 0 && fate.reasons.length > 1 && html` <span class="tag">nearest</span>`}</td>
      <td>${r.message} <code title="see docs/reference/reasons.md">${r.code}</code>${r.detail && html`<br /><span class="muted">${r.detail}</span>`}</td><td>${r.help}</td></tr>`)}</tbody></table></div>`}
    ${fate.unusedPools?.map((u) => html`<p key=${u.name} class="muted">NodePool ${u.name} launches no nodes: ${u.message} ${u.help}</p>`)}`;
}

function Planned({ nodes }) {
  return html`<${Table} id="psort" caption="Nodes that are launched for pods" rows=${nodes} empty="No node is launched or planned." columns=${[
    { key: 'claim', label: 'NodeClaim', value: (n) => n.nodeClaim, cell: (n) => (n.nodeClaim ? html`<${NodeName} name=${n.nodeClaim} />` : html`<span class="muted">not created yet</span>`) },
    { key: 'pool', label: 'NodePool', value: (n) => n.nodePool },
    { key: 'types', label: 'Instance types', value: (n) => n.instanceTypes.first?.[0], cell: (n) => html`<${Texts} names=${n.instanceTypes} most=${2} />` },
    { key: 'price', label: '$/h', num: true, value: (n) => n.pricePerHour, cell: (n) => html`<${Known} value=${n.pricePerHour}>${f.dollars(n.pricePerHour)}<//>` },
    { key: 'pods', label: 'Pods', num: true, value: (n) => n.pods.count },
    { key: 'names', label: 'For', value: (n) => n.pods.first?.[0], cell: (n) => html`<${Texts} names=${n.pods} most=${2} />` },
  ]} />`;
}
