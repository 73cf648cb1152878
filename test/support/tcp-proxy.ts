/**
 * A TCP proxy that can drop all data, as if the server were frozen or the network broken. Neither side is notified, not
 * even if the other side ends the connection.
 */

import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listening.ts';

/** Which data is lost: all, or only that of the server. */
type Silence = 'both_ways' | 'answers';

export interface TcpProxy {
  readonly port: number;
  /** Drops data on open and new connections from now on. */
  silence(lost?: Silence): void;
  /** Closes the connections that have lost data, and forwards new ones. */
  resume(): void;
  /** The number of round trips on one connection: how often the client sent after the server had sent. */
  roundTrips(): number;
  /** The number of open connections of clients. */
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
