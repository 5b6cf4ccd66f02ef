// The list of versions with the graph, the timeline, and what one version is.

import { announce, count, day, encoded, failure, h, headline, labels, maker, named, short, show, size, svg, time } from "./elements.js";
import { get } from "./server.js";
import { graph, graphWidth, lanesOf } from "./graph.js";

const rowHeight = 48;
const pageSize = 100;
const pagesKept = 80;
// Browsers draw nothing beyond some ten million pixels.
const tallest = 8_000_000;

/** A list of any length of which only the rows that are to be seen are in the page. */
class VersionList {
  constructor(open) {
    this.open = open;
    this.total = 0;
    this.active = 0;
    this.pages = new Map();
    this.loading = new Set();
    this.generation = 0;
    this.found = null;
    this.day = h("p", { class: "today", "aria-hidden": "true" });
    this.graph = h("div", { class: "graphs" });
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.space = h("div", { class: "space", role: "presentation" }, this.graph, this.rows);
    this.scroller = h("div", {
      class: "list", role: "listbox", tabindex: "0", "aria-label": "Versions, newest first",
      onscroll: () => this.schedule(), onkeydown: (event) => this.key(event),
    }, this.space);
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(this.scroller);
    this.hint = h("p", { class: "none hint" });
    this.element = h("div", { class: "days" }, this.day, this.hint, this.scroller);
  }

  get scale() {
    return Math.max(1, (this.total * rowHeight) / tallest);
  }

  /** Forgets all rows, since there are new ones, and loads those that are to be seen. */
  async refresh(found = null) {
    this.generation += 1;
    this.found = found;
    if (found) this.total = found.length;
    this.pages.clear();
    this.loading.clear();
    await this.load(Math.floor(this.first / pageSize));
    this.draw();
  }

  get first() {
    return Math.max(0, Math.floor((this.scroller.scrollTop * this.scale) / rowHeight));
  }

  get visible() {
    return Math.ceil(this.scroller.clientHeight / rowHeight) + 1;
  }

  async load(page) {
    if (this.found || page < 0 || this.pages.has(page) || this.loading.has(page)) return;
    this.loading.add(page);
    const { generation } = this;
    try {
      const answer = await get("versions", { from: page * pageSize, count: pageSize });
      if (generation !== this.generation) return;
      this.pages.set(page, answer.rows);
      this.total = answer.total;
      if (this.pages.size > pagesKept) this.pages.delete(this.pages.keys().next().value);
      this.schedule();
    } catch (error) {
      if (generation === this.generation) this.onfailure?.(error);
    } finally {
      if (generation === this.generation) this.loading.delete(page);
    }
  }

