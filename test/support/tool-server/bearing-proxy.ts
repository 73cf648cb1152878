/** A server in front of another one, which adds a token to each request: for clients that cannot send one. */

import { createServer, request as httpRequest } from 'node:http';
import { closeServer, listen } from '../listening.ts';

/** @param origin the server behind it */
export async function startBearingProxy(origin: string, token: () => string) {
  const server = createServer((request, response) => {
    const { method, url, rawHeaders } = request;
    const headers = [...rawHeaders, 'Authorization', `Bearer ${token()}`];
    const sent = httpRequest(`${origin}${url}`, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders).flushHeaders();
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    sent.once('error', () => response.destroy());
    response.once('close', () => sent.destroy());
    request.pipe(sent);
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
}
