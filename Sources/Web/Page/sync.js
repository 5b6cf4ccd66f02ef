// Peers, what is in no version yet, and what happens now.

import { failure, h, localLine, show, time } from "./elements.js";
import { get } from "./server.js";

function peer(one) {
  const facts = [];
  if (one.failed !== null) facts.push([h("strong", { class: "failure" }, "failed "), time(one.failed), `: ${one.message}`]);
  const versions = (count) => `${count} ${count === 1 ? "version" : "versions"}`;
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

  /** Reads everything again. */
  async refresh() {
    try {
      const [status, log] = await Promise.all([get("status"), get("log")]);
      const { pending } = status;
      const count = pending.changed + pending.new + pending.removed;
      show(this.status,
        h("p", null, count
          ? `In no version yet: ${pending.changed} changed, ${pending.new} new, ${pending.removed} removed.`
          : "Everything is in a version.",
          status.toMerge ? ` ${status.toMerge} other ${status.toMerge === 1 ? "head" : "heads"} to merge.` : ""),
        h("h3", null, "Peers"),
        status.peers.length
          ? h("ul", { class: "cards" }, status.peers.map(peer))
          : h("p", null, "There are none: ", h("code", null, "llvs peer NAME ADDRESS"), " adds one."));
      const isAtEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
      this.log.textContent = log.lines.map(localLine).join("\n");
      if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
    } catch (error) {
      show(this.status, failure(error));
    }
  }
}
