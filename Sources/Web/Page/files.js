// The tree of a version, a file in it, and the versions of a file.

import { basename, decoded, encoded, failure, h, headline, maker, named, seconds, short, show, size, time } from "./elements.js";
import { address, bytes, get } from "./server.js";

function crumbs(version, path) {
  const link = encodeURIComponent(version);
  const parts = path ? path.split("/") : [];
  return h("nav", { class: "crumbs", "aria-label": "Path" },
    h("a", { href: `#/files/${link}/`, title: version }, short(version)),
    parts.map((part, index) => [" / ", index === parts.length - 1
      ? h("span", { "aria-current": "page" }, decoded(part))
      : h("a", { href: `#/files/${link}/${parts.slice(0, index + 1).join("/")}` }, decoded(part))]));
}

/** The view of a directory or file of a version. */
export async function filesView(page, version, path) {
  let file;
  try {
    file = await get("file", { v: version, p: path });
  } catch (error) {
    return h("section", null, h("h2", { tabindex: "-1", class: "hidden" }, decoded(path)),
      crumbs(version, path), failure(error));
  }
  if (file.kind === "directory") return directory(page, version, path);
  return fileView(page, version, path, file);
}

async function directory(page, version, path) {
  const answer = await get("tree", { v: version, p: path });
  const link = encodeURIComponent(version);
  const rows = answer.names.map((item) => {
    const name = encoded(item.name, item.nameBase64);
    const place = path ? `${path}/${name}` : name;
    const isDirectory = item.kind === "directory";
    return h("tr", null,
      h("td", null, h("a", { href: `#/files/${link}/${place}`, class: isDirectory ? "directory" : "" },
        item.name + (isDirectory ? "/" : ""))),
      h("td", { class: "right" }, size(item.size)),
      h("td", null, item.modified === null ? "" : seconds(item.modified)));
  });
  return h("section", null,
    h("h2", { tabindex: "-1", class: "hidden" }, path ? decoded(path) : `Files of ${version}`),
    crumbs(version, path),
    actions(page, version, path, answer.version, null),
    rows.length
      ? h("table", { class: "names" },
        h("caption", { class: "hidden" }, "Names in this directory"),
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Name"),
          h("th", { scope: "col", class: "right" }, "Size"), h("th", { scope: "col" }, "Modified"))),
        h("tbody", null, rows))
      : h("p", null, "There is nothing here."),
    answer.isWhole ? null : h("p", { class: "hint" }, `Only ${rows.length} names are listed.`));
}

function actions(page, version, path, name, file) {
  const link = encodeURIComponent(version);
  const shown = path ? decoded(path) : "";
  return h("p", { class: "buttons" },
    h("a", { class: "button", href: `#/version/${encodeURIComponent(name)}`, title: name }, "Its version"),
    file ? h("a", { class: "button", href: `#/history/${link}/${path}` }, "History") : null,
    file ? h("a", { class: "button", href: address("raw", { v: version, p: path }),
      download: decoded(basename(path)) }, "Download") : null,
    page.isReadOnly || !path || version === "head" ? null : h("button", {
      type: "button",
      onclick: () => page.ask(`Make a new version in which ${shown} is as in ${short(name)}? Undo goes back.`,
        "Restore", { command: "restore", version: name, path }),
    }, file ? "Restore this file" : "Restore this directory"));
}

async function fileView(page, version, path, file) {
  return h("section", { class: "wide" },
    h("h2", { tabindex: "-1", class: "hidden" }, decoded(path)),
    crumbs(version, path),
    actions(page, version, path, file.version, file),
    h("p", { class: "small" }, size(file.size), parseInt(file.mode, 8) & 0o111 ? ", executable" : null,
      file.modified === null ? null : [", ", seconds(file.modified)]),
    content(file, "raw", { v: version, p: path }, decoded(path)));
}

/** What a value is: a picture, a text, or bytes. */
export function content(file, place, parameters, name) {
  if (file.kind === "link") return h("p", null, "A link to ", h("code", null, file.text ?? ""));
  if (file.kind === "special") return h("p", null, "This is no file with contents.");
  const parts = [];
  if (file.type === "image") {
    parts.push(h("img", { class: "picture", src: address(place, parameters), alt: `The picture ${name}` }));
  }
  if (file.text !== undefined) {
    parts.push(text(file));
    if (!file.isWhole) parts.push(h("p", { class: "hint" }, "Only the beginning is shown."));
    if (file.isUTF8 === false) parts.push(h("p", { class: "hint" }, "Some bytes are not UTF-8."));
  } else if (file.type !== "image") {
    parts.push(hexadecimal(file, place, parameters));
  }
  return h("div", null, parts);
}

