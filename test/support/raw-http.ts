/** Sends HTTP as bytes over TCP, for clients that are slow, disconnect or pipeline requests. */

import { connect, type Socket } from 'node:net';

export interface RawConnection {
  readonly socket: Socket;
  send(text: string): void;
  /** All bytes received so far. */
  received(): string;
  /** Resolves once the received bytes contain the text, or the connection has ended. */
  until(text: string): Promise<string>;
  leave(): void;
}

/** @param allowHalfOpen keeps this side open after the server has ended its side */
export async function rawConnection(url: string, { allowHalfOpen = false } = {}): Promise<RawConnection> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), noDelay: true, allowHalfOpen });
  let received = '';
  let look = (): void => undefined;
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    look();
  });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  return {
    socket,
    send: (text) => socket.write(text),
    received: () => received,
    until: (text) =>
      new Promise((resolve) => {
        const done = (): void => {
          look = () => undefined;
          resolve(received);
        };
        look = () => {
          if (received.includes(text)) done();
        };
        socket.once('close', done);
        // The connection may have ended already.
        if (socket.closed) done();
        else look();
      }),
    leave: () => socket.destroy(),
  };
}

/** An HTTP request that posts a form. @param sent how much of the body it includes */
export function formPost(path: string, body: string, sent = body.length): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: mandate.test\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, sent)}`;
}
