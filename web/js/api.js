// Reads documents below the URL of the page, and hears about changes.
import { signal, useEffect, useState } from './lib.js';

const base = 'api/v1/';

/** connection to the stream of changes: state is connecting, live or lost; since is when that began. */
export const connection = signal({ state: 'connecting', since: Date.now(), retryAt: 0 });

/** revision of the present that the server has announced. */
export const revision = signal(0);

/** refresh grows when the documents are to be read again although no revision was announced. */
export const refresh = signal(0);

/** head of the document that was read last, for the title and what is not known. */
export const head = signal(null);

/** problem is an answer that is no document: what is wrong, and what to do about it. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
    this.help = help(status);
  }
}

function help(status) {
  switch (status) {
    case 0: return 'The page reads it again by itself once the server answers. Check that the controller, or karpenter console, still runs, and that a port-forward still stands.';
    case 401: return 'The server asks for a token that the cluster knows. Open the console through karpenter console, which uses your kubeconfig.';
    case 403: return 'Ask for the ClusterRole that allows reading the console, or open the console through karpenter console with a kubeconfig that may read the cluster.';
    case 404: return 'It may be gone, or not be there yet at this moment. Look for it in Fleet, or choose another moment in History.';
    case 400: case 422: return 'Change what was asked for, then ask again.';
    case 503: return 'The controller may be starting. The page reads it again by itself.';
    default: return status >= 500 ? 'The log of the controller has details.' : '';
  }
}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(base + path, { cache: 'no-store', ...options });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Problem(0, 'The server cannot be reached.');
  }
  if (response.ok) return response;
  let text = (await response.text()).trim();
  try {
    const parsed = JSON.parse(text);
    text = parsed.error || parsed.message || text;
  } catch {
    // Errors of other servers on the way are text, or a page.
    if (text.startsWith('<')) text = '';
  }
  throw new Problem(response.status, text || `The server answers ${response.status} ${response.statusText}.`);
}

export const readText = async (path, options) => (await answer(path, options)).text();
export const readJSON = async (path, options) => (await answer(path, options)).json();

export const query = (path, at) => path + (at ? '?at=' + encodeURIComponent(at) : '');

/**
 * useDocument reads a document, and again whenever the present changes. It keeps showing the earlier one meanwhile. While an answer is on its
 * way, other moments and revisions wait, so that frequent changes and slow answers still show something.
 * @returns {{data: object|null, error: Problem|null, busy: boolean}}
 */
export function useDocument(path, { live = true, title = true } = {}) {
  const [state, setState] = useState({ of: null, data: null, error: null, busy: true });
  const [job] = useState(() => ({ wanted: null, running: null, abort: null }));
  const now = live ? revision.value : 0;
  const again = refresh.value;
  const of = path && path.split('?')[0];
  useEffect(() => {
    if (job.of !== of) job.abort?.abort();
    job.of = of;
    job.wanted = path;
    if (path && !job.running) run(job, setState, title);
  }, [path, now, again]);
  useEffect(() => () => job.abort?.abort(), []);
  return state.of === of ? state : { data: null, error: null, busy: true };
}

async function run(job, setState, title) {
  while (job.wanted) {
    const path = job.wanted;
    const of = path.split('?')[0];
    job.wanted = null;
    job.running = path;
    job.abort = new AbortController();
    setState((s) => (s.of === of ? { ...s, busy: true } : { of, data: null, error: null, busy: true }));
    try {
      const data = await readJSON(path, { signal: job.abort.signal });
      setState({ of, data, error: null, busy: Boolean(job.wanted) });
      if (title) head.value = data;
    } catch (error) {
      if (error.name !== 'AbortError') {
        const shown = error instanceof Problem ? error : new Problem(-1, `The answer of the server cannot be read: ${error.message}.`);
        setState((s) => ({ of, data: shown.status === 404 ? null : s.data, error: shown, busy: Boolean(job.wanted) }));
      }
    }
  }
  job.running = null;
}

let source = null;
let timer = 0;
let attempts = 0;

// A browser opens few connections to a server, and a stream holds one: pages that are not seen give theirs up.
const unseen = () => document.visibilityState === 'hidden';
const pause = () => {
  clearTimeout(timer);
  source?.close();
};
document.addEventListener('visibilitychange', () => (unseen() ? pause() : resume()));
addEventListener('pagehide', pause);
addEventListener('pageshow', (event) => event.persisted && resume());

function resume() {
  listen();
  refresh.value++;
}

/** listen opens the stream of changes, and opens it again when it ends. */
export function listen() {
  clearTimeout(timer);
  source?.close();
  if (unseen()) return;
  source = new EventSource(base + 'changes');
  source.onopen = () => {
    const lost = connection.value.state === 'lost';
    attempts = 0;
    connection.value = { state: 'live', since: Date.now(), retryAt: 0 };
    if (lost) refresh.value++;
  };
  source.addEventListener('revision', (event) => {
    const text = event.data.trim();
    const value = text.startsWith('{') ? JSON.parse(text).revision : Number(text);
    if (value !== revision.value) revision.value = value;
  });
  source.onerror = () => {
    source.close();
    const wait = Math.min(15000, 500 * 2 ** attempts++);
    const { state, since } = connection.value;
    connection.value = { state: 'lost', since: state === 'lost' ? since : Date.now(), retryAt: Date.now() + wait };
    timer = setTimeout(listen, wait);
  };
}
