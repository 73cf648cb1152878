/** A way to a server that can fall silent: what is sent stays unanswered, and nobody is told, as when a host freezes. */

import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** From now on nothing is passed on, in either direction, on connections old and new. */
  silence(): void;
  resume(): void;
  close(): Promise<void>;
}

export async function tcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let silent = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    // Either side may break off; the other is then told.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    if (silent) socket.pause();
  };
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      keep(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
      if (silent) from.pause();
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port');
  return {
    port: address.port,
    silence() {
      silent = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      silent = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
