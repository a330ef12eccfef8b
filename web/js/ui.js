// Small parts that all views use.
import { html, signal, useEffect, useState } from './lib.js';
import { UNKNOWN, percent, near, age } from './format.js';
import { nodeLink } from './route.js';

/** spoken is what a screen reader is told. */
export const spoken = signal('');

/** now ticks once per second, for ages. */
export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 1000);

/** Known shows a value, or that it is not known. */
export const Known = ({ value, children }) => (value === null || value === undefined || value === '' || value === UNKNOWN
  ? html`<span class="unknown">${UNKNOWN}</span>` : html`<span>${children ?? value}</span>`);

/** Bar is a share from 0 to 1, with its number. */
export const Bar = ({ value, title }) => (value === null || value === undefined
  ? html`<span class="unknown" title=${title}>${UNKNOWN}</span>`
  : html`<span class="bar" title=${title}><span class="track"><span class=${'part' + (value > 1 ? ' over' : '')} style=${{ width: Math.min(100, value * 100) + '%' }}></span></span
    ><span class="figure">${percent(value)}</span></span>`);

export const State = ({ state }) => html`<span class=${'state s-' + state}><span class="dot" aria-hidden="true"></span>${(state || '').replace('-', ' ')}</span>`;

export const NodeName = ({ name }) => html`<a class="name" href=${nodeLink(name)}>${name}</a>`;

/** Names are at most a few links to nodes, and how many more there are. */
export const NodeNames = ({ names, most = 4 }) => html`<span class="names">${names.slice(0, most).map((n) => html`<${NodeName} key=${n} name=${n} /> `)}${
  names.length > most && html`<${More} names=${names} most=${most} link />`}</span>`;

/** More lists the rest of names when it is asked for. */
export function More({ names, most, link }) {
  const [open, setOpen] = useState(false);
  if (open) return html`<span>${names.slice(most).map((n) => (link ? html`<${NodeName} key=${n} name=${n} /> ` : html`<span class="name" key=${n}>${n} </span>`))}</span>`;
  return html`<button class="inline" onClick=${() => setOpen(true)}>and ${names.length - most} more</button>`;
}

/** Texts are at most a few names, and how many more there are: of a list, or of a count with the first names. */
export function Texts({ names, most = 3 }) {
  const list = Array.isArray(names) ? names : names?.first || [];
  const all = Array.isArray(names) ? list.length : names?.count || 0;
  if (all === 0) return html`<span class="muted">none</span>`;
  return html`<span class="names">${list.slice(0, most).map((n) => html`<span class="name" key=${n}>${n} </span>`)}${
    list.length > most && html`<${More} names=${list} most=${most} />`}${
    all > list.length && html`<span class="muted"> and ${all - list.length} that are not listed</span>`}</span>`;
}

/** When is a time, with how long ago that was. */
export const When = ({ time, at }) => (time
  ? html`<time dateTime=${time} title=${new Date(time).toString()}>${near(time, at || now.value)} <span class="muted">${since(time, at)}</span></time>`
  : html`<span class="muted">–</span>`);

function since(time, at) {
  const text = age(time, at || now.value);
  return text.startsWith('−') ? `in ${text.slice(1)}` : `${text} ago`;
}

/** Facts are names with values. */
export const Facts = ({ facts }) => html`<dl class="facts">${facts.filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** Failure says what is wrong, and what to do. */
export const Failure = ({ error }) => html`<div class="failure" role="alert"><strong>${error.message}</strong>${error.help && html`<p>${error.help}</p>`}</div>`;

/** Shown has a document, or why there is none. */
export function Shown({ doc, children }) {
  const { data, error, busy } = doc;
  return html`${error && html`<${Failure} error=${error} />`}${
    data ? children(data) : busy && !error && html`<p class="muted" role="status">Reading …</p>`}`;
}

/** Section is a part of a view with a heading. */
export const Section = ({ title, note, children, id }) => html`<section aria-labelledby=${id}><h2 id=${id}>${title}${
  note && html` <span class="note">${note}</span>`}</h2>${children}</section>`;

/** useTitle sets the title of the window. */
export function useTitle(title) {
  useEffect(() => { document.title = title ? `${title} · Karpenter console` : 'Karpenter console'; }, [title]);
}
