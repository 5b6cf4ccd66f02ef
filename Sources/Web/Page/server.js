// Talks to the server that sent this page. All addresses are relative: they are below its token.

/** An answer that says why there is no other. */
export class Refusal extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

async function read(response) {
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Refusal(`The server answered ${response.status}.`);
  }
  if (!response.ok || answer.ok === false) {
    throw new Refusal(answer.message ?? `The server answered ${response.status}.`, answer.error);
  }
  return answer;
}

/** The address of something; paths (p, from) are encoded already, other arguments are texts. */
export function address(place, parameters = {}) {
  const parts = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    const isPath = name === "p" || name === "from_path";
    parts.push(`${name === "from_path" ? "from" : name}=${isPath ? value : encodeURIComponent(value)}`);
  }
  return parts.length ? `${place}?${parts.join("&")}` : place;
}

/** Asks for an answer in JSON. */
export async function get(place, parameters, signal) {
  let response;
  try {
    response = await fetch(address(`api/${place}`, parameters), { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer: llvs web has ended.", "gone");
  }
  return read(response);
}

/** Starts a command; `path` is encoded already, `text` and all others are texts. */
export async function run(fields) {
  const body = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${name === "path" ? value : encodeURIComponent(value)}`)
    .join("&");
  return send("api/run", body);
}

/** Asks the running command to end. */
export async function cancel() {
  return send("api/cancel", "");
}

async function send(place, body) {
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  try {
    return await read(await fetch(place, { method: "POST", headers, body }));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("The server does not answer: llvs web has ended.", "gone");
  }
}

/** The bytes of a value from an offset on, at most `count`. */
export async function bytes(place, parameters, offset, count) {
  const headers = { Range: `bytes=${offset}-${offset + count - 1}` };
  const response = await fetch(address(place, parameters), { headers });
  if (!response.ok) throw new Refusal(`The server answered ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}
