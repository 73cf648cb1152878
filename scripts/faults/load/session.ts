/** One client of several replicas: it asks them in turns, over kept connections, and never asks anything twice. */

import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { wallClock } from './wall-clock.ts';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** Why there is no whole answer. */
  readonly lost?: string;
  readonly began: number;
  readonly ended: number;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Session {
  send(asked: Asked): Promise<Reply>;
  close(): void;
}

/** More than the service ever takes: kill switches have most of a minute where there is much to end. */
const PATIENCE_MS = 60_000;
/** Why there is no answer where that was not enough: nothing that is done to the service excuses it. */
export const HUNG = 'no answer';

/** @param isKept whether connections are used again */
export function openSession(urls: readonly string[], isKept = true): Session {
  const agent = new Agent({ keepAlive: isKept });
  let turn = 0;
  return {
    send({ method, path, headers = {}, body = '' }) {
      turn += 1;
      const began = wallClock();
      return new Promise((resolve) => {
        const lose = (error: NodeJS.ErrnoException) =>
          resolve({
            ...{ status: 0, headers: {}, body: {}, began, ended: wallClock() },
            lost: error.code ?? error.message,
          });
        const length = { 'content-length': String(Buffer.byteLength(body)) };
        const url = `${urls[turn % urls.length]}${path}`;
        const sent = request(url, { agent, method, headers: { ...headers, ...length }, timeout: PATIENCE_MS });
        sent.once('timeout', () => sent.destroy(new Error(HUNG)));
        sent.once('error', lose);
        sent.once('response', (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.once('error', lose);
          response.once('end', () => {
            const isJson = /json/.test(response.headers['content-type'] ?? '');
            resolve({
              ...{ status: response.statusCode ?? 0, headers: response.headers, began, ended: wallClock() },
              body: isJson ? JSON.parse(text) : {},
            });
          });
        });
        sent.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}