function text(file) {
  if (file.text === "") return h("p", null, "The file is empty.");
  const lines = file.text.split("\n");
  const count = lines[lines.length - 1] === "" ? lines.length - 1 : lines.length;
  const numbers = Array.from({ length: count }, (_, index) => index + 1).join("\n");
  return h("div", { class: "code", tabindex: "0", role: "region", "aria-label": "Text" },
    h("pre", { class: "numbers", "aria-hidden": "true" }, numbers), h("pre", null, file.text));
}

const pieceSize = 2048;

/** Bytes as hexadecimal digits and characters, piece by piece. */
function hexadecimal(file, place, parameters) {
  const body = h("pre", { class: "hex", tabindex: "0", "aria-label": "Bytes" });
  const label = h("span", { class: "small" });
  const earlier = h("button", { type: "button", onclick: () => load(offset - pieceSize) }, "Earlier");
  const later = h("button", { type: "button", onclick: () => load(offset + pieceSize) }, "Later");
  let offset = 0;

  async function load(place_) {
    offset = Math.max(0, place_);
    earlier.disabled = offset === 0;
    later.disabled = offset + pieceSize >= file.size;
    label.textContent = ` ${offset} to ${Math.min(file.size, offset + pieceSize)} of ${file.size} bytes `;
    try {
      const piece = await bytes(place, parameters, offset, pieceSize);
      const lines = [];
      for (let at = 0; at < piece.length; at += 16) {
        const part = [...piece.slice(at, at + 16)];
        const digits = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
        const characters = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
        lines.push(`${(offset + at).toString(16).padStart(8, "0")}  ${digits.padEnd(47)}  ${characters}`);
      }
      body.textContent = lines.join("\n");
    } catch (error) {
      show(body, failure(error));
    }
  }

  if (file.size > 0) load(0);
  return h("div", null, h("p", { class: "buttons" }, earlier, later, label), body);
}

/** The view of the versions of a file. */
export async function historyView(page, version, path) {
  const answer = await get("history", { v: version, p: path });
  const shown = decoded(path);
  let [older, newer] = [1, 0];
  const compare = h("button", {
    type: "button",
    onclick: () => {
      const [a, b] = [answer.revisions[older].name, answer.revisions[newer].name];
      location.hash = `#/difference/${encodeURIComponent(a)}/${encodeURIComponent(b)}/${path}`;
    },
  }, "Compare the two chosen");
  compare.disabled = answer.revisions.length < 2;
  const rows = answer.revisions.map((revision, index) => {
    const link = encodeURIComponent(revision.name);
    const choice = (group, isChosen, choose) => h("td", { role: "cell" }, h("input", {
      type: "radio", name: group, checked: isChosen,
      "aria-label": `${short(revision.name)} as the ${group} one`, onchange: choose,
    }));
    // The roles stay where a narrow page shows rows as blocks.
    return h("tr", { role: "row" },
      choice("older", index === older, () => { older = index; }),
      choice("newer", index === newer, () => { newer = index; }),
      h("td", { role: "cell" }, h("a", { href: `#/version/${link}` }, headline(revision)),
        h("div", { class: "small" }, named(revision.name), " ", maker(revision))),
      h("td", { role: "cell" }, time(revision.time)),
      h("td", { role: "cell", class: "right" }, revision.size === null ? "removed" : size(revision.size)),
      h("td", { role: "cell", class: "buttons" },
        revision.size === null ? null : h("a", { href: `#/files/${link}/${path}` }, "Show"),
        " ", h("a", { href: `#/difference/-/${link}/${path}` }, "Changes"),
        page.isReadOnly || revision.size === null ? null : [" ", h("button", {
          type: "button", class: "plain",
          onclick: () => page.ask(
            `Make a new version in which ${shown} is as in ${short(revision.name)}? Undo goes back.`,
            "Restore", { command: "restore", version: revision.name, path }),
        }, "Restore")]));
  });
  return h("section", null,
    h("h2", { tabindex: "-1" }, `History of ${shown}`),
    rows.length
      ? [h("p", { class: "buttons" }, compare),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Versions of the file" },
          h("table", { class: "names revisions", role: "table" },
            h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
              ["Older", "Newer", "Version", "Time", "Size", ""].map((word) => h("th",
                { role: "columnheader", scope: "col", class: word === "Size" ? "right" : "" }, word)))),
            h("tbody", { role: "rowgroup" }, rows)))]
      : h("p", null, "No version has changed this file."),
    answer.isWhole ? null : h("p", { class: "hint" }, `Only the newest ${rows.length} are listed.`));
}
