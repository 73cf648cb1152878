/** What a process holds open, as the system lists it (Linux: proc(5)). */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Descriptors {
  /** Connections that clients have open: how many is for them to say. */
  readonly clients: number;
  /** Everything else, connections that clients have left among them. */
  readonly own: number;
}

const ESTABLISHED = '01';

/** @param port where the process listens */
export function descriptorsOf(pid: number, port: number): Descriptors {
  const clients = connectionsAt(port);
  const held = readdirSync(`/proc/${pid}/fd`).map((descriptor) => targetOf(`/proc/${pid}/fd/${descriptor}`));
  const ofClients = held.filter((target) => clients.has(target)).length;
  return { clients: ofClients, own: held.length - ofClients };
}

/** Those that both ends have open, as descriptors refer to them. */
function connectionsAt(port: number): ReadonlySet<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1));
  return new Set(
    rows
      .map((row) => row.trim().split(/\s+/))
      .filter(([, local = '', , state]) => local.endsWith(suffix) && state === ESTABLISHED)
      .map((fields) => `socket:[${fields[9]}]`),
  );
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // Closed since it was listed.
    return '';
  }
}
