/** A program on the person's computer that listens for the answer of `/oauth2/authorize`, as native programs do (RFC 8252 §7.3). */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface NativeClient {
  readonly redirectUri: string;
  /** The method and the parameters of each answer, oldest first. */
  readonly answers: readonly { readonly method: string; readonly parameters: Readonly<Record<string, string>> }[];
  stop(): Promise<void>;
}

/** @param leadsTo where the client sends the browser from there; without it, it says that all is done */
export async function startNativeClient(
  leadsTo?: string,
  host: '127.0.0.1' | '[::1]' = '127.0.0.1',
): Promise<NativeClient> {
  const answers: { method: string; parameters: Record<string, string> }[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://client.invalid');
    if (pathname !== '/cb') {
      response.writeHead(404).end();
      return;
    }
    answers.push({ method: request.method ?? '', parameters: Object.fromEntries(searchParams) });
    if (leadsTo !== undefined) response.writeHead(302, { location: leadsTo }).end();
    else
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Done</title><h1>Back in the program</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, host.replace(/[[\]]/g, ''), resolve));
  const { port } = server.address() as AddressInfo;
  return {
    redirectUri: `http://${host}:${port}/cb`,
    answers,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
