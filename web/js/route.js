// The state of the page is the fragment of the URL, so that every view has a link: #/VIEW/NAME?parameter=value&at=...
import { signal, computed } from './lib.js';

export const VIEWS = [
  { id: 'fleet', title: 'Fleet' },
  { id: 'node', title: 'Node' },
  { id: 'pending', title: 'Pending' },
  { id: 'moves', title: 'Moves' },
  { id: 'cost', title: 'Cost' },
  { id: 'pools', title: 'Pools' },
  { id: 'edit', title: 'Edit' },
  { id: 'history', title: 'History' },
];

function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...name] = path.split('/');
  const known = VIEWS.some((v) => v.id === view);
  return {
    view: known ? view : 'fleet',
    name: known ? decode(name.join('/')) : '',
    params: Object.fromEntries(new URLSearchParams(query || '')),
  };
}

// A link that was cut may end in half of an escape sequence.
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function compose({ view, name, params }) {
  const query = new URLSearchParams();
  for (const key of Object.keys(params).sort()) {
    if (params[key] !== '' && params[key] !== undefined && params[key] !== null) query.set(key, params[key]);
  }
  const text = query.toString().replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',');
  return `#/${view}${name ? '/' + encodeURIComponent(name) : ''}${text ? '?' + text : ''}`;
}

export const route = signal(parse(location.hash));

/** at is the moment that is looked at, empty for now. */
export const at = computed(() => route.value.params.at || '');

// What each view looked like when it was left, for links back to it.
const left = {};

addEventListener('hashchange', () => {
  if (location.hash === '#main') return; // the skip link
  const next = parse(location.hash);
  left[route.value.view] = route.value;
  route.value = next;
});

/** link to a view: as it was when it was left, at the moment that is looked at now. */
export function link(view, name, params) {
  const before = left[view];
  const { at: moment } = route.value.params;
  if (params) return compose({ view, name: name || '', params: { at: moment, ...params } });
  return compose({ view, name: name ?? before?.name ?? '', params: { ...(before?.params || {}), at: moment } });
}

export const nodeLink = (name) => link('node', name, {});

/** patched is the link to the current view with other parameters. */
export const patched = (params) => compose({ ...route.value, params: { ...route.value.params, ...params } });

/** set changes parameters of the current view. With replace, the way back does not stop here. */
export function set(params, { replace = true } = {}) {
  const hash = patched(params);
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, '', hash);
    route.value = parse(hash);
  } else {
    location.hash = hash;
  }
}

export function go(hash) {
  location.hash = hash;
}

export const param = (name, otherwise = '') => route.value.params[name] || otherwise;
