// Shows the view that the address names, and asks the server regularly whether anything changed.

import { announce, day, decoded, failure, h, headline, maker, pendingText, show } from "./elements.js";
import { cancel, get, run } from "./server.js";
import { VersionsView, compareView } from "./versions.js";
import { filesView, historyView } from "./files.js";
import { differenceView } from "./difference.js";
import { conflictView, conflictsView } from "./conflicts.js";
import { SyncView } from "./sync.js";
import { spaceView } from "./space.js";

const main = document.getElementById("main");
const element = (id) => document.getElementById(id);

/** What the views share. */
class Page {
  constructor() {
    this.state = null;
    this.last = 0;
    this.isReadOnly = true;
  }

  async begin() {
    this.state = await get("state");
    this.isReadOnly = this.state.isReadOnly;
    this.last = this.state.ended?.id ?? 0;
    element("actions").hidden = this.isReadOnly;
    const name = this.state.mountPoint ?? this.state.store;
    element("store").textContent = name.split("/").filter((part) => part).pop() ?? name;
    element("store").title = name;
    document.title = `${element("store").textContent}: llvs`;
    this.versions = new VersionsView(this);
    this.sync = new SyncView(this);
    for (const command of ["undo", "redo"]) {
      element(command).addEventListener("click", () => this.askStep(command).catch((error) => this.fail(error)));
    }
    element("task-cancel").addEventListener("click", () => cancel().catch((error) => this.fail(error)));
    element("skip").addEventListener("click", (event) => {
      event.preventDefault();
      main.focus();
    });
    addEventListener("hashchange", () => this.route(true));
    document.addEventListener("visibilitychange", () => this.poll());
    this.tell();
    await this.route(false);
    this.poll();
  }


  async route(moves) {
    const [place, query] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = place.split("/");
    const view = parts[0] || "versions";
    const name = (index) => decoded(parts[index] ?? "");
    const rest = (index) => parts.slice(index).filter((part) => part).join("/");
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.view = view;
    const tab = { version: "versions", compare: "versions", difference: "files", history: "files", conflict: "conflicts" };
    for (const link of document.querySelectorAll("nav [data-view]")) {
      const isHere = link.dataset.view === (tab[view] ?? view);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    let shown;
    try {
      switch (view) {
        case "versions":
        case "version":
          if (main.firstChild !== this.versions.element) show(main, this.versions.element);
          await this.versions.open(view === "version" ? name(1) : null);
          if (moves && view === "version") this.versions.detail.querySelector("h2")?.focus({ preventScroll: true });
          return;
        case "files": shown = await filesView(this, name(1) || "head", rest(2)); break;
        case "history": shown = await historyView(this, name(1), rest(2)); break;
        case "compare": shown = await compareView(name(1), name(2)); break;
        case "difference": {
          const before = name(1) === "-" ? null : name(1);
          const from = new RegExp("(?:^|&)from=([^&]*)").exec(query ?? "")?.[1];
          shown = await differenceView(before, name(2), rest(3), from ?? null);
          break;
        }
        case "conflicts": shown = await conflictsView(); break;
        case "conflict": shown = await conflictView(this, rest(2), name(1)); break;
        case "space": shown = await spaceView(); break;
        case "sync":
          shown = this.sync.element;
          this.sync.open();
          break;
        default: throw new Error("There is no such view.");
      }
    } catch (error) {
      shown = h("section", null, failure(error));
    }
    if (turn !== this.turn) return;
    show(main, shown);
    main.scrollTop = 0;
    if (moves) main.querySelector("h2")?.focus({ preventScroll: true });
  }


  /** Starts a command; `next` is where to go when it is done. */
  async start(fields, next) {
    try {
      const { id } = await run(fields);
      this.next = next ? { id, place: next } : null;
    } catch (error) {
      this.fail(error);
    }
    this.poll();
  }

  /** Starts a command if the answer to a question is yes. */
  ask(text, word, fields, next) {
    const dialog = element("question");
    element("question-text").textContent = text;
    element("question-yes").textContent = word;
    dialog.returnValue = "no";
    dialog.onclose = () => {
      if (dialog.returnValue === "yes") this.start(fields, next);
    };
    dialog.showModal();
  }

  /** Asks whether to undo or redo, and says what. */
  async askStep(command) {
    const word = command === "undo" ? "Undo" : "Redo";
    const { pending } = command === "undo" ? await get("status") : {};
    const { change } = await get("undo", { redo: command === "redo" ? 1 : null });
    const unsaved = pending && pendingText(pending);
    let what;
    if (unsaved) {
      what = `the changes that are in no version yet: ${unsaved}`;
    } else if (change) {
      const title = headline(change) === change.changes ? change.changes : `${headline(change)} (${change.changes})`;
      const time = new Date(change.time).toLocaleTimeString();
      what = [title, maker(change), `${day(change.time)}, ${time}`].filter((part) => part).join("; ");
    }
    if (what) this.ask(`${word}: ${what}. ${command === "undo" ? "Redo makes it again." : ""}`, word, { command });
    else this.start({ command });
  }

  fail(error) {
    this.say(error.message ?? String(error), true);
  }

  say(text, isFailure = false) {
    const notice = element("notice");
    show(notice, h("span", null, text),
      h("button", { type: "button", class: "plain", "aria-label": "Close the message", onclick: () => { notice.hidden = true; } }, "×"));
    notice.classList.toggle("failed", isFailure);
    notice.hidden = false;
    clearTimeout(this.timeout);
    if (!isFailure) this.timeout = setTimeout(() => { notice.hidden = true; }, 8000);
  }


  async poll() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    if (this.isPolling) {
      this.isDue = true;
      return;
    }
    this.isPolling = true;
    let pause = 2000;
    try {
      const state = await get("state");
      const before = this.state;
      this.state = state;
      if (state.running) pause = 300;
      this.tell();
      await this.note(before, state);
      this.isLost = false;
    } catch (error) {
      if (!this.isLost) this.fail(error);
      this.isLost = true;
      pause = 5000;
    }
    this.isPolling = false;
    if (this.isDue) pause = 0;
    this.isDue = false;
    this.timer = setTimeout(() => this.poll(), pause);
  }

