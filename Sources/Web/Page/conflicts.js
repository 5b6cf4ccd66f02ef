// The open conflicts, and one of them with its sides beside each other.

import { count, decoded, encoded, h, maker, named, size, time } from "./elements.js";
import { address, get } from "./server.js";
import { pictures, table } from "./difference.js";

/** The view of all open conflicts. */
export async function conflictsView() {
  const answer = await get("conflicts");
  return h("section", null,
    h("h2", { tabindex: "-1" }, answer.count ? `${answer.count} to settle` : "No conflicts"),
    answer.count
      ? h("p", null, "Both sides changed these files. The version of one side is in the tree; the other is kept until somebody settles.")
      : h("p", null, "Nothing was changed on two sides at once, or all of it is settled."),
    h("ul", { class: "cards" }, answer.conflicts.map((conflict) => h("li", null,
      h("a", { href: `#/conflict/theirs/${encoded(conflict.path, conflict.pathBase64)}` }, conflict.path),
      picture(conflict),
      [["kept", conflict.kept], ...conflict.dropped.map((side) => ["dropped", side])].map(([word, side]) => side
        && h("div", { class: "small" }, `${word}: `, maker(side) ? `${maker(side)}, ` : "", time(side.time),
          side.isRemoval ? " (removed it)" : ""))))),
    answer.count > answer.conflicts.length
      ? h("p", { class: "hint" }, `Only ${answer.conflicts.length} are listed.`) : null);
}

/** A small picture of the kept side, if its name is that of a picture. */
function picture({ path, pathBase64, kept }) {
  if (!/\.(png|jpe?g|gif|webp|svg)$/i.test(path) || kept?.isRemoval) return null;
  return h("img", { class: "small-picture", alt: `The picture ${path}`,
    src: address("side", { side: "ours", p: encoded(path, pathBase64) }) });
}

function title(name) {
  if (name === "ours") return "ours (in the tree)";
  if (name === "base") return "base (before both)";
  return name;
}

/** The view of one conflict: `against` is the dropped side that is compared with what was kept. */
export async function conflictView(page, path, against) {
  const answer = await get("conflict", { p: path, against });
  const shown = decoded(path);
  const settle = (side, words) => page.ask(`Settle ${shown} with ${words}? Undo opens it again.`, "Settle",
    { command: "settle", path, side, seen: answer.seen }, "#/conflicts");
  const verbs = { ours: "Keep ours", base: "Take base" };
  const sides = answer.sides.map((side) => h("li", { class: side.name === against ? "chosen" : "" },
    h("h3", null, title(side.name)),
    side.isThere
      ? h("p", { class: "small" }, size(side.size)) : h("p", null, side.name === "base" ? "not there" : "removed it"),
    side.version ? h("p", { class: "small" }, maker(side) ? `${maker(side)}, ` : "", time(side.time), " ",
      h("a", { href: `#/version/${encodeURIComponent(side.version)}` }, named(side.version))) : null,
    h("p", { class: "buttons" },
      page.isReadOnly ? null : h("button", {
        type: "button", class: side.name === "ours" ? "primary" : "",
        onclick: () => settle(side.name, title(side.name)),
      }, verbs[side.name] ?? `Take ${side.name}`),
      side.isThere
        ? h("a", { class: "button", target: "_blank", href: address("side", { side: side.name, p: path }) }, "Show") : null,
      side.name.startsWith("theirs") && side.name !== against
        ? h("a", { class: "button", href: `#/conflict/${side.name}/${path}` }, "Compare") : null)));
  const { difference } = answer;
  const titles = ["ours", against].map((name) => [
    title(name), maker(answer.sides.find((side) => side.name === name))].filter((part) => part).join(": "));
  let body;
  if (difference.outcome === "text" && !difference.isCut) {
    body = merging(page, answer, path, titles);
  } else if (difference.outcome === "same") {
    body = h("p", null, "Both sides have the same contents.");
  } else {
    body = [[difference.old, difference.new].some((side) => side?.type === "image") ? null
      : h("p", null, "These are no texts, or too long to compare by line."),
      pictures(difference, titles, ["ours", against].map((side) => address("side", { side, p: path })))];
  }
  return h("section", { class: "wide" },
    h("h2", { tabindex: "-1" }, shown), h("ul", { class: "sides" }, sides), body);
}

/** Texts beside each other with a choice at each change, and the text that comes of it. */
function merging(page, answer, path, titles) {
  const { difference, against } = answer;
  const other = (number, name) => (number
    ? `${number} other ${number === 1 ? "line" : "lines"} that only `
      + `${maker(answer.sides.find((side) => side.name === name)) || name} changed`
    : null);
  const lines = [other(answer.others, "ours"), other(answer.theirOthers, against)].filter((part) => part);
  const number = difference.parts.filter((part) => part.kind === "change").length;
  const others = h("p", { class: "hint" }, count(number, "clash", "clashes"),
    lines.length ? [". ", lines.join(", "), ": kept with either side."] : null);
  if (page.isReadOnly || !answer.isText) return [others, table(difference, titles, null, true)];
  const choices = new Map();
  const end = endsWithNewline(answer, "ours");
  const field = h("textarea", { rows: "12", spellcheck: "false", id: "merged", "aria-describedby": "merged-hint" });
  let isEdited = false;
  field.addEventListener("input", () => { isEdited = true; });

  function make() {
    const lines = difference.parts.flatMap((part, index) => {
      if (part.kind === "same") return part.old;
      const choice = choices.get(index) ?? "ours";
      if (choice === "both") return [...part.old, ...part.new];
      return choice === "ours" ? part.old : part.new;
    });
    field.value = lines.length ? lines.join("\n") + (end ? "\n" : "") : "";
    isEdited = false;
  }

  const clashes = [];
  // The clash that had the focus last.
  let at = -1;
  const beside = (part, index) => {
    const number = clashes.length;
    const sides = ["ours", against, "both"].map((side) => h("label", null,
      h("input", {
        type: "radio", name: `change-${index}`, value: side, checked: side === "ours",
        onchange: () => {
          choices.set(index, side);
          if (!isEdited || confirm("Replace what you typed below?")) make();
        },
      }), ` ${side}`));
    clashes.push(h("fieldset", { onfocusin: () => { at = number; } },
      h("legend", null, "Both changed this: take"), sides));
    return clashes[number];
  };
  const rows = table(difference, titles, beside, true);
  make();
  const jump = (target, middle = target) => {
    target.focus({ preventScroll: true });
    middle.scrollIntoView({ block: "center" });
  };
  const next = () => {
    const clash = clashes[(at + 1) % clashes.length];
    jump(clash.querySelector("input:checked"), clash);
  };
  return [
    others,
    h("p", { class: "buttons jumps" },
      clashes.length > 1 ? h("button", { type: "button", onclick: next }, "Next clash") : null,
      h("button", { type: "button", onclick: () => jump(field) }, "To the text that settles it")),
    rows,
    h("h3", null, h("label", { for: "merged" }, "The text that settles it")),
    h("p", { class: "hint", id: "merged-hint" }, "Choose above, or type here."),
    field,
    h("p", { class: "buttons" }, h("button", {
      type: "button", class: "primary",
      onclick: () => page.ask(`Settle ${decoded(path)} with this text? Undo opens it again.`, "Settle",
        { command: "settle-text", path, text: field.value, seen: answer.seen }, "#/conflicts"),
    }, "Settle with this text")),
  ];
}

function endsWithNewline(answer, name) {
  const side = answer.sides.find((one) => one.name === name);
  return !side?.text || side.text.endsWith("\n");
}
