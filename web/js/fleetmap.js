// The tiles of the fleet, on one canvas. A tile is filled from below by the share that pods request.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './lib.js';
import { colorOf, onScheme } from './color.js';

const HEADER = 24;
const SPACE = 12;

/** tileSize fits the number of nodes: few nodes have large tiles. */
export const tileSize = (n, width) => (n <= 60 ? 34 : n <= 300 ? 24 : n <= 1500 ? 18 : width < 600 ? 12 : n <= 8000 ? 14 : 10);

/** layout of groups on a width: the place of every tile, and the height of all. */
export function layout(groups, width, tile) {
  const gap = tile > 12 ? 2 : 1;
  const pitch = tile + gap;
  const perRow = Math.max(1, Math.floor((width + gap) / pitch));
  const tiles = [];
  const heads = [];
  let y = 0;
  for (const group of groups) {
    if (group.name !== '') {
      heads.push({ y, group });
      y += HEADER;
    }
    group.nodes.forEach((node, i) => tiles.push({ node, x: (i % perRow) * pitch, y: y + Math.floor(i / perRow) * pitch, group }));
    y += Math.ceil(group.nodes.length / perRow) * pitch + SPACE;
  }
  return { tiles, heads, height: Math.max(pitch, y - SPACE), pitch, perRow, tile };
}

const GLYPHS = { launching: '+', starting: '^', blocked: '!', 'not-ready': '×', disrupting: '~', draining: '−' };

function draw(canvas, plan, width, look) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(plan.height * ratio);
  canvas.style.height = plan.height + 'px';
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  const { tile } = plan;
  const back = colorOf('--tile');
  for (const t of plan.tiles) {
    const color = colorOf(look.color(t.node));
    const level = look.fill(t.node);
    c.fillStyle = back;
    c.fillRect(t.x, t.y, tile, tile);
    c.fillStyle = color;
    if (level === undefined) { // no fill: the tile as a whole
      c.fillRect(t.x, t.y, tile, tile);
    } else if (level === null) {
      c.globalAlpha = 0.6; // what is requested is not known
      c.fillRect(t.x, t.y, tile, tile);
      c.globalAlpha = 1;
    } else {
      c.globalAlpha = 0.3;
      c.fillRect(t.x, t.y, tile, tile);
      c.globalAlpha = 1;
      const height = Math.round(Math.min(1, level) * tile);
      c.fillRect(t.x, t.y + tile - height, tile, height);
    }
  }
  glyphs(c, plan);
  heads(c, plan, width, look);
}

// The state is not told by color alone.
function glyphs(c, { tiles, tile }) {
  if (tile < 14) return;
  c.font = `bold ${Math.round(tile * 0.72)}px ${colorOf('--sans')}`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineWidth = 2.5;
  c.lineJoin = 'round';
  c.strokeStyle = colorOf('--back');
  c.fillStyle = colorOf('--text');
  for (const t of tiles) {
    const glyph = GLYPHS[t.node.state];
    if (!glyph) continue;
    c.strokeText(glyph, t.x + tile / 2, t.y + tile / 2 + 1);
    c.fillText(glyph, t.x + tile / 2, t.y + tile / 2 + 1);
  }
}

function heads(c, plan, width, look) {
  c.textBaseline = 'alphabetic';
  for (const { y, group } of plan.heads) {
    c.font = `600 13px ${colorOf('--sans')}`;
    c.fillStyle = colorOf('--text');
    c.textAlign = 'left';
    c.fillText(group.name, 0, y + 16, width);
    const at = c.measureText(group.name).width + 10;
    c.font = `12px ${colorOf('--sans')}`;
    c.fillStyle = colorOf('--muted');
    let note = look.note(group);
    while (note && c.measureText(note).width > width - at) note = note.slice(0, Math.max(0, note.lastIndexOf(' · ')));
    if (note) c.fillText(note, at, y + 16);
  }
}

/**
 * FleetMap draws groups of nodes. It is one stop of the tab key: arrows move between tiles, Enter opens a node.
 * look has color(node), fill(node), note(group) and label(node).
 */
