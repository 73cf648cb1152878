/** A `fetch` that also trusts the tests' certificate authority, and follows no redirect. The global one cannot do this. */

import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { testAuthority } from '../loopback.ts';

interface Init {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: string | URLSearchParams;
}

export async function trustingFetch(
  url: string | URL,
  { method = 'GET', headers, body }: Init = {},
): Promise<Response> {
  const target = new URL(url);
  const lines = new Headers(headers);
  if (body instanceof URLSearchParams) lines.set('content-type', 'application/x-www-form-urlencoded');
  const { request } = target.protocol === 'https:' ? https : http;
  const sent = request(target, { method, headers: Object.fromEntries(lines), ca: testAuthority, agent: false });
  sent.end(body?.toString());
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const received = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) received.append(name, value);
  const bytes = Buffer.concat(await answer.toArray());
  const status = answer.statusCode ?? 0;
  return new Response(bytes.length === 0 ? null : bytes, { status, headers: received });
}
