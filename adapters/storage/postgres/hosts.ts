/** Which host of the connection string the next connection goes to. All pools of a process share it. */

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
}

/**
 * The option `Client` of a pool.
 *
 * @param connectMs how long one host may take to accept a connection
 */
export function clientOf(known: Hosts, connectMs: number): new (config?: pg.ClientConfig) => HostClient {
  return class extends HostClient {
    readonly uri: string;

    constructor(config: pg.ClientConfig = {}) {
      const uri = known.current();
      super({ ...config, connectionString: uri, connectionTimeoutMillis: connectMs });
      this.uri = uri;
    }
  };
}
