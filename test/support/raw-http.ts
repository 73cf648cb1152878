/** HTTP as bytes on a TCP connection, for clients that are slow, disconnect, or pipeline requests. */

import { connect, type Socket } from 'node:net';

export interface RawConnection {
  readonly socket: Socket;
  send(text: string): void;
  /** Everything received so far. */
  received(): string;
  /** Resolves once the text has been received or the connection has ended. */
  until(text: string): Promise<string>;
  leave(): void;
}

/** @param allowHalfOpen keeps our side open after the other side has ended */
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
        // The connection may have ended before.
        if (socket.closed) done();
        else look();
      }),
    leave: () => socket.destroy(),
  };
}

/** A form post. @param sent the length of the body's part that is sent with the head */
export function formPost(path: string, body: string, sent = body.length): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: mandate.test\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, sent)}`;
}
