/** A load balancer without health checks: it sends each request to the next replica, and can spoil status lists. */

import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { STATUS_LIST_PATH } from '../../domain/tasks/status-list.ts';
import { closeServer, listen } from '../../test/support/listening.ts';
import type { Service } from './service.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Makes another answer of one that has a status list. @param uri of the list, without the issuer */
export type Spoil = (answer: Answer, uri: string) => Answer | Promise<Answer>;

export interface Forwarder {
  /** Changes the answers with status lists from now on. */
  spoil(how: Spoil | undefined): void;
  close(): Promise<void>;
}

export async function startForwarder(port: number, services: () => readonly Service[]): Promise<Forwarder> {
  const agent = new Agent({ keepAlive: true });
  let spoil: Spoil | undefined;
  let turn = 0;

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const all = services();
    turn += 1;
    const target = all[turn % all.length]?.url;
    const path = incoming.url ?? '/';
    const isList = path.startsWith(`${STATUS_LIST_PATH}/`);
    const { 'if-none-match': _, ...unconditional } = incoming.headers;
    // A list can only be spoiled if it is there.
    const headers = isList && spoil !== undefined ? unconditional : incoming.headers;
    const outgoing = request(`${target}${path}`, { agent, method: incoming.method ?? 'GET', headers });
    outgoing.end(await buffer(incoming));
    const [reply]: IncomingMessage[] = await once(outgoing, 'response');
    if (reply === undefined) throw new Error('a response event without a response');
    const received = { status: reply.statusCode ?? 502, headers: reply.headers, body: await buffer(reply) };
    const answer = isList && received.status === 200 ? ((await spoil?.(received, path)) ?? received) : received;
    const { 'transfer-encoding': _chunked, connection: _hop, ...kept } = answer.headers;
    const length = answer.status === 304 ? {} : { 'content-length': answer.body.length };
    response.writeHead(answer.status, { ...kept, ...length }).end(answer.body);
  }

  const server = createServer((incoming, response) => {
    forward(incoming, response).catch(() => response.headersSent || response.writeHead(502).end());
  });
  await listen(server, port);
  return {
    spoil(how) {
      spoil = how;
    },
    async close() {
      agent.destroy();
      await closeServer(server);
    },
  };
}
