// Makes elements. Nothing here takes markup: whatever a store holds becomes text and stays text.

/** Makes an element. Properties that begin with "on" are listeners; null children are left out. */
export function h(name, properties, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** Makes an element of SVG. */
export function svg(name, properties, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "indeterminate") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** Replaces everything in an element. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child));
}

const format = (style) => new Intl.DateTimeFormat(undefined, style);
const shown = format({ dateStyle: "medium", timeStyle: "medium" });
const days = format({ weekday: "short", year: "numeric", month: "short", day: "numeric" });
const clocks = format({ timeStyle: "medium" });

/** A time as an element; the exact one is its title. With `isOfDay` the date is left out. */
export function time(iso, isOfDay) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return h("span", null, iso ?? "");
  return h("time", { datetime: date.toISOString(), title: date.toISOString() },
    (isOfDay ? clocks : shown).format(date));
}

/** The day of a time, in words of the browser's language and zone. */
export function day(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : days.format(date);
}

const whole = String.raw`\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-(\w+)`;

/** A line of the log with its time in the browser's zone, and short names of versions. */
export function localLine(line) {
  return line.replace(/^\d{4}-\S+Z(?= )/, (iso) => shown.format(new Date(iso)))
    .replace(new RegExp(whole, "g"), "$1");
}

/** The last eight letters of a version's name; any other name as it is. */
export function short(name) {
  return new RegExp(`^${whole}$`).exec(name ?? "")?.[1] ?? name;
}

/** A version's name in eight letters; the whole name is its title. */
export function named(name) {
  return h("span", { class: "name", title: name }, short(name));
}

/** A number with its noun. */
export function count(number, noun, nouns = `${noun}s`) {
  return `${number.toLocaleString()} ${number === 1 ? noun : nouns}`;
}

/** For example "1 changed, 2 new"; empty if everything is in a version. */
export function pendingText(pending) {
  return ["changed", "new", "removed"].filter((kind) => pending[kind])
    .map((kind) => `${pending[kind].toLocaleString()} ${kind}`).join(", ");
}

/** A time in seconds since 1970. */
export function seconds(value) {
  return value === null || value === undefined ? "" : time(value * 1000);
}

/** A number of bytes for people. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** The author and the machine of a version. */
export function maker(version) {
  return [version.author, version.machine].filter((part) => part).join(" on ");
}

/** The first line of a message, or what changed. */
export function headline(version) {
  const first = (version.message ?? "").split("\n").find((line) => line.trim());
  return first ?? (version.isMerge && version.changes === "nothing changed" ? "Merge" : version.changes);
}

/** The names of a version: head, branches, tags; and whether it is a merge. */
export function labels(version) {
  const found = [];
  if (version.isHead) found.push(h("span", { class: "label head" }, "head"));
  for (const name of version.branches ?? []) {
    if (name !== "-") found.push(h("span", { class: "label branch" }, name));
  }
  if (version.isForgotten) found.push(h("span", { class: "label" }, "forgotten"));
  if (version.isMerge) found.push(h("span", { class: "label" }, "merge"));
  for (const name of version.tags ?? []) found.push(h("span", { class: "label tag" }, `tag ${name}`));
  return found;
}

/** Says something to screen readers. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** An error, in words. */
export function failure(error) {
  return h("p", { class: "failure", role: "alert" }, localLine(error.message ?? String(error)));
}

// Paths are bytes. In this page they are percent-encoded, with slashes as they are: the form that
// addresses have.

const plain = /^[A-Za-z0-9._~-]$/;

/** The encoded form of a text, or of bytes in base64. */
export function encoded(text, base64) {
  const bytes = base64
    ? Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    : new TextEncoder().encode(text);
  let out = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (plain.test(character) || character === "/") out += character;
    else out += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

/** The text of an encoded path; bytes that are no text are replaced. */
export function decoded(path) {
  const bytes = [];
  for (let index = 0; index < path.length; index += 1) {
    const digits = path.slice(index + 1, index + 3);
    if (path[index] === "%" && /^[0-9A-Fa-f]{2}$/.test(digits)) {
      bytes.push(parseInt(digits, 16));
      index += 2;
    } else {
      bytes.push(...new TextEncoder().encode(path[index]));
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The last component of a path. */
export function basename(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
