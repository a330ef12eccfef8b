// What the fleet view knows about nodes: fields to group, color, sort and filter by.
import { byName, share, UNKNOWN } from './format.js';

export const RESOURCES = ['cpu', 'memory', 'pods'];

export const used = (node, resource) => (node.requested ? share(node.requested[resource], node.allocatable[resource]) : null);

const short = { nodepool: 'nodePool', type: 'instanceType', zone: 'zone', capacity: 'capacityType', state: 'state', reason: 'reason', obstacle: 'obstacle' };

export const CATEGORIES = [
  ['state', 'state'], ['nodepool', 'NodePool'], ['zone', 'zone'], ['capacity', 'capacity type'], ['type', 'instance type'],
  ['reason', 'reason to disrupt'], ['obstacle', 'obstacle'],
];

export const SCALES = [['cpu', 'CPU requested'], ['memory', 'memory requested'], ['pods', 'pods'], ['price', '$/h'], ['age', 'age']];

/** category of a node: the text of a field, or the value of the label with this key. */
export function category(node, key) {
  const field = short[key];
  if (field) return node[field] || (key === 'reason' || key === 'obstacle' ? 'none' : key === 'nodepool' ? 'no NodePool' : UNKNOWN);
  return node.labels?.[key] ?? 'no label';
}

/** measure of a node as a number: shares from 0 to 1, dollars per hour, seconds. */
export function measure(node, key, at) {
  switch (key) {
    case 'price': return node.pricePerHour;
    case 'age': return (new Date(at) - new Date(node.created)) / 1000;
    default: return used(node, key);
  }
}

/** labelKeys of all nodes, but those whose value is different on each. */
export function labelKeys(nodes) {
  const values = new Map();
  for (const node of nodes) {
    for (const key in node.labels) {
      let seen = values.get(key);
      if (!seen) values.set(key, (seen = new Set()));
      if (seen.size <= 200) seen.add(node.labels[key]);
    }
  }
  return [...values].filter(([, seen]) => seen.size <= 200).map(([key]) => key).sort();
}

const numbers = { cpu: 100, memory: 100, pods: 100, price: 1, age: 1 / 3600 };

/**
 * matcher of a filter: words that a name, NodePool, type, zone or reason contains; key:text and key=text for fields and labels; cpu>90 and
 * memory<50 in percent, price>1 in dollars per hour, age>24 in hours; a minus sign before a term excludes.
 */
export function matcher(filter, at) {
  const terms = filter.toLowerCase().split(/\s+/).filter(Boolean).map((text) => {
    const no = text.startsWith('-') && text.length > 1;
    const test = term(no ? text.slice(1) : text, at);
    return no ? (node) => !test(node) : test;
  });
  return (node) => terms.every((test) => test(node));
}

function term(text, at) {
  const [, key, operator, value] = text.match(/^([^:=<>]+)([:=<>])(.*)$/) || [];
  if (!key) {
    return (n) => [n.name, n.nodeClaim, n.nodePool, n.instanceType, n.zone, n.reason, n.obstacle].some((x) => x && x.toLowerCase().includes(text));
  }
  if (operator === '<' || operator === '>') {
    const limit = Number(value) / (numbers[key] || 1);
    if (!numbers[key] || value === '' || Number.isNaN(limit)) return () => false;
    return (n) => {
      const x = measure(n, key, at);
      return x !== null && (operator === '<' ? x < limit : x > limit);
    };
  }
  const of = key === 'name' ? (n) => n.name : (n) => (short[key] ? category(n, key) : lowerLabel(n, key));
  return operator === '=' ? (n) => of(n).toLowerCase() === value : (n) => of(n).toLowerCase().includes(value);
}

function lowerLabel(node, key) {
  for (const k in node.labels) if (k.toLowerCase() === key) return node.labels[k];
  return 'no label';
}

/** terms adds a term to a filter, or removes it when it is there. */
export function toggled(filter, text) {
  const list = filter.split(/\s+/).filter(Boolean);
  return list.includes(text) ? list.filter((t) => t !== text).join(' ') : [...list, text].join(' ');
}

export const hasTerm = (filter, text) => filter.split(/\s+/).includes(text);

/** termFor a value of a category; null for values that a term cannot express. */
export const termFor = (key, value) => (/\s/.test(value) && !['no label', 'no NodePool'].includes(value) ? null
  : /\s/.test(value) ? null : `${key}=${value}`);

const MOST_GROUPS = 40;

/** grouped nodes, the largest group first; small groups beyond the 40th are put together. */
export function grouped(nodes, key) {
  if (!key || key === 'none') return [{ name: '', nodes }];
  const groups = new Map();
  for (const node of nodes) {
    const name = category(node, key);
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, nodes: [] }));
    group.nodes.push(node);
  }
  const list = [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length || byName(a.name, b.name));
  if (list.length <= MOST_GROUPS) return list;
  const rest = list.slice(MOST_GROUPS - 1);
  return [...list.slice(0, MOST_GROUPS - 1), { name: `${rest.length} smaller groups`, nodes: rest.flatMap((g) => g.nodes) }];
}

/** sums of nodes: dollars per hour, how many prices are not known, and shares of what is requested. */
export function sums(nodes) {
  const s = { price: 0, unknown: 0, requested: { cpu: 0, memory: 0, pods: 0 }, allocatable: { cpu: 0, memory: 0, pods: 0 }, known: true };
  for (const n of nodes) {
    if (n.pricePerHour === null) s.unknown++;
    else s.price += n.pricePerHour;
    if (!n.requested) s.known = false;
    for (const r of RESOURCES) {
      s.allocatable[r] += n.allocatable[r];
      s.requested[r] += n.requested?.[r] || 0;
    }
  }
  return s;
}
