// Tables that can be sorted; the order is part of the link.
import { html, useMemo, useState } from './lib.js';
import { param, set } from './route.js';
import { byName, count } from './format.js';

const compare = (a, b) => {
  if (a === b) return 0;
  if (a === null || a === undefined || a === '') return 1;
  if (b === null || b === undefined || b === '') return -1;
  return typeof a === 'string' ? byName(a, b) : a - b;
};

/** sorted rows: order is the key of a column, with a minus sign for the largest first. Values that are not known come last. */
export function sorted(rows, columns, order) {
  const down = order.startsWith('-');
  const column = columns.find((c) => c.key === order.replace(/^-/, ''));
  if (!column) return rows;
  const valued = rows.map((row) => ({ row, value: column.value(row) }));
  valued.sort((a, b) => {
    const lacks = (x) => x === null || x === undefined || x === '';
    const c = compare(a.value, b.value);
    return down && !lacks(a.value) && !lacks(b.value) ? -c : c;
  });
  return valued.map((v) => v.row);
}

/**
 * Table of rows. A column has key, label, value (what is sorted by), cell (what is shown, value by default) and num for numbers.
 * At first, limit rows are shown.
 */
export function Table({ id = 'sort', caption, columns, rows, rowKey, order = '', limit = 100, empty = 'None.' }) {
  const [most, setMost] = useState(limit);
  const by = param(id, order);
  const list = useMemo(() => sorted(rows, columns, by), [rows, by]);
  if (rows.length === 0) return html`<p class="muted">${empty}</p>`;
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0"><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((c) => html`<${Header} key=${c.key} c=${c} by=${by} id=${id} />`)}</tr></thead>
    <tbody>${list.slice(0, most).map((row, i) => html`<tr key=${rowKey ? rowKey(row) : i}>${columns.map((c) => html`<td key=${c.key} class=${c.num ? 'num' : ''}>${
      c.cell ? c.cell(row) : c.value(row)}</td>`)}</tr>`)}</tbody>
  </table>${list.length > most && html`<p class="rest">${count(most)} of ${count(list.length)} rows are shown.
    <button onClick=${() => setMost(most + 5 * limit)}>Show ${count(Math.min(5 * limit, list.length - most))} more</button></p>`}</div>`;
}

function Header({ c, by, id }) {
  const active = by.replace(/^-/, '') === c.key;
  const down = by.startsWith('-');
  const next = active ? (down ? c.key : '-' + c.key) : (c.num ? '-' : '') + c.key;
  return html`<th scope="col" class=${c.num ? 'num' : ''} aria-sort=${active ? (down ? 'descending' : 'ascending') : undefined}>
    <button onClick=${() => set({ [id]: next })} title=${c.help}>${c.label}<span aria-hidden="true">${active ? (down ? ' ↓' : ' ↑') : ''}</span></button></th>`;
}
