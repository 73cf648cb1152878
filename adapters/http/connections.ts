/**
 * Where connections come from: an address that this process listens on. Whoever serves them may be this process or one
 * of several that it hands them to, so accepting and serving are apart.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Address {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
}

export interface Connections {
  /** As it is listened on. */
  readonly address: Address;
  /** Resolves once none is accepted any more; those that were accepted have been handed over. */
  close(): Promise<void>;
}

/** Clients that come as fast as they are taken must not keep a stop from going on. */
const TAKING_LIMIT_MS = 1_000;
/**
 * Of the event loop, which takes one connection in each: the first may be over before it has looked. Whoever comes while a
 * turn is busy with something else is not seen in it, so only short ones count.
 */
const QUIET_TURNS = 2;
const QUIET_TURN_MS = 1;

/**
 * @param take gets each connection, of which nothing has been read yet
 * @throws the system's error, when the address can't be listened on
 */
export async function acceptConnections(at: Address, take: (connection: Socket) => void): Promise<Connections> {
  // A client that has nothing more to send (half-closed) still waits for its answer; and an answer waits for nobody.
  let taken = 0;
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (connection) => {
    taken += 1;
    take(connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: at.host, port },
    async close() {
      // Closing resets what the system has let in and we have not taken: its client has been told that it is connected.
      const began = performance.now();
      for (let quiet = 0; quiet < QUIET_TURNS && performance.now() - began < TAKING_LIMIT_MS; ) {
        const [before, turned] = [taken, performance.now()];
        await nextTurn();
        quiet = taken === before && performance.now() - turned < QUIET_TURN_MS ? quiet + 1 : 0;
      }
      server.close();
    },
  };
}
