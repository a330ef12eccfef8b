// The libraries of the page, in one place.
import { h } from '../vendor/preact.mjs';
import htm from '../vendor/htm.mjs';

export { Component, render } from '../vendor/preact.mjs';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/preact-hooks.mjs';
export { batch, computed, effect, signal } from '../vendor/signals.mjs';

export const html = htm.bind(h);
