// What an edit of NodePools and node classes would change. Nothing is applied.
import { html, signal, useEffect, useRef, useState } from './lib.js';
import { Problem, readJSON, readText, revision, useDocument } from './api.js';
import { param, set } from './route.js';
import * as f from './format.js';
import { Failure, Known, NodeName, NodeNames, Section, useTitle } from './ui.js';
import { Table } from './table.js';

// The text stays while other views are looked at, and in the session of the window.
const text = signal(sessionStorage.getItem('edit') || '');
const result = signal({ of: '', diff: null, error: null, busy: false });

const write = (value) => {
  text.value = value;
  try {
    sessionStorage.setItem('edit', value);
  } catch {
    // A large text is kept in memory only.
  }
};

let abort = null;

async function ask(manifests) {
  abort?.abort();
  if (manifests.trim() === '') {
    result.value = { of: '', diff: null, error: null, busy: false };
    return;
  }
  abort = new AbortController();
  result.value = { ...result.value, busy: true };
  try {
    const diff = await readJSON('edit', { method: 'POST', body: manifests, headers: { 'Content-Type': 'application/yaml' }, signal: abort.signal });
    result.value = { of: manifests, diff, error: null, busy: false };
  } catch (error) {
    if (error.name === 'AbortError') return;
    result.value = { ...result.value, error: error instanceof Problem ? error : new Problem(-1, error.message), busy: false };
  }
}