export function FleetMap({ groups, total, look, focus, onFocus, onOpen }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const [width, setWidth] = useState(0);
  const [scheme, setScheme] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(box.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onScheme(() => setScheme((n) => n + 1)), []);
  const plan = useMemo(() => layout(groups, Math.max(width, 40), tileSize(total, width)), [groups, width, total]);
  useLayoutEffect(() => {
    if (width === 0) return;
    draw(canvas.current, plan, width, look);
    performance.mark('fleet-drawn', { detail: plan.tiles.length });
  }, [plan, look, width, scheme]);

  const index = focus ? plan.tiles.findIndex((t) => t.node.name === focus) : -1;
  const tileAt = (event) => {
    const area = canvas.current.getBoundingClientRect();
    const x = event.clientX - area.left;
    const y = event.clientY - area.top;
    return plan.tiles.find((t) => x >= t.x && x < t.x + plan.pitch && y >= t.y && y < t.y + plan.pitch);
  };
  const move = (to) => {
    const t = plan.tiles[Math.max(0, Math.min(plan.tiles.length - 1, to))];
    if (!t) return;
    onFocus(t.node.name);
    const top = canvas.current.getBoundingClientRect().top + t.y;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + plan.tile > innerHeight - 60) scrollBy(0, top + plan.tile - innerHeight + 60);
  };
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = next(plan, index, event.key);
    if (to !== null) move(to);
    else if (event.key === 'Enter' && index >= 0) onOpen(plan.tiles[index].node.name);
    else return;
    event.preventDefault();
  };
  const t = plan.tiles[index];
  return html`<div class="map" ref=${box} tabindex="0" role="listbox" aria-label="Nodes. Arrow keys move, Enter opens."
      aria-activedescendant=${t ? 'tile' : undefined} onKeyDown=${onKey} onFocus=${() => index < 0 && move(0)}>
    <canvas ref=${canvas} aria-hidden="true" onMouseMove=${(e) => { const at = tileAt(e); if (at && at.node.name !== focus) onFocus(at.node.name); }}
      onClick=${(e) => { const at = tileAt(e); if (at) onOpen(at.node.name); }}></canvas>
    ${t && html`<div id="tile" class="tile" role="option" aria-selected="true" aria-setsize=${plan.tiles.length} aria-posinset=${index + 1}
      aria-label=${look.label(t.node)} style=${{ left: t.x + 'px', top: t.y + 'px', width: plan.tile + 'px', height: plan.tile + 'px' }}></div>`}
  </div>`;
}

// The tile that a key leads to; null for other keys. Up and down go to the nearest tile of the next row, also across groups.
function next(plan, index, key) {
  switch (key) {
    case 'ArrowRight': return index + 1;
    case 'ArrowLeft': return index - 1;
    case 'Home': return 0;
    case 'End': return plan.tiles.length - 1;
    case 'ArrowDown': return vertical(plan, index, 1);
    case 'ArrowUp': return vertical(plan, index, -1);
    case 'PageDown': return nextGroup(plan, index, 1);
    case 'PageUp': return nextGroup(plan, index, -1);
    default: return null;
  }
}

function vertical({ tiles }, index, by) {
  const from = tiles[index];
  if (!from) return 0;
  let row = null;
  let best = index;
  for (let i = index + by; i >= 0 && i < tiles.length; i += by) {
    if (tiles[i].y === from.y) continue;
    row ??= tiles[i].y;
    if (tiles[i].y !== row) break;
    if (best === index || Math.abs(tiles[i].x - from.x) < Math.abs(tiles[best].x - from.x)) best = i;
  }
  return best;
}

function nextGroup({ tiles }, index, by) {
  const group = tiles[index]?.group;
  let i = index;
  while (i >= 0 && i < tiles.length && tiles[i].group === group) i += by;
  if (i < 0 || i >= tiles.length) return by > 0 ? tiles.length - 1 : 0;
  while (by < 0 && i > 0 && tiles[i - 1].group === tiles[i].group) i--;
  return i;
}
