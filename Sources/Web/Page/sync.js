// Peers, what is in no version yet, and what happens now.

import { count, failure, h, localLine, pendingText, show, time } from "./elements.js";
import { get } from "./server.js";
import { words } from "./versions.js";

// The most names shown of what is in no version; of very many none are read.
const mostPaths = 12;
const mostRead = 1000;

function peer(one) {
  const facts = [];
  if (one.failed !== null) facts.push([h("strong", { class: "failure" }, "failed "), time(one.failed), `: ${one.message}`]);
  const versions = (number) => count(number, "version");
  if (one.refused) facts.push(`${one.refused} refused: ${one.refusal}`);
  if (one.waiting) facts.push(`INCOMPLETE there: ${versions(one.waiting)}`);
  if (one.toSend) facts.push(`${versions(one.toSend)} to send`);
  if (one.lastOK === null) facts.push("never synced");
  else facts.push([facts.length ? "last synced " : "up to date, checked ", time(one.lastOK)]);
  return h("li", null, h("strong", null, one.name), " ", h("code", null, one.address),
    h("div", { class: "small" }, facts.map((fact, index) => [index ? "; " : "", fact])));
}

/** The view of exchanges. */
export class SyncView {
  constructor(page) {
    this.page = page;
    this.status = h("div");
    this.log = h("pre", { class: "log", tabindex: "0", role: "log", "aria-label": "What happened", "aria-live": "off" });
    const message = h("input", { type: "text", id: "message", autocomplete: "off" });
    const start = (fields) => page.start(fields);
    this.element = h("section", null,
      h("h2", { tabindex: "-1" }, "Sync"),
      page.isReadOnly ? null : h("p", { class: "buttons" },
        h("button", { type: "button", class: "primary", onclick: () => start({ command: "sync" }) }, "Sync with all peers"),
        h("button", { type: "button", onclick: () => start({ command: "merge" }) }, "Merge other heads")),
      page.isReadOnly ? null : h("form", {
        class: "buttons",
        onsubmit: (event) => {
          event.preventDefault();
          start({ command: "commit", message: message.value || null });
          message.value = "";
        },
      }, h("label", { for: "message" }, "Message"), message, h("button", { type: "submit" }, "Make a version")),
      this.status,
      h("h3", null, "What happened"), this.log);
  }

  /** Reads everything for a view that was out of the page. */
  open() {
    this.isOpened = true;
    return this.refresh();
  }

  /** Reads everything again. */
  async refresh() {
    try {
      const [status, log] = await Promise.all([get("status"), get("log")]);
      const { pending } = status;
      const text = pendingText(pending);
      const total = pending.changed + pending.new + pending.removed;
      const { pending: paths } = total && total <= mostRead
        ? await get("pending").catch(() => ({ pending: [] })) : { pending: [] };
      show(this.status,
        h("p", null, text ? `In no version yet: ${text}.` : "Everything is in a version.",
          status.toMerge ? ` ${count(status.toMerge, "other head")} to merge.` : ""),
        status.mergeWait ? h("p", { class: "hint" }, `Waiting: ${status.mergeWait.text}.`) : null,
        h("ul", { class: "changes" }, paths.slice(0, mostPaths).map((line) => h("li", null,
          h("span", { class: `change change-${words[line[0]]}` }, words[line[0]]), line.slice(2)))),
        paths.length > mostPaths ? h("p", { class: "hint" }, `And ${paths.length - mostPaths} more.`) : null,
        h("h3", null, "Peers"),
        status.peers.length
          ? h("ul", { class: "cards" }, status.peers.map(peer))
          : h("p", null, "There are none: ", h("code", null, "llvs peer NAME ADDRESS"), " adds one."));
      // The scroll position of an element is lost while it is out of the page.
      const isAtEnd = this.isOpened || this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
      this.log.textContent = log.lines.map(localLine).join("\n");
      if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
      if (this.log.isConnected) this.isOpened = false;
    } catch (error) {
      show(this.status, failure(error));
    }
  }
}