  row(index) {
    if (this.found) return this.found[index] ?? null;
    return this.pages.get(Math.floor(index / pageSize))?.[index % pageSize] ?? null;
  }

  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  draw() {
    if (!this.scroller.isConnected) return;
    this.space.style.height = `${Math.min(this.total * rowHeight, tallest)}px`;
    const before = 3;
    const start = Math.max(0, this.first - before);
    const end = Math.min(this.total, this.first + this.visible + before);
    const rows = [];
    for (let index = start; index < end; index += 1) rows.push(this.row(index));
    // Only what is to be seen now is asked for, and not what was scrolled past.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      for (let page = Math.floor(start / pageSize); page * pageSize < end; page += 1) this.load(page);
    }, this.pages.size ? 40 : 0);
    const top = this.row(this.first);
    this.day.textContent = top ? day(top.time) : "";
    // Versions that were searched for are no graph.
    const drawn = this.found ? [] : rows;
    const lanes = lanesOf(drawn, this.scroller.clientWidth < 560 ? 5 : 14);
    const scale = this.scale;
    const offset = scale === 1
      ? start * rowHeight
      : this.scroller.scrollTop - (((this.scroller.scrollTop * scale) / rowHeight) - start) * rowHeight;
    this.graph.style.transform = `translateY(${offset}px)`;
    this.rows.style.transform = `translateY(${offset}px)`;
    show(this.graph, graph(drawn, rowHeight, lanes));
    this.rows.style.setProperty("--graph", this.found ? "12px" : `${graphWidth(lanes)}px`);
    show(this.rows, rows.map((row, index) => this.option(row, start + index)));
    if (this.active >= start && this.active < end) {
      this.scroller.setAttribute("aria-activedescendant", `version-${this.active}`);
    } else {
      this.scroller.removeAttribute("aria-activedescendant");
    }
    this.onmove?.(this.first);
  }

  option(row, index) {
    const isActive = index === this.active;
    const properties = {
      id: `version-${index}`, role: "option", class: isActive ? "row active" : "row",
      "aria-selected": row && row.name === this.selected ? "true" : "false",
      "aria-setsize": this.total, "aria-posinset": index + 1,
      onclick: () => {
        this.active = index;
        if (row) this.open(row.name);
      },
    };
    if (!row) return h("div", properties, h("span", { class: "blank" }, "…"));
    const newer = this.row(index - 1);
    const begins = newer && day(newer.time) !== day(row.time) ? day(row.time) : null;
    if (begins) properties.class += " begins";
    const mark = begins ? h("span", { class: "day" }, begins) : null;
    const isNarrow = this.scroller.clientWidth < 560;
    return h("div", properties,
      h("span", { class: "line" }, h("span", { class: "headline" }, headline(row)), labels(row),
        isNarrow ? null : mark),
      h("span", { class: "line small" }, isNarrow ? mark : null, time(row.time, true), maker(row) ? h("span", null, maker(row)) : null,
        named(row.name)));
  }

  /** Brings a row into view. */
  goTo(index, toTop = false) {
    this.active = Math.max(0, Math.min(this.total - 1, index));
    const place = (this.active * rowHeight) / this.scale;
    const { scrollTop, clientHeight } = this.scroller;
    if (toTop || place < scrollTop) this.scroller.scrollTop = place;
    else if (place + rowHeight > scrollTop + clientHeight) {
      this.scroller.scrollTop = place + rowHeight - clientHeight;
    }
    this.schedule();
  }

  key(event) {
    const steps = {
      ArrowDown: 1, ArrowUp: -1, PageDown: this.visible - 2, PageUp: 2 - this.visible,
      Home: -Infinity, End: Infinity,
    };
    if (event.key === "Enter" || event.key === " ") {
      const row = this.row(this.active);
      if (row) this.open(row.name);
    } else if (event.key in steps) {
      this.goTo(this.active + steps[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** The number of versions over time; moving the handle moves the list. */
function timeline(list) {
  const bars = h("div", { class: "bars" });
  const range = h("input", {
    type: "range", min: "0", max: "0", value: 0, "aria-label": "Jump to a time, newest at the right",
    oninput: () => jump(),
  });
  const label = h("output", null);
  const ends = [h("span"), h("span")];
  const element = h("div", { class: "timeline", hidden: true }, bars, range,
    h("p", { class: "ends small" }, ends[0], label, ends[1]));
  let parts = [];

  function say(part, shown = (part.newest ?? part.seconds) * 1000) {
    const text = `${day(shown)}, ${count(part.count, "version")}`;
    label.textContent = text;
    range.setAttribute("aria-valuetext", text);
  }

  function jump() {
    const index = Number(range.value);
    let found = index;
    while (found > 0 && parts[found].row === null) found -= 1;
    say(parts[index]);
    if (parts[found].row !== null) list.goTo(parts[found].row, true);
  }

  async function refresh() {
    const answer = await get("timeline");
    parts = answer.parts;
    element.hidden = parts.length < 2;
    if (parts.length < 2) return;
    range.max = String(parts.length - 1);
    const most = Math.max(...parts.map((part) => part.count));
    const width = 1000 / parts.length;
    show(bars, svg("svg",
      { viewBox: "0 0 1000 40", preserveAspectRatio: "none", role: "img",
        "aria-label": `${answer.total} versions over time` },
      parts.map((part, index) => {
        const height = part.count ? Math.max(2, 38 * Math.sqrt(part.count / most)) : 0;
        return svg("rect", { x: index * width + 0.5, y: 40 - height, width: Math.max(1, width - 1), height });
      })));
    const [first, last] = [parts[0].seconds, parts.at(-1).newest].map((seconds) => new Date(seconds * 1000));
    const year = new Date().getFullYear();
    const isThisYear = first.getFullYear() === year && last.getFullYear() === year;
    const style = day(first) === day(last)
      ? { timeStyle: "short" } : { month: "short", day: "numeric", year: isThisYear ? undefined : "numeric" };
    [first, last].forEach((date, index) => { ends[index].textContent = date.toLocaleString(undefined, style); });
    moved(list.first);
  }

  function moved(row) {
    if (!parts.length || list.found || document.activeElement === range) return;
    let index = parts.length - 1;
    while (index > 0 && (parts[index].row === null || parts[index].row + parts[index].count <= row)) index -= 1;
    range.value = String(index);
    say(parts[index], list.row(row)?.time);
  }

  return { element, refresh, moved };
}

/** How versions are found. */
const fields = {
  message: {
    text: "by message", hint: "Words of the message",
    none: "No version has this in its message. Versions without a message are found by file or directory.",
  },
  author: {
    text: "by author or machine", hint: "Author or machine", none: "No version has this author or machine.",
  },
  p: {
    text: "by file or directory", hint: "Path from the top, as notes/n3.md",
    none: "No version changed this path. It begins at the top of the tree, as notes/n3.md.",
  },
};

/** The view of all versions, and of one beside it. */
export class VersionsView {
  constructor(page) {
    this.page = page;
    this.list = new VersionList((name) => { location.hash = `#/version/${encodeURIComponent(name)}`; });
    this.timeline = timeline(this.list);
    this.list.onmove = (row) => this.timeline.moved(row);
    this.list.onfailure = (error) => this.page.fail(error);
    this.detail = h("section", { class: "detail", "aria-label": "Version" });
    this.words = h("input", { type: "search", "aria-label": "Find versions", oninput: () => this.find(250) });
    this.field = h("select", { "aria-label": "Find by", onchange: () => this.find(0) },
      Object.entries(fields).map(([value, { text }]) => h("option", { value }, text)));
    this.hint();
    this.result = h("span", { class: "small", role: "status" });
    this.element = h("div", { class: "versions" },
      h("section", { class: "side", "aria-label": "History" },
        h("form", { class: "find", role: "search", onsubmit: (event) => { event.preventDefault(); this.find(0); } },
          this.words, this.field, this.result),
        this.timeline.element, this.list.element),
      this.detail);
  }

  async open(name) {
    const isOther = name !== this.name;
    this.name = name;
    this.list.selected = name;
    this.element.classList.toggle("open", Boolean(name));
    if (!this.isLoaded) {
      this.isLoaded = true;
      await this.refresh();
      // Another version was chosen meanwhile.
      if (this.name !== name) return;
    }
    if (name && isOther) this.reveal(name);
    this.list.schedule();
    if (!name && !this.page.state.head) show(this.detail, h("p", { class: "hint" }, "There is no version yet."));
    else await this.showVersion(name);
  }

  hint() {
    this.words.placeholder = fields[this.field.value].hint;
  }

  /** Shows the versions that the words name, or all if there are none. */
  find(pause) {
    this.hint();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh().catch((error) => this.page.fail(error)), pause);
  }

  /** Brings a version into view in the list of all. A version that is in no branch, or is unknown, has no row. */
  async reveal(name) {
    const { index } = await get("index", { v: name }).catch(() => ({ index: null }));
    if (index !== null && this.name === name && !this.list.found) this.list.goTo(index);
  }

  async refresh() {
    const words = this.words.value.trim();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const isPath = this.field.value === "p";
    const value = isPath ? encoded(words.replace(/^\/+|\/+$/g, "")) : words;
    const answer = words ? await get("find", { [this.field.value]: value }) : null;
    if (turn !== this.turn) return;
    this.result.textContent = answer ? `${answer.isWhole ? "" : "the newest "}${count(answer.rows.length, "version")}` : "";
    if (Boolean(answer) !== Boolean(this.list.found)) this.list.scroller.scrollTop = 0;
    this.list.hint.textContent = answer && !answer.rows.length ? fields[this.field.value].none : "";
    await this.list.refresh(answer?.rows ?? null);
    if (answer) this.timeline.element.hidden = true;
    else await this.timeline.refresh();
  }

  /** Shows a version; without a name the head. */
  async showVersion(name) {
    let version;
    try {
      version = await get("version", { v: name ?? "head" });
    } catch (error) {
      if (this.name === name) show(this.detail, failure(error));
      return;
    }
    if (this.name !== name) return;
    this.list.selected = version.name;
    this.list.schedule();
    const link = encodeURIComponent(version.name);
    const { page } = this;
    const rest = (version.message ?? "").trim();
    show(this.detail,
      h("a", { class: "back", href: "#/versions" }, "Back to the list"),
      h("h2", { tabindex: "-1" }, headline(version)),
      labels(version).length ? h("p", { class: "buttons" }, labels(version)) : null,
      rest.includes("\n") ? h("pre", { class: "message" }, rest) : null,
      h("dl", null,
        h("dt", null, "Version"), h("dd", { class: "name" }, version.name),
        h("dt", null, "Time"), h("dd", null, time(version.time)),
        maker(version) ? [h("dt", null, "Made by"), h("dd", null, maker(version))] : null,
        version.line ? [h("dt", null, "Branch"), h("dd", null, version.line)] : null,
        version.predecessors.length
          ? [h("dt", null, version.predecessors.length > 1 ? "Predecessors" : "Predecessor"),
            h("dd", null, version.predecessors.map((other, index) => [index ? ", " : "",
              h("a", { href: `#/version/${encodeURIComponent(other)}` }, named(other))]))]
          : null),
      h("p", { class: "buttons" },
        h("a", { class: "button", href: `#/files/${link}/` }, "Files"),
        version.predecessors.slice(1).map((other) => h("a",
          { class: "button", href: `#/compare/${encodeURIComponent(other)}/${link}` }, `Compare with ${short(other)}`)),
        version.isHead ? null : h("a", { class: "button", href: `#/compare/${link}/head` }, "Compare with head"),
        page.isReadOnly || version.isHead ? null : h("button", {
          type: "button",
          onclick: () => page.ask(
            `Make a new version in which everything is as in ${short(version.name)}? Undo goes back.`,
            "Restore", { command: "restore", version: version.name }),
        }, "Restore everything")),
      h("h3", null, version.changed.length ? "Changes" : "Nothing changed"),
      changes(version.changed, version.isWhole, version.predecessors[0] ?? null, version.name));
    if (name) announce(`${headline(version)}, ${short(version.name)}`);
  }
}

/** The words for changes of files. */
export const words = { "+": "new", "-": "removed", "*": "changed", R: "renamed" };

// More changes than these are shown by directory.
const mostFlat = 40;

/** The paths at which two versions differ, each with a link to what differs. */
export function changes(list, isWhole, before, after) {
  if (!list.length) return null;
  const moves = new Map();
  for (const change of list) {
    if (!change.renamed) continue;
    const key = JSON.stringify(change.renamed);
    if (!moves.has(key)) moves.set(key, { ...change.renamed, list: [] });
    moves.get(key).list.push(change);
  }
  const isMoved = (change) => change.renamed || (change.directory && [...moves.values()].some((move) =>
    `${change.path}/`.startsWith(`${change.change === "-" ? move.from : move.to}/`)));
  const others = list.filter((change) => !isMoved(change));
  const items = (some) => h("ul", { class: "changes" }, some.map((change) => item(change, before, after)));
  return [
    [...moves.values()].map((move) => folded(
      `renamed ${move.from}/ to ${move.to}/ (${count(move.files, "file")})`, () => items(move.list))),
    others.length > mostFlat ? byDirectory(others).map(([directory, some]) => folded(
      `${directory}/: ${summary(some)}`, () => items(some))) : items(others),
    isWhole ? null : h("p", { class: "hint" }, `Only the first ${list.length} are listed.`)];
}

/** A line that opens to what `make` makes. */
function folded(title, make) {
  const element = h("details", {
    class: "changes",
    ontoggle: () => { if (element.open && element.children.length === 1) element.append(make()); },
  }, h("summary", null, title));
  return element;
}

/** Changes by directory; a directory is left out if changes in it are listed. */
function byDirectory(list) {
  const groups = new Map();
  const parent = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));
  const full = new Set();
  for (const { path } of list) {
    for (let at = parent(path); at && !full.has(at); at = parent(at)) full.add(at);
  }
  for (const change of list) {
    if (change.directory && full.has(change.path)) continue;
    const directory = parent(change.path);
    if (!groups.has(directory)) groups.set(directory, []);
    groups.get(directory).push(change);
  }
  return [...groups];
}

/** For example "3 new, 1 changed, 12 kB". */
function summary(list) {
  const kinds = Object.entries(words).map(([mark, word]) => [list.filter((one) => one.change === mark).length, word]);
  const parts = kinds.filter(([number]) => number).map(([number, word]) => `${number.toLocaleString()} ${word}`);
  return [...parts, size(list.reduce((sum, one) => sum + one.newBytes, 0))].join(", ");
}

function item(change, before, after) {
  const path = encoded(change.path, change.pathBase64);
  const from = change.from === undefined ? null : encoded(change.from, change.fromBase64);
  const name = `${change.from === undefined ? "" : `${change.from} → `}${change.path}${change.directory ? "/" : ""}`;
  const target = `#/difference/${before ? encodeURIComponent(before) : "-"}/${encodeURIComponent(after)}/${path}`
    + (from ? `?from=${from}` : "");
  return h("li", null,
    h("span", { class: `change change-${words[change.change]}` }, words[change.change]),
    change.directory ? h("span", null, name) : h("a", { href: target }, name));
}

/** What differs between two versions. */
export async function compareView(before, after) {
  const answer = await get("compare", { a: before, v: after });
  return h("section", null,
    h("h2", { tabindex: "-1" }, `From ${short(before)} to ${short(after)}`),
    answer.changed.length ? null : h("p", null, "Both have the same files."),
    changes(answer.changed, answer.isWhole, before, after));
}
