/** Which host of the connection string the next connection goes to. All pools of a process share it. */

import { Socket } from 'node:net';
import pg from 'pg';

export interface Hosts {
  readonly count: number;
  /** The connection string of the host to ask next. */
  current(): string;
  /** All hosts but the current one. */
  others(): readonly string[];
  /** Makes a host the current one. */
  lead(host: string): void;
  /** Moves on to the next host, and after the last to the first. No effect if another call has already moved on. */
  failed(host: string): void;
}

/** @param list one connection string for each host, in the order in which they are tried (`hostsOf`) */
export function hosts(list: readonly [string, ...string[]]): Hosts {
  let index = 0;
  const current = () => list[index] ?? list[0];
  return {
    count: list.length,
    current,
    others: () => list.filter((host) => host !== current()),
    lead(host) {
      index = Math.max(list.indexOf(host), 0);
    },
    failed(host) {
      if (host === current()) index = (index + 1) % list.length;
    },
  };
}

/** A connection to the host that was current when it was opened. */
export abstract class HostClient extends pg.Client {
  /** The connection string of its host. */
  abstract readonly uri: string;
  /** Over TLS, the driver writes to another socket, which encrypts. */
  abstract readonly socket: Socket;
}

/**
 * Sends the statements that `work` sends at once as one packet. The driver would write each statement by itself: a system call
 * of this process for each, and one of the server. Over TLS it does.
 */
export function inOnePacket<Answer>(client: pg.ClientBase, work: () => Answer): Answer {
  if (!(client instanceof HostClient)) return work();
  client.socket.cork();
  try {
    return work();
  } finally {
    client.socket.uncork();
  }
}

/**
 * The option `Client` of a pool.
 *
 * @param connectMs how long one host may take to accept a connection
 * @param opened is called with the socket of each connection
 */
export function clientOf(
  known: Hosts,
  connectMs: number,
  opened: (socket: Socket) => void,
): new (
  config?: pg.ClientConfig,
) => HostClient {
  return class extends HostClient {
    readonly uri: string;
    readonly socket: Socket;

    constructor(config: pg.ClientConfig = {}) {
      const uri = known.current();
      const socket = new Socket();
      super({ ...config, connectionString: uri, connectionTimeoutMillis: connectMs, stream: () => socket });
      this.uri = uri;
      this.socket = socket;
      opened(socket);
    }
  };
}
