// What takes room in the store: by use, by path and by month, as "llvs space" tells it.

import { count, h, size, svg } from "./elements.js";
import { get } from "./server.js";

/** A bar of parts one after another, each with a class; `most` is the length of the longest bar. */
function bar(parts, most) {
  let start = 0;
  const pieces = [];
  for (const [bytes, kind] of parts) {
    const width = most > 0 ? (100 * bytes) / most : 0;
    pieces.push(svg("rect", { x: `${start}%`, y: 0, width: `${width}%`, height: "100%", class: kind }));
    start += width;
  }
  return svg("svg", { class: "bar", "aria-hidden": "true" }, pieces);
}

/** A table whose rows have a bar; a row is its name, its parts, and further texts. */
function table(heading, columns, rows) {
  const most = Math.max(0, ...rows.map(({ parts }) => parts.reduce((sum, [bytes]) => sum + bytes, 0)));
  return [
    h("h3", null, heading),
    h("table", { class: "space" },
      h("thead", null, h("tr", null, ["", "", ...columns].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, rows.map(({ name, parts, texts }) => h("tr", null,
        h("th", { scope: "row" }, name), h("td", { class: "wide" }, bar(parts, most)),
        texts.map((text) => h("td", null, text)))))),
  ];
}

/** The view of space. */
export async function spaceView() {
  const report = await get("space");
  const hasGone = report.forgottenVersions > 0;
  const kept = (one) => one.historyBytes - one.forgottenBytes;
  const more = report.pathCount - report.paths.length;
  return h("section", null,
    h("h2", { tabindex: "-1" }, "Space"),
    h("p", null, `${size(report.bytes)} on disk for ${count(report.versions, "version")}, whose files are `
      + `${size(report.contentBytes)} whole: each content once, before compression and sharing. `,
    hasGone ? `${count(report.forgottenVersions, "version")} forgotten${report.forgottenBytes ? `, which had ${size(report.forgottenBytes)} on disk` : ""}.` : null),
    table("On disk", ["bytes"], report.parts.map((part) => (
      { name: part.meaning, parts: [[part.bytes, "kept"]], texts: [size(part.bytes)] }))),
    table(`Files whole: in all versions, ${hasGone ? "forgotten of these, " : ""}and in head`,
      ["all versions", hasGone ? "forgotten" : null, "head"].filter((text) => text),
      report.paths.map((one) => ({
        name: one.directory
          ? `${one.path}/`
          : h("a", { href: `#/history/head/${one.path.split("/").map(encodeURIComponent).join("/")}` }, one.path),
        parts: [[kept(one), "kept"], [one.forgottenBytes, "gone"]],
        texts: [size(one.historyBytes), hasGone ? size(one.forgottenBytes) : null, size(one.headBytes)]
          .filter((text) => text !== null),
      }))),
    more > 0 ? h("p", { class: "small" }, `... and ${more.toLocaleString()} more`) : null,
    table("On disk, what versions brought and is still there, by month", ["bytes", "versions"],
      report.months.map((month) => ({
        name: month.month,
        parts: [[month.bytes, "kept"]],
        texts: [size(month.bytes), count(month.versions, "version")
          + (month.forgottenVersions ? `, ${month.forgottenVersions} of them forgotten` : "")],
      }))));
}
