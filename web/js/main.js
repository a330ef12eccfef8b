// The frame of the page: views, connection, what is not known, and keys.
import { Component, html, render, useEffect, useRef } from './lib.js';
import { connection, head, listen, refresh, revision } from './api.js';
import { at, go, link, patched, route, set, VIEWS } from './route.js';
import * as f from './format.js';
import { Failure, now, spoken } from './ui.js';
import { Fleet } from './fleet.js';
import { Node } from './node.js';
import { Pending } from './pending.js';
import { Moves } from './moves.js';
import { Cost } from './cost.js';
import { Pools } from './pools.js';
import { Edit } from './edit.js';
import { History } from './history.js';

const PAGES = { fleet: Fleet, node: Node, pending: Pending, moves: Moves, cost: Cost, pools: Pools, edit: Edit, history: History };

// Boundary keeps the rest of the page when a view fails.
class Boundary extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  render({ children }, { error }) {
    return error ? html`<${Failure} error=${{ message: `This view cannot be shown: ${error.message}.`, help: 'Reload the page. If that does not help, the document that it shows is below api/v1/, and the version of the page may not fit that of the server.' }} />` : children;
  }
}

function Page() {
  const { view, name } = route.value;
  const main = useRef(null);
  const dialog = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    // A new view begins at its top, for the eyes and for the keyboard.
    if (head.value) head.value = { ...head.value, unknown: [] };
    main.current.focus({ preventScroll: true });
    scrollTo(0, 0);
    spoken.value = `${VIEWS.find((v) => v.id === view).title} ${name}`;
  }, [view, name]);
  useEffect(() => keys(dialog.current), []);
  const View = PAGES[view];
  const known = head.value;
  return html`<header>
      <div class="top"><a class="brand" href=${link('fleet')}>karpenter</a><span class="origin" title="Where the data is from">${known?.origin || ''}</span><span class="grow"></span><${Status} /></div>
      <nav aria-label="Views">${VIEWS.map((v, i) => html`<a key=${v.id} href=${link(v.id)} aria-current=${v.id === view ? 'page' : undefined} aria-keyshortcuts=${i + 1}><kbd aria-hidden="true">${i + 1}</kbd>${v.title}</a>`)}
        <button class="keys" onClick=${() => dialog.current.showModal()} aria-keyshortcuts="?"><kbd aria-hidden="true">?</kbd>Keys</button></nav>
    </header>
    <${Lost} />
    ${known?.failure && html`<div class="banner lost" role="alert"><span><strong>The cluster cannot be read</strong>, what is shown is as of ${f.moment(known.at)}: ${known.failure}</span></div>`}
    ${at.value && view !== 'history' && html`<div class="banner past" role="status"><span>This is the past: <strong>${f.moment(at.value)}</strong>, rebuilt from the ledger.</span> <a href=${link('history')}>Choose another moment</a> <a href=${patched({ at: '' })}>Back to now</a></div>`}
    <main id="main" ref=${main} tabindex="-1">
      ${!(view === 'node' && name) && html`<h1 class="hidden">${VIEWS.find((v) => v.id === view).title}</h1>`}
      ${known?.unknown?.length > 0 && view !== 'edit' && html`<aside class="limits" aria-label="What this view does not know"><strong>Not known</strong><ul>${known.unknown.map((u) => html`<li key=${u}>${u}</li>`)}</ul></aside>`}
      <${Boundary} key=${view + name}><${View} key=${view} views=${PAGES} /><//>
    </main>
    <div class="hidden" role="status" aria-live="polite">${spoken.value}</div>
    <dialog ref=${dialog} aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2><dl class="keylist">
      ${[['1 – 8', 'Fleet, Node, Pending, Moves, Cost, Pools, Edit, History'], ['/', 'Filter'], ['Arrows', 'Move between tiles of the fleet; Page Up and Page Down between groups, Home and End to the ends'], ['Enter', 'Open the node'],
        ['t', 'Fleet as tiles or as a table'], ['n', 'Back to now'], ['Esc', 'Leave a field'], ['?', 'These keys']].map(([k, text]) => html`<div key=${k}><dt><kbd>${k}</kbd></dt><dd>${text}</dd></div>`)}
      </dl><p class="muted">The address of the page is a link to what it shows: view, node, filter, grouping, order and moment.</p><button onClick=${() => dialog.current.close()}>Close</button></dialog>`;
}

function Status() {
  const { state } = connection.value;
  const read = head.value?.at;
  const text = state === 'live' ? (at.value ? 'connected' : 'live') : state === 'lost' ? 'connection lost' : 'connecting';
  return html`<span class=${'status c-' + state}><span class="dot" aria-hidden="true"></span>${text}${read && html` <span class="muted">${at.value ? 'state of' : 'as of'} ${at.value ? f.moment(read) : f.clock(read) + ' UTC'}${!at.value && revision.value ? `, revision ${revision.value}` : ''}</span>`}</span>`;
}

function Lost() {
  const { state, since, retryAt } = connection.value;
  if (state !== 'lost') return null;
  const wait = Math.max(0, (retryAt - now.value) / 1000);
  return html`<div class="banner lost" role="alert"><span><strong>The connection to the server is lost</strong> since ${f.clock(since)} UTC: what is shown may be out of date. The page connects again by itself${wait >= 1 ? ` in ${f.span(wait)}` : ''}.</span>
    <button onClick=${() => { listen(); refresh.value++; }}>Connect now</button></div>`;
}

// Keys work where no text is typed.
function keys(dialog) {
  const listener = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== 'range';
    if (event.key === 'Escape' && typing) {
      event.preventDefault(); // the browser would clear the field
      target.blur();
    }
    if (typing || dialog.open) return;
    const view = /^[1-8]$/.test(event.key) && VIEWS[event.key - 1];
    if (view) go(link(view.id));
    else if (event.key === '?') dialog.showModal();
    else if (event.key === '/') filter();
    else if (event.key === 'n' && at.value) set({ at: '' });
    else if (event.key === 't' && route.value.view === 'fleet') set({ show: route.value.params.show === 'table' ? '' : 'table' });
    else return;
    event.preventDefault();
  };
  addEventListener('keydown', listener);
  return () => removeEventListener('keydown', listener);
}

function filter() {
  const input = document.getElementById('filter') || document.querySelector('#main input, #main textarea');
  if (input) input.focus();
  else go(link('fleet'));
}

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the fragment of the address is the state of the page
  document.getElementById('main').focus();
});

const root = document.getElementById('app');
root.textContent = '';
render(html`<${Page} />`, root);
listen();
