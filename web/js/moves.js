// Disruption commands, and the budgets of NodePools.
import { html } from './lib.js';
import { query, useDocument } from './api.js';
import { at as moment, param, set } from './route.js';
import * as f from './format.js';
import { Known, NodeNames, Section, Shown, useTitle, When } from './ui.js';
import { Table } from './table.js';

const STATES = ['proposed', 'waiting', 'under-way', 'failed', 'rejected', 'succeeded'];
const TONES = { proposed: 'wait', waiting: 'wait', 'under-way': 'wait', succeeded: 'now', failed: 'blocked', rejected: 'blocked' };

export function Moves() {
  useTitle('Moves');
  const doc = useDocument(query('moves', moment.value));
  return html`<${Shown} doc=${doc}>${(m) => {
    const only = param('state');
    const commands = only ? m.commands.filter((c) => c.state === only) : m.commands;
    return html`<div class="choices" role="group" aria-label="Commands by state">${STATES.map((state) => html`<button key=${state} class="total" aria-pressed=${only === state} onClick=${() => set({ state: only === state ? '' : state })}>
        <span class="dt">${f.words(state)}</span><span class="big">${state === 'proposed' && m.past ? html`<span class="unknown">unknown</span>` : f.count(m.commands.filter((c) => c.state === state).length)}</span></button>`)}</div>
      <${Section} id="commands" title=${only ? `Commands: ${only.replace('-', ' ')}` : 'Commands'} note="of those that are done, the newest 100"><${Commands} commands=${commands} at=${m.at} /><//>
      ${m.plans.length > 0 && html`<${Section} id="plans" title="Plans" note="DisruptionPlans of the ledger, those that wait for a decision first"><${Plans} plans=${m.plans} at=${m.at} /><//>`}
      <${Section} id="budgets" title="Budgets" note="how many nodes may be disrupted at the same time"><${Budgets} pools=${m.pools} at=${m.at} /><//>`;
  }}<//>`;
}

