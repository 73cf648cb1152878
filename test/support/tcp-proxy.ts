/**
 * A TCP proxy that can drop all data, as a frozen host or a broken network does: neither side is notified, not even
 * of the other side's end.
 */

import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listening.ts';

/** The lost data: all of it, or only the server's. */
type Silence = 'both_ways' | 'answers';

export interface TcpProxy {
  readonly port: number;
  /** Applies to old and new connections. */
  silence(lost?: Silence): void;
  /** Cuts the connections that have lost data; new ones work. */
  resume(): void;
  /** The times that the client has sent after the server: the round trips, on one connection. */
  roundTrips(): number;
  /** The connections that are open on the client's side. */
  connections(): number;
  close(): Promise<void>;
}

export async function tcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const broken = new Set<Socket>();
  const near = new Set<Socket>();
  let lost: Silence | undefined;
  let roundTrips = 0;
  let sentLast: 'client' | 'server' | undefined;
  const server = createServer((client) => {
    const far = connect(target, '127.0.0.1');
    near.add(client);
    client.on('close', () => near.delete(client));
    client.on('data', () => {
      if (sentLast !== 'client') roundTrips += 1;
      sentLast = 'client';
    });
    far.on('data', () => {
      sentLast = 'server';
    });
    pass(client, far, () => lost === 'both_ways');
    pass(far, client, () => lost !== undefined);
  });
  function pass(from: Socket, to: Socket, isLost: () => boolean): void {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (isLost()) broken.add(from).add(to);
      else to.write(chunk);
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      sockets.delete(from);
      if (lost === undefined) to.destroy();
      else broken.add(to);
    });
  }
  const port = await listen(server);
  return {
    port,
    silence(what = 'both_ways') {
      lost = what;
    },
    resume() {
      lost = undefined;
      for (const socket of broken) socket.destroy();
      broken.clear();
    },
    roundTrips: () => roundTrips,
    connections: () => near.size,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
