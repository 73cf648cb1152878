/** A TCP proxy in front of database servers: it forwards new connections to the chosen ones, in turn. */

import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listening.ts';

export interface FailoverProxy {
  readonly port: number;
  /** New connections go to these ports in turn. Open connections stay where they are; without ports none is accepted. */
  lead(...ports: readonly number[]): void;
  /** Ends all connections, as HAProxy does with `on-marked-down shutdown-sessions`. */
  endSessions(): void;
  /** Keeps back the next data of a client that has this text, and what this client sends then. `endSessions` spares it. */
  hold(text: string): Held;
  /** The number of open connections to a port. */
  connectionsTo(port: number): number;
  close(): Promise<void>;
}

interface Held {
  /** Resolves when data is kept back. */
  readonly reached: Promise<void>;
  /** Sends the data on. */
  release(): void;
}

export async function failoverProxy(...first: readonly number[]): Promise<FailoverProxy> {
  let ports = first;
  let accepted = 0;
  const sessions = new Map<Socket, number>();
  let awaited: { readonly text: string; readonly reached: () => void } | undefined;
  let held: Socket | undefined;
  const server = createServer((client) => {
    const port = ports[accepted % Math.max(ports.length, 1)];
    accepted += 1;
    client.on('error', () => undefined);
    if (port === undefined) {
      client.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    sessions.set(client, port);
    far.on('error', () => client.destroy());
    far.pipe(client);
    client.on('data', (chunk) => {
      if (awaited !== undefined && chunk.includes(awaited.text)) {
        held = client;
        client.pause();
        client.unshift(chunk);
        awaited.reached();
        awaited = undefined;
      } else far.write(chunk);
    });
    for (const [from, to] of [
      [client, far],
      [far, client],
    ] as const) {
      from.on('close', () => to.destroy());
    }
    client.on('close', () => sessions.delete(client));
  });
  const port = await listen(server);
  const endSessions = () => {
    for (const client of sessions.keys()) if (client !== held) client.destroy();
  };
  return {
    port,
    lead(...next) {
      ports = next;
    },
    endSessions,
    hold: (text) => ({
      reached: new Promise((resolve) => {
        awaited = { text, reached: resolve };
      }),
      release() {
        const client = held;
        held = undefined;
        client?.resume();
      },
    }),
    connectionsTo: (wanted) => [...sessions.values()].filter((one) => one === wanted).length,
    close() {
      held = undefined;
      endSessions();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
