/** The pool of the driver: it opens connections to the current host, keeps their sockets, and closes both. */

import { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../../../../application/ports/telemetry.ts';
import { columnTypes } from '../column-types.ts';
import { CLOSING_LIMIT_MS, type Limits } from '../limits.ts';
import { watchCommits } from './commits.ts';
import type { Hosts } from './hosts.ts';

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

/** @returns also how to close the pool with its sockets */
export function driverPool(
  known: Hosts,
  limits: Limits,
  sizes: Pick<pg.PoolConfig, 'min' | 'max' | 'pipeline'>,
  log: Log,
): { readonly pool: pg.Pool; close(): Promise<void> } {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    Client: clientOf(known, limits.acquire / known.count, (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }),
    application_name: 'mandate',
    types: columnTypes,
    keepAlive: true,
    ...sizes,
    // The limit of a call that waits for a busy connection. A host has its share of it to accept one (`clientOf`).
    connectionTimeoutMillis: limits.acquire,
    query_timeout: limits.query,
  });
  pool.on('error', (error) => log.warn('an idle database connection failed', { detail: error.message }));
  // The pool listens for errors only while the connection is idle. A query in progress rejects with the same error.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    watchCommits(client);
  });
  return {
    pool,
    async close() {
      await pool.end();
      // A frozen server never closes the connection, and each open socket would keep the process alive.
      for (const socket of sockets) if (!(await closed(socket))) socket.destroy();
    },
  };
}

/**
 * The option `Client` of a pool.
 *
 * @param connectMs how long one host may take to accept a connection
 * @param opened is called with the socket of each connection
 */
function clientOf(
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

/** Whether the socket closes within CLOSING_LIMIT_MS. */
function closed(socket: Socket): Promise<boolean> {
  if (socket.closed) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), CLOSING_LIMIT_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
