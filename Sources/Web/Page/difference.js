// Shows how a file differs between two versions: lines side by side, or below each other where the
// page is narrow; pictures beside each other.

import { decoded, failure, h, short, show, size } from "./elements.js";
import { address, get } from "./server.js";

/** The parts at which two lines are equal at their beginning and end. */
function marked(line, other, kind) {
  if (other === undefined) return [line];
  let start = 0;
  const shortest = Math.min(line.length, other.length);
  while (start < shortest && line[start] === other[start]) start += 1;
  let end = 0;
  while (end < shortest - start && line[line.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const middle = line.slice(start, line.length - end);
  // Lines that share next to nothing are not marked inside.
  if (!middle || start + end < shortest * 0.3) return [line];
  return [line.slice(0, start), h("mark", { class: kind }, middle), line.slice(line.length - end)];
}

const changeWords = { old: "removed: ", new: "added: " };
const sideWords = { old: "ours: ", new: "theirs: " };

function cells(number, text, kind, other, words) {
  if (text === undefined) {
    return [h("td", { class: "number empty" }), h("td", { class: "text empty" })];
  }
  const word = words?.[kind];
  return [
    h("td", { class: `number ${kind}` }, String(number)),
    h("td", { class: `text ${kind}` }, word ? h("span", { class: "hidden" }, word) : null,
      word ? marked(text, other, kind) : text),
  ];
}

/** Rows of a table of two columns of lines. */
function wideRows(parts, beside, words, isFolded) {
  return parts.flatMap((part, index) => {
    if (part.kind === "gap") return [gap(part.count, 4)];
    if (part.kind === "same") {
      return equal(parts, index, 4, isFolded, (line, offset) => h("tr", null,
        cells(part.oldLine + offset, line, "same"), cells(part.newLine + offset, line, "same")));
    }
    const rows = [];
    if (beside) rows.push(h("tr", null, h("td", { colspan: "4", class: "choice" }, beside(part, index))));
    for (let offset = 0; offset < Math.max(part.old.length, part.new.length); offset += 1) {
      const [a, b] = [part.old[offset], part.new[offset]];
      rows.push(h("tr", null,
        cells(part.oldLine + offset, a, "old", b, words), cells(part.newLine + offset, b, "new", a, words)));
    }
    return rows;
  });
}

/** Rows of a table of one column of lines. */
function narrowRows(parts, beside, words, isFolded) {
  return parts.flatMap((part, index) => {
    if (part.kind === "gap") return [gap(part.count, 2)];
    if (part.kind === "same") {
      return equal(parts, index, 2, isFolded,
        (line, offset) => h("tr", null, cells(part.newLine + offset, line, "same")));
    }
    return [
      beside ? h("tr", null, h("td", { colspan: "2", class: "choice" }, beside(part, index))) : null,
      ...part.old.map((line, offset) => h("tr", null,
        cells(part.oldLine + offset, line, "old", part.new[offset], words))),
      ...part.new.map((line, offset) => h("tr", null,
        cells(part.newLine + offset, line, "new", part.old[offset], words))),
    ].filter((row) => row);
  });
}

function gap(count, columns, open) {
  const text = `${count} lines are equal`;
  return h("tr", { class: "gap" }, h("td", { colspan: String(columns) },
    open ? h("button", { type: "button", class: "plain", onclick: open }, `${text}: show them`) : text));
}

// Of more equal lines only those next to a change are shown at first.
const mostEqual = 12;
const nearLines = 4;

/** Rows of equal lines; of many, those next to a change, and a button for the others. */
function equal(parts, index, columns, isFolded, row) {
  const { old } = parts[index];
  const rows = (from, to) => old.slice(from, to).map((line, offset) => row(line, from + offset));
  if (!isFolded || old.length <= mostEqual || parts.length === 1) return rows(0, old.length);
  const start = index ? nearLines : 0;
  const end = old.length - (index < parts.length - 1 ? nearLines : 0);
  const fold = gap(end - start, columns, () => {
    const opened = rows(start, end);
    fold.replaceWith(...opened);
    // The button had the focus.
    opened[0].tabIndex = -1;
    opened[0].focus({ preventScroll: true });
  });
  return [...rows(0, start), fold, ...rows(end, old.length)];
}

/**
 * A difference of texts as a table. `beside` makes what stands above each change, for example a
 * choice of sides. With `isNeutral` neither side is shown as removed or added, and runs of equal
 * lines are folded.
 */
export function table(difference, titles, beside, isNeutral) {
  const isNarrow = matchMedia("(max-width: 700px)").matches;
  const head = isNarrow
    ? h("tr", null, h("th", { colspan: "2", scope: "colgroup" }, isNeutral ? `${titles[0]} (◂), ${titles[1]} (▸)` : `${titles[0]} (−), ${titles[1]} (+)`))
    : h("tr", null, titles.map((title) => h("th", { colspan: "2", scope: "colgroup" }, title)));
  return h("table", { class: `difference${isNarrow ? " narrow" : ""}${isNeutral ? " neutral" : ""}` },
    h("caption", { class: "hidden" }, `Lines of ${titles[0]} and ${titles[1]}`),
    h("colgroup", null, (isNarrow ? titles.slice(1) : titles).map(() => [
      h("col", { class: "number" }), h("col", { class: "text" })])),
    h("thead", null, head),
    h("tbody", null, (isNarrow ? narrowRows : wideRows)(
      difference.parts, beside, isNeutral ? sideWords : changeWords, isNeutral)));
}

const isPicture = (side) => side?.type === "image";

/** Two values that are no texts, next to each other; two pictures also one over the other. */
export function pictures(difference, titles, sources) {
  const sides = [difference.old, difference.new];
  const picture = (index, properties) => h("img",
    { src: sources[index], alt: `The picture in ${titles[index]}`, ...properties });
  const sizes = [];
  const pair = h("div", { class: "pair" }, sides.map((side, index) => {
    const caption = h("figcaption", null, side ? `${titles[index]}, ${size(side.size)}` : `${titles[index]}: not there`);
    const note = ({ target }) => {
      sizes[index] = `${target.naturalWidth} × ${target.naturalHeight}`;
      caption.append(`, ${sizes[index]}`);
      // Pictures of two sizes do not fit over each other.
      slider.hidden = !(sizes[0] && sizes[0] === sizes[1]);
    };
    return h("figure", null, caption, isPicture(side) ? picture(index, { onload: note }) : null);
  }));
  const slider = h("div", { class: "slider", hidden: true });
  if (!sides.every(isPicture)) return pair;
  const over = picture(1);
  const range = h("input", {
    type: "range", min: "0", max: "100", value: 50, "aria-label": `Part of ${titles[0]} that is shown`,
    oninput: () => place(),
  });
  const place = () => { over.style.clipPath = `inset(0 0 0 ${range.value}%)`; };
  place();
  slider.append(h("h3", null, "One over the other"),
    h("p", { class: "ends small" }, h("span", null, titles[0]), h("span", null, titles[1])),
    range, h("div", { class: "over" }, picture(0), over));
  return [pair, slider];
}

/** The view of what differs in one file. */
export async function differenceView(before, after, path, from) {
  const body = h("div");
  const whole = h("input", { type: "checkbox", id: "whole", onchange: () => load() });
  const choice = h("label", { for: "whole" }, whole, " all lines");
  const title = h("h2", { tabindex: "-1" }, decoded(path));

  async function load() {
    try {
      const answer = await get("difference", {
        a: before, v: after, p: path, from_path: from, whole: whole.checked ? 1 : null,
      });
      const titles = [short(answer.before) ?? "nothing", short(answer.after)];
      const hasPicture = [answer.old, answer.new].some(isPicture);
      choice.hidden = hasPicture && answer.outcome !== "text";
      if (answer.outcome === "same") {
        show(body, h("p", null, "The contents are equal."));
      } else if (answer.outcome === "binary" || hasPicture) {
        show(body,
          hasPicture ? null : h("p", null, "This is no text, or too long to compare by line."),
          pictures(answer, titles, [
            address("raw", { v: answer.before, p: from ?? path }), address("raw", { v: after, p: path })]),
          answer.outcome === "text" ? table(answer, titles) : null);
      } else {
        show(body, table(answer, titles),
          answer.isCut ? h("p", { class: "hint" }, "The text is longer; not all of it is shown.") : null);
      }
    } catch (error) {
      show(body, failure(error));
    }
  }

  await load();
  const link = encodeURIComponent(after);
  return h("section", { class: "wide" }, title,
    h("p", { class: "buttons" },
      h("a", { class: "button", href: `#/files/${link}/${path}` }, "The file"),
      h("a", { class: "button", href: `#/history/${link}/${path}` }, "Its history"),
      choice),
    body);
}