function Commands({ commands, at }) {
  return html`<${Table} caption="Disruption commands" rows=${commands} empty="None." rowKey=${(c) => c.id || c.nodes.join()} columns=${[
    { key: 'state', label: 'State', value: (c) => STATES.indexOf(c.state), cell: (c) => html`<span class=${'tag t-' + TONES[c.state]}>${c.state.replace('-', ' ')}</span>` },
    { key: 'reason', label: 'Reason', value: (c) => c.reason, cell: (c) => f.words(c.reason) },
    { key: 'decision', label: 'Decision', value: (c) => c.decision, cell: (c) => c.decision.replace('-', ' ') },
    { key: 'nodes', label: 'Nodes', value: (c) => c.nodes.length, cell: (c) => html`<${NodeNames} names=${c.nodes} most=${2} />` },
    { key: 'pool', label: 'NodePool', value: (c) => c.nodePools.join(', ') },
    { key: 'to', label: 'Replaced by', value: (c) => c.replacements.join(', '), cell: (c) => (c.replacements.length ? html`<span class="name">${c.replacements.join(', ')}</span>` : html`<span class="muted">nothing</span>`) },
    { key: 'pods', label: 'Pods', num: true, value: (c) => c.pods, help: 'Pods that have to move' },
    { key: 'saves', label: 'Saves $/h', num: true, value: (c) => c.savesPerHour, cell: (c) => html`<${Known} value=${c.savesPerHour}>${f.dollars(c.savesPerHour)}<//>` },
    { key: 'decided', label: 'Decided', value: (c) => c.decided, cell: (c) => html`<${When} time=${c.decided} at=${at} />` },
    { key: 'next', label: 'Waits for', value: (c) => c.due || c.waitsFor || '', cell: (c) => html`<${Next} c=${c} at=${at} />` },
    { key: 'took', label: 'Took', num: true, value: (c) => (c.ended && c.decided ? new Date(c.ended) - new Date(c.decided) : null), cell: (c) => (c.ended && c.decided ? f.age(c.decided, c.ended) : html`<span class="muted">–</span>`) },
    { key: 'error', label: 'Error', value: (c) => c.error || '', cell: (c) => c.error || html`<span class="muted">–</span>` },
  ]} />`;
}

// Next is what an open command waits for. The ledger does not know it.
function Next({ c, at }) {
  if (c.state === 'waiting') return c.due ? html`validation <${When} time=${c.due} at=${at} />` : html`validation`;
  if (c.state === 'under-way') return html`<${Known} value=${c.waitsFor} />`;
  if (c.approval) return html`approval (OperationsPolicy <span class="name">${c.approval.operationsPolicy}</span>: ${c.approval.message})`;
  return html`<span class="muted">–</span>`;
}

const PHASES = { Proposed: 'wait', Approved: 'wait', Executing: 'wait', Succeeded: 'now', Rejected: 'blocked', Voided: 'blocked', Failed: 'blocked' };

function Plans({ plans, at }) {
  return html`<${Table} id="sort-plans" caption="Disruption plans" rows=${plans} empty="None." rowKey=${(p) => p.name} columns=${[
    { key: 'phase', label: 'Phase', value: (p) => p.phase, cell: (p) => html`<span class=${'tag t-' + (PHASES[p.phase] || 'no')}>${p.phase.toLowerCase()}</span>` },
    { key: 'name', label: 'Plan', value: (p) => p.name, cell: (p) => html`<span class="name">${p.name}</span>` },
    { key: 'reason', label: 'Reason', value: (p) => p.reason, cell: (p) => f.words(p.reason) },
    { key: 'decision', label: 'Decision', value: (p) => p.decision, cell: (p) => p.decision.replace('-', ' ') },
    { key: 'nodes', label: 'Nodes', value: (p) => p.nodes.length, cell: (p) => html`<${NodeNames} names=${p.nodes} most=${2} />` },
    { key: 'pool', label: 'NodePool', value: (p) => p.nodePools.join(', ') },
    { key: 'policy', label: 'Policy', value: (p) => p.policy || '' },
    { key: 'changed', label: 'Since', value: (p) => p.changed, cell: (p) => html`<${When} time=${p.changed} at=${at} />` },
    { key: 'by', label: 'By', value: (p) => p.by || '', cell: (p) => p.by || html`<span class="muted">–</span>` },
    { key: 'why', label: 'Why', value: (p) => p.why || '', cell: (p) => p.why || html`<span class="muted">–</span>` },
  ]} />`;
}

/** Allowances are what budgets allow for each reason, and how much is used. */
export const Allowances = ({ allowances }) => html`<div class="scroll" tabindex="0" role="region" aria-label="Allowances"><table class="small"><thead><tr><th scope="col">Reason</th><th scope="col" class="num">Allowed</th><th scope="col" class="num">Disrupting</th><th scope="col" class="num">Remaining</th></tr></thead><tbody>${
  allowances.map((a) => html`<tr key=${a.reason}><td>${f.words(a.reason)}${a.error && html` <span class="warn">${a.error}</span>`}${a.closed && html` <span class="warn">${a.closed.message}</span>`}</td><td class="num">${a.allowed === null ? 'no limit' : a.allowed}</td><td class="num">${a.disrupting}</td><td class=${'num' + (a.allowed !== null && a.remaining === 0 ? ' warn' : '')}>${a.allowed === null ? 'no limit' : a.remaining}</td></tr>`)}</tbody></table></div>`;

/** BudgetList are budgets as they are written, and whether they are in force. */
export const BudgetList = ({ budgets, at }) => (budgets.length === 0 ? html`<p class="muted">No budgets are written: the default allows 10 %.</p>` : html`<ul class="plain">${budgets.map((b, i) => html`<li key=${i}><code>${b.nodes}</code> for ${b.reasons?.length ? b.reasons.map(f.words).join(', ') : 'all reasons'}:${' '}${b.error ? html`<span class="warn">${b.error}</span>` : b.inForce ? html`allows ${f.plural(b.allowed, 'node')}` : html`<span class="muted">window is closed</span>`}${b.changes && html` <span class="muted">until</span> <${When} time=${b.changes} at=${at} />`}</li>`)}</ul>`);

function Budgets({ pools, at }) {
  if (pools.length === 0) return html`<p class="muted">None.</p>`;
  return html`<ul class="cards">${pools.map((p) => html`<li key=${p.nodePool} class="card"><h3>${p.nodePool} <span class="note">${f.plural(p.nodes, 'node')}</span></h3>
    <${BudgetList} budgets=${p.budgets} at=${at} /><${Allowances} allowances=${p.allowances} />
    ${p.disrupting.length > 0 && html`<p>In use by: <${NodeNames} names=${p.disrupting.map((d) => d.node)} /> <span class="muted">${[...new Set(p.disrupting.map((d) => d.why))].join(', ')}</span></p>`}</li>`)}</ul>`;
}
