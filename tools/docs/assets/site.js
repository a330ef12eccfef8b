// Search, the list of versions, and the choice between light and dark. Pages work without it. It makes no requests but for two files of
// the site: search-index.js, when the search is used, and versions.js of the folder above.
"use strict";
(function () {
  const root = document.currentScript.src.replace(/[^/]*$/, "");
  const html = document.documentElement;
  const limit = 20;

  // Light or dark: what the reader chose, or what the system prefers.
  const stored = (function () {
    try { return localStorage.getItem("theme"); } catch { return null; }
  })();
  if (stored === "light" || stored === "dark") html.dataset.theme = stored;

  function isDark() {
    return html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function load(name) {
    const script = document.createElement("script");
    script.src = new URL(name, root).href;
    document.head.append(script);
  }

  // words splits a query; every word has to be in a section, at the beginning of a word or of one of its parts.
  function words(text) { return text.toLowerCase().split(/[^\p{L}\p{N}.]+/u).filter(Boolean); }

  function score(section, query) {
    const fields = [[section.page, 8], [section.heading, 6], [section.text, 1]];
    let sum = 0;
    for (const word of query) {
      let best = 0;
      for (const [text, weight] of fields) {
        const at = text.toLowerCase().indexOf(word);
        if (at >= 0) best = Math.max(best, at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]) ? weight : weight / 4);
      }
      if (!best) return 0;
      sum += best;
    }
    return sum;
  }

  function excerpt(text, word) {
    const at = Math.max(text.toLowerCase().indexOf(word), 0), from = Math.max(at - 60, 0);
    return (from ? "…" : "") + text.slice(from, at + 120) + (at + 120 < text.length ? "…" : "");
  }

  let sections;
  window.karpenterSearch = function (list) { sections = list; search(); };

  function search() {
    const results = document.getElementById("results"), found = document.getElementById("found");
    const query = words(document.getElementById("query").value);
    results.replaceChildren();
    results.hidden = !query.length;
    found.textContent = "";
    if (!query.length || !sections) return;
    const hits = sections.map((s) => [score(s, query), s]).filter((h) => h[0] > 0).sort((a, b) => b[0] - a[0]);
    found.textContent = hits.length === 1 ? "1 result" : hits.length + " results" + (hits.length > limit ? ", " + limit + " shown" : "");
    for (const [, s] of hits.slice(0, limit)) {
      const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
      link.href = new URL(s.at, root).href;
      link.textContent = s.heading ? s.page + ": " + s.heading : s.page;
      text.textContent = excerpt(s.text, query[0]);
      item.append(link, text);
      results.append(item);
    }
  }

  function setUpSearch() {
    const form = document.getElementById("search"), query = document.getElementById("query"), results = document.getElementById("results");
    form.hidden = false;
    query.addEventListener("focus", () => { if (!sections) load("search-index.js"); }, { once: true });
    query.addEventListener("input", search);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const first = results.querySelector("a");
      if (first) first.click();
    });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        query.focus();
      }
    });
    form.addEventListener("keydown", (event) => {
      const stops = [query, ...results.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
      if (event.key === "Escape") {
        query.value = "";
        search();
        query.focus();
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        stops[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), stops.length - 1)].focus();
      }
    });
    results.addEventListener("click", (event) => { if (event.target.closest("a")) results.hidden = true; });
  }

  function setUpTheme() {
    const button = document.getElementById("theme");
    button.hidden = false;
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    label();
    button.addEventListener("click", () => {
      html.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("theme", html.dataset.theme); } catch { /* not stored */ }
      label();
    });
  }

  window.karpenterVersions = function (list) {
    const select = document.getElementById("version"), current = select.dataset.version;
    select.replaceChildren(...list.map((v) => new Option(v, v, v === current, v === current)));
    select.addEventListener("change", () => { location.href = new URL("../" + select.value + "/index.html", root).href; });
  };

  document.addEventListener("DOMContentLoaded", () => {
    setUpSearch();
    setUpTheme();
    load("../versions.js");
    // Tables that are wider than the page can be scrolled with the keyboard; others are no stop of the tab key.
    for (const table of document.querySelectorAll(".table")) {
      if (table.scrollWidth > table.clientWidth) Object.assign(table, { tabIndex: 0, role: "region", ariaLabel: "Table" });
    }
    if (matchMedia("(max-width: 60rem)").matches) document.querySelector("#pages details").open = false;
  });
})();
