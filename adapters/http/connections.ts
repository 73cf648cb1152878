/**
 * Where connections come from: an address that this process listens on. Whoever serves them may be this process or one
 * of several that it hands them to, so accepting and serving are apart.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { quietTurn } from './quiet-turn.ts';

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

/** When a service that is busy is told to stop, hundreds may wait to be taken; those that come meanwhile are no fewer. */
const TAKING_LIMIT_MS = 3_000;

/**
 * @param take gets each connection, of which nothing has been read yet
 * @throws the system's error, when the address can't be listened on
 */
export async function acceptConnections(at: Address, take: (connection: Socket) => void): Promise<Connections> {
  // Who closes its side in the middle of a request is still told what is wrong with it; and an answer waits for nobody.
  let taken = 0;
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (connection) => {
    taken += 1;
    take(connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  // One that the system has no room for, or that its network lost meanwhile: the next may be taken all the same.
  server.on('error', () => undefined);
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: at.host, port },
    async close() {
      // What the system has let in has been told that it is connected; the event loop takes one of them in a turn.
      await quietTurn(TAKING_LIMIT_MS, () => taken);
      server.close();
    },
  };
}
