// Draws the graph beside the rows of the list that are to be seen.

import { svg } from "./elements.js";

export const laneWidth = 16;
const colours = 7;

/** The width of a drawing of so many lanes. */
export function graphWidth(lanes) {
  return lanes * laneWidth + 10;
}

/** The lanes that rows need, at least one and at most `limit`. */
export function lanesOf(rows, limit) {
  let lanes = 1;
  for (const row of rows) {
    if (!row) continue;
    lanes = Math.max(lanes, row.lane + 1);
    for (const [from, to] of row.edges) lanes = Math.max(lanes, from + 1, to + 1);
  }
  return Math.min(lanes, limit);
}

/**
 * The drawing of rows, one of them null where it is not loaded. Lines and versions beyond the last
 * lane are left out, and a mark at the edge says so.
 */
export function graph(rows, rowHeight, lanes) {
  const x = (lane) => 13 + lane * laneWidth;
  const y = (index) => index * rowHeight + rowHeight / 2;
  const lines = [];
  const marks = [];
  rows.forEach((row, index) => {
    if (!row) return;
    for (const [from, to] of row.edges) {
      if (from >= lanes || to >= lanes) continue;
      const lane = Math.max(from, to);
      const bend = rowHeight * 0.6;
      const path = from === to
        ? `M${x(from)} ${y(index)}V${y(index + 1)}`
        : `M${x(from)} ${y(index)}C${x(from)} ${y(index) + bend} ${x(to)} ${y(index + 1) - bend} ${x(to)} ${y(index + 1)}`;
      lines.push(svg("path", { d: path, class: `lane lane${lane % colours}` }));
    }
    if (row.lane >= lanes) {
      marks.push(svg("text", { x: x(lanes - 1) - 2, y: y(index) + 4, class: "beyond" }, "…"));
      return;
    }
    const shape = row.isMerge
      ? svg("circle", { cx: x(row.lane), cy: y(index), r: 4, class: `node merge lane${row.lane % colours}` })
      : svg("circle", { cx: x(row.lane), cy: y(index), r: 5, class: `node lane${row.lane % colours}` });
    if (row.isHead) {
      marks.push(svg("circle", { cx: x(row.lane), cy: y(index), r: 8.5, class: "ring" }));
    }
    marks.push(shape);
  });
  return svg(
    "svg",
    { "aria-hidden": "true", class: "graph", width: graphWidth(lanes), height: rows.length * rowHeight },
    lines, marks,
  );
}