  tell() {
    const { running, conflicts } = this.state;
    const count = element("conflict-count");
    count.hidden = !conflicts;
    show(count, String(conflicts), h("span", { class: "hidden" }, " open"));
    element("task").hidden = !running;
    if (!running) return;
    const bar = element("task-bar");
    const steps = running.steps ? ` ${running.steps}` : "";
    element("task-text").textContent = `${running.title}: ${running.what || "under way"}${steps}, ${running.seconds} s`;
    if (running.total) {
      bar.max = running.total;
      bar.value = running.done;
    } else {
      bar.removeAttribute("value");
    }
  }

  async note(before, state) {
    const { ended } = state;
    const isNew = ended && ended.id > this.last;
    if (isNew) {
      this.last = ended.id;
      const text = ended.reply.text ?? ended.reply.message ?? "";
      this.say(`${ended.title}: ${text}`, !ended.isDone);
      announce(`${ended.title} ${ended.isDone ? "is done" : "failed"}`);
      if (ended.isDone && this.next?.id === ended.id) {
        if (location.hash === this.next.place) await this.route(false);
        else location.hash = this.next.place;
      }
      this.next = null;
    }
    if (before.newest !== state.newest || before.head !== state.head) {
      await this.versions.refresh();
      // Views of the head, and of what is open, change with it; a text that somebody types stays.
      if (this.view === "conflicts" || (this.view === "files" && /^#\/files\/head\//.test(location.hash))) await this.route(false);
      if (this.view.startsWith("version")) await this.versions.open(this.versions.name);
    }
    if (this.view === "sync" && (isNew || state.running || before.newest !== state.newest)) await this.sync.refresh();
  }
}

const page = new Page();
page.begin().catch((error) => show(main, failure(error)));
