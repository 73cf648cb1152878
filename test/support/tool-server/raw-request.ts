/** HTTP requests with exactly the given header lines. `fetch` would join repeated ones. */

import http from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export function rawRequest(
  url: string,
  method: string,
  headers: readonly (readonly [string, string])[],
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { host } = new URL(url);
    const sent = http.request(url, {
      method,
      // The global agent would keep the connection open in spite of `Connection: close`.
      agent: false,
      headers: ['Host', host, 'Connection', 'close', 'Content-Length', `${Buffer.byteLength(body)}`, ...headers.flat()],
    });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
    });
    sent.end(body);
  });
}
