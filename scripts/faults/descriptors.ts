/** Counts the open file descriptors of a process (Linux, proc(5)). */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

interface Descriptors {
  /** Established connections of clients. Their number depends on the clients. */
  readonly clients: number;
  /** All other descriptors, including connections that a client has closed. */
  readonly own: number;
}

const ESTABLISHED = '01';

/** @param port where the process listens for clients */
export function descriptorsOf(pid: number, port: number): Descriptors {
  const connections = establishedAt(port);
  const targets = readdirSync(`/proc/${pid}/fd`).map((descriptor) => targetOf(`/proc/${pid}/fd/${descriptor}`));
  const clients = targets.filter((target) => connections.has(target)).length;
  return { clients, own: targets.length - clients };
}

/** The sockets of established connections to a port, in the form of a descriptor's link target. */
function establishedAt(port: number): ReadonlySet<string> {
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
    // The descriptor was closed after it was listed.
    return '';
  }
}
