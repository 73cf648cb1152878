/** Which host of the connection string the next connection goes to. All pools of a process share it. */

import pg from 'pg';

export interface Hosts {
  readonly count: number;
  /** The connection string of the host to ask next. */
  current(): string;
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
    failed(host) {
      if (host === current()) index = (index + 1) % list.length;
    },
  };
}

/** A connection to the host that was current when it was opened. */
export abstract class HostClient extends pg.Client {
  /** Its host is not the primary: the next connection goes to the next host. */
  abstract leaveHost(): void;
}

type Connected = (error: Error | null, client: pg.Client) => void;

/** The option `Client` of a pool. A client that cannot connect moves the pools on to the next host. */
export function clientOf(known: Hosts): new (config?: pg.ClientConfig) => HostClient {
  return class extends HostClient {
    readonly #host: string;

    constructor(config: pg.ClientConfig = {}) {
      const host = known.current();
      super({ ...config, connectionString: host });
      this.#host = host;
    }

    leaveHost(): void {
      known.failed(this.#host);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      if (callback === undefined) {
        return new Promise((resolve, reject) => {
          this.connect((error: Error | null) => (error === null ? resolve(this) : reject(error)));
        });
      }
      // The pool's callback must run at once: it listens for the errors of the new connection.
      super.connect((error: Error | null) => {
        if (error === null) return callback(null, this);
        this.leaveHost();
        callback(error, this);
      });
      return undefined;
    }
  };
}
