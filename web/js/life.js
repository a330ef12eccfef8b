// The life of a node, and records of the ledger as one line each.
import { html } from './lib.js';
import * as f from './format.js';
import { When } from './ui.js';

/** lineOf a record: what happened, in a few words. */
export function lineOf(record) {
  const r = record[record.kind] || {};
  switch (record.kind) {
    case 'nodeclaim': return [`NodeClaim ${r.event}`, r.reason && `reason ${f.words(r.reason).toLowerCase()}`, r.pods && `for ${f.plural(r.pods.count, 'pod')}`,
      r.event === 'launched' && [r.instanceType, r.zone, r.capacityType].filter(Boolean).join(' '), r.price !== undefined && r.event === 'launched' && f.perHour(r.price),
      r.command && `command ${r.command}`].filter(Boolean).join(' · ');
    case 'command': return [`Command ${r.outcome}`, f.words(r.reason).toLowerCase(), r.decision, r.error, ...(r.obstacles || []).map((o) => f.words(o.code))].filter(Boolean).join(' · ');
    case 'provisioning': return [`Provisioning of ${f.plural(r.pods, 'pod')}`, r.nodeclaims?.length && f.plural(r.nodeclaims.length, 'NodeClaim'),
      r.placements?.length && `places on ${f.plural(r.placements.length, 'node')}`].filter(Boolean).join(' · ');
    case 'disruption': return ['Pass of disruption', r.commands?.length ? f.plural(r.commands.length, 'command') : 'no command',
      ...(r.leftAlone || []).map((l) => `${l.method ? l.method + ': ' : ''}${f.words(l.code)}`).slice(0, 3), r.error].filter(Boolean).join(' · ');
    case 'saving': return [`Saving ${r.event}`, f.words(r.reason).toLowerCase(), r.perHour !== undefined && f.perHour(r.perHour), r.end && `${f.words(r.end).toLowerCase()} after ${f.span(r.seconds)}: ${f.dollars(r.dollars)}`].filter(Boolean).join(' · ');
    case 'start': return 'The controller became the leader';
    case 'fleet': return `List of the fleet, part ${r.part} of ${r.parts}`;
    default: return record.kind;
  }
}

const PHASES = [['created', 'launching', 'Launching'], ['launched', 'starting', 'Instance runs, joining'], ['registered', 'starting', 'Registered, starting'], ['initialized', 'ready', 'Ready'],
  ['disrupted', 'disrupting', 'Disrupting'], ['deleting', 'draining', 'Draining'], ['deleted', 'gone', 'Gone']];

/** phases of a life, each with its beginning and its end. */
export function phases(life, at) {
  const starts = [];
  for (const record of life) {
    const phase = record.kind === 'nodeclaim' && PHASES.find(([event]) => event === record.nodeclaim.event);
    if (phase) starts.push({ event: phase[0], state: phase[1], title: phase[2], from: new Date(record.time) });
  }
  return starts.map((p, i) => ({ ...p, to: starts[i + 1]?.from ?? new Date(at), last: i === starts.length - 1 })).filter((p) => p.event !== 'deleted');
}

/** Life is a bar of phases, in proportion to how long they took, and the records as a list. */
export function Life({ life, at }) {
  if (life.length === 0) return html`<p class="muted">The ledger has no records about this node.</p>`;
  const bar = phases(life, at);
  const whole = bar.reduce((sum, p) => sum + (p.to - p.from), 0) || 1;
  return html`${bar.length > 0 && html`<div class="phases" role="img" aria-label=${bar.map((p) => `${p.title} for ${f.span((p.to - p.from) / 1000)}`).join(', ')}>${
    bar.map((p) => html`<span key=${p.event} class=${'phase s-' + p.state} style=${{ flexGrow: Math.max((p.to - p.from) / whole, 0.002) }} title=${p.title}></span>`)}</div>
    <p class="legend">${bar.map((p) => html`<span key=${p.event} class=${'chip s-' + p.state}><span class="dot"></span>${p.title} <span class="muted">${f.span((p.to - p.from) / 1000)}${p.last ? ' so far' : ''}</span></span>`)}</p>`}
  <ol class="life">${life.map((r, i) => html`<li key=${r.seq}><${When} time=${r.time} at=${at} /><span class="muted step">${i ? '+' + f.age(life[i - 1].time, r.time) : ''}</span><span>${lineOf(r)}</span></li>`)}</ol>`;
}