async function pack(value) {
  const stream = new Blob([value]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(all, (b) => String.fromCharCode(b)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function unpack(value) {
  const all = Uint8Array.from(atob(value.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return new Response(new Blob([all]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}

export function Edit() {
  useTitle('Edit');
  useDocument('timeline', { live: false }); // for where the data is from
  const [notice, setNotice] = useState('');
  const file = useRef(null);
  const shared = param('text');
  const now = revision.value;
  useEffect(() => {
    if (shared) unpack(shared).then(write, () => setNotice('The link has no readable text: it may have been cut.'));
  }, [shared]);
  useEffect(() => { // a pause in typing asks, and so does a change of the cluster
    const timer = setTimeout(() => ask(text.value), text.value === result.value.of ? 1500 : 400);
    return () => clearTimeout(timer);
  }, [text.value, now]);
  const load = async (reader) => {
    try {
      write(await reader());
      setNotice('');
    } catch (error) {
      setNotice(`${error.message} ${error.help || ''}`);
    }
  };
  const share = async () => {
    const packed = await pack(text.value);
    if (packed.length > 8000) return setNotice('The text is too long for a link: send it as a file.');
    set({ text: packed });
    return navigator.clipboard?.writeText(location.href).then(() => setNotice('The link is copied.'), () => setNotice('The link is in the address bar.'));
  };
  const { diff, error, busy } = result.value;
  return html`<div class="editor"><div class="input">
      <p class="controls"><button onClick=${() => load(() => readText('manifests'))}>Open those of the cluster</button>
        <button onClick=${() => file.current.click()}>Open a file</button><input ref=${file} class="hidden" type="file" tabindex="-1" aria-label="Manifests as YAML" accept=".yaml,.yml,.json" onChange=${(e) => { const [chosen] = e.target.files; if (chosen) load(() => chosen.text()); e.target.value = ''; }} />
        <button disabled=${!text.value} onClick=${share}>Link with this text</button><button disabled=${!text.value} onClick=${() => write('')}>Clear</button></p>
      ${notice && html`<p class="warn" role="status">${notice}</p>`}
      <label class="hidden" for="manifests">Manifests as YAML</label>
      <textarea id="manifests" spellcheck=${false} autocomplete="off" value=${text.value} onInput=${(e) => write(e.target.value)} placeholder=${'# NodePools, node classes, NodeOverlays or workloads as YAML.\n# Nothing is applied: the right side says what it would change.'}></textarea></div>
    <div class="output" aria-live="polite" aria-busy=${busy}>${error && html`<${Failure} error=${error} />`}
      ${busy && html`<p class="muted" role="status">Computing what the edit changes …</p>`}
      ${diff ? html`<div class=${busy || error ? 'stale' : ''}><${Diff} d=${diff} /></div>` : !busy && !error && html`<p class="muted">Paste manifests, or open those of the cluster and change them. What they would change is computed by the engine of the controller, as by karpenter diff, and nothing is applied.</p>`}</div></div>`;
}

const ROWS = [
  ['Nodes', (w) => w.nodes, f.count], ['Price', (w) => w.pricePerHour, f.perHour],
];
const COUNTS = [['Nodes drifted', (w) => w.drifted], ['Nodes removed', (w) => w.removed], ['Nodes launched', (w) => w.launched], ['Pods moved', (w) => w.moved],
  ['Nodes blocked', (w) => w.blocked.length], ['Pods unschedulable', (w) => w.unschedulable]];

function Diff({ d }) {
  const { without, with: after } = d;
  const delta = after.after.pricePerHour - without.after.pricePerHour;
  const edited = d.edited.filter((e) => e.change !== 'unchanged');
  return html`<p class="summary">${edited.length === 0 ? 'No object of the text differs from the cluster.' : html`The edit ${edited.map((e, i) => html`${i ? ', ' : ''}<span key=${e.kind + e.name}>${e.change === 'created' ? 'creates' : e.change === 'applied' ? 'applies' : 'changes'} ${e.kind} <strong>${e.namespace ? e.namespace + '/' : ''}${e.name}</strong></span>`)}:
      drifts <strong>${f.plural(Math.max(0, after.drifted - without.drifted), 'node')}</strong>, moves <strong>${f.plural(after.moved, 'pod')}</strong> in about <strong>${f.span(after.seconds)}</strong>, <strong>${f.change(delta, f.perHour)}</strong> compared with no edit${after.blocked.length ? html`; <strong class="warn">${f.plural(after.blocked.length, 'node')} blocked</strong>` : ''}.`}</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Summary"><table class="small"><thead><tr><th scope="col"></th><th scope="col" class="num">Now</th><th scope="col" class="num">Without the edit</th><th scope="col" class="num">With the edit</th></tr></thead><tbody>
      ${ROWS.map(([label, of, show]) => html`<tr key=${label}><th scope="row">${label}</th><td class="num">${show(of(after.now))}</td><td class="num">${show(of(without.after))}</td><${Changed} a=${of(without.after)} b=${of(after.after)} show=${show} /></tr>`)}
      ${COUNTS.map(([label, of]) => html`<tr key=${label}><th scope="row">${label}</th><td></td><td class="num">${f.count(of(without))}</td><${Changed} a=${of(without)} b=${of(after)} show=${f.count} /></tr>`)}
      <tr><th scope="row">Done after</th><td></td><td class="num">${f.span(without.seconds)}</td><${Changed} a=${without.seconds} b=${after.seconds} show=${f.span} /></tr></tbody></table></div>
    ${after.after.unknownPrices > 0 && html`<p class="unknown">Without ${f.plural(after.after.unknownPrices, 'node')} of unknown price.</p>`}
    ${after.incomplete && html`<p class="warn">The forecast ends early: ${after.incomplete}.</p>`}
    ${after.blocked.length > 0 && html`<${Section} id="diff-blocked" title="Blocked" note=${f.count(after.blocked.length)}><${Table} id="sort-blocked" caption="Nodes that are not disrupted" rows=${after.blocked} rowKey=${(b) => b.node + b.reason} limit=${20} columns=${[
      { key: 'node', label: 'Node', value: (b) => b.node, cell: (b) => html`<${NodeName} name=${b.node} />` }, { key: 'reason', label: 'Reason', value: (b) => b.reason, cell: (b) => f.words(b.reason) },
      { key: 'message', label: 'Obstacle', value: (b) => b.message, cell: (b) => html`${b.message} <code>${b.code}</code>${b.podDisruptionBudgets?.length ? html` <span class="name">${b.podDisruptionBudgets.join(', ')}</span>` : b.pod && html` <span class="name">${b.pod}</span>`}` }]} /><//>`}
    ${after.approvals.length > 0 && html`<${Section} id="diff-approvals" title="Need approval" note=${f.count(after.approvals.length)}><${Table} id="sort-approvals" caption="Commands that a person has to approve, and that the forecast does not carry out" rows=${after.approvals} limit=${20} columns=${[
      { key: 'at', label: 'Proposed', num: true, value: (a) => a.atSeconds, cell: (a) => '+' + f.span(a.atSeconds) }, { key: 'reason', label: 'Reason', value: (a) => a.reason, cell: (a) => f.words(a.reason) },
      { key: 'nodes', label: 'Nodes', value: (a) => a.nodes.length, cell: (a) => html`<${NodeNames} names=${a.nodes} most=${1} />` },
      { key: 'policy', label: 'OperationsPolicy', value: (a) => a.operationsPolicy, cell: (a) => html`<span class="name">${a.operationsPolicy}</span> ${a.message}` },
      { key: 'saves', label: 'Saves $/h', num: true, value: (a) => a.savesPerHour, cell: (a) => html`<${Known} value=${a.savesPerHour}>${f.dollars(a.savesPerHour)}<//>` }]} /><//>`}
    ${after.commands.length > 0 && html`<${Section} id="diff-commands" title="Commands" note=${f.count(after.commands.length)}><${Table} id="sort-commands" caption="Commands in the order of time" rows=${after.commands} limit=${20} columns=${[
      { key: 'at', label: 'At', num: true, value: (c) => c.atSeconds, cell: (c) => '+' + f.span(c.atSeconds) }, { key: 'done', label: 'Done', num: true, value: (c) => c.doneSeconds, cell: (c) => '+' + f.span(c.doneSeconds) },
      { key: 'reason', label: 'Reason', value: (c) => c.reason, cell: (c) => f.words(c.reason) }, { key: 'nodes', label: 'Nodes', value: (c) => c.nodes.length, cell: (c) => html`<${NodeNames} names=${c.nodes} most=${1} />` },
      { key: 'to', label: 'Launches', value: (c) => c.launches.length, cell: (c) => (c.launches.length ? c.launches.map((n) => n.instanceType).join(', ') : html`<span class="muted">nothing</span>`) },
      { key: 'pods', label: 'Pods', num: true, value: (c) => c.pods }, { key: 'saves', label: 'Saves $/h', num: true, value: (c) => c.savesPerHour, cell: (c) => html`<${Known} value=${c.savesPerHour}>${f.dollars(c.savesPerHour)}<//>` }]} /><//>`}
    ${after.moves.length > 0 && html`<${Section} id="diff-moves" title="Pods that move"><${Table} id="sort-moves" caption="Pods that move, by workload" rows=${after.moves} limit=${20} order="-pods" columns=${[
      { key: 'workload', label: 'Workload', value: (w) => `${w.kind} ${w.namespace}/${w.name}`, cell: (w) => html`<span class="name">${w.kind} ${w.namespace}/${w.name}</span>` }, { key: 'pods', label: 'Pods', num: true, value: (w) => w.pods }]} /><//>`}
    ${[...new Set([...d.notes, ...after.notes])].map((note) => html`<p key=${note} class="unknown">${note}</p>`)}`;
}

function Changed({ a, b, show }) {
  const differs = Math.abs(a - b) > 1e-9;
  return html`<td class="num">${differs ? html`<strong>${show(b)}</strong>` : show(b)}</td>`;
}
