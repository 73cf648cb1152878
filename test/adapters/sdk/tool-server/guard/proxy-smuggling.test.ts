/**
 * Request smuggling through the proxy. Each message has a valid token, and a second request behind it that needs none. All other
 * ambiguous messages are in `test/adapters/http/server/ambiguous-messages.test.ts`.
 */

import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { CHUNKS } from '../../../../support/hostile/ambiguous-messages.ts';
import { type ReceivedBytes, sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { isPythonInstalled, startPython } from '../../../../support/tool-server/python-upstream.ts';

const BODY = '{"first":true}';

/** Reads no body, as many handlers of Python's own server do, and answers with all requests that it has got. */
const READS_NO_BODY = `
import http.server
seen = []
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def answer(self):
        seen.append(self.command + ' ' + self.path)
        body = ', '.join(seen).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_DELETE = answer
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

describe('The proxy of the guard', function () {
  this.timeout(120_000);
  const proxy = proxyForEachTest();
  const { errors, bearer } = proxy;

  /** The requests that the upstream has got whole. */
  const seen: string[] = [];
  beforeEach(() => {
    seen.length = 0;
  });
  const start = () =>
    proxy.start(
      (request, response) => {
        text(request).then(
          (body) => {
            seen.push(`${request.method} ${request.url} ${body}`);
            response.end('answered');
          },
          () => undefined,
        );
      },
      { routes: readable('POST /first'), open: [matchOf('GET /second')] },
    );

  const post = (framing: string, body: string) =>
    `POST /first HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n${framing}\r\n\r\n${body}`;
  const second = () => 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';

  function expectRefused({ text, end }: ReceivedBytes, what: string): void {
    expect(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status?.[0]),
      what,
    ).to.deep.equal(['4']);
    expect(end, what).to.equal('closed');
  }

  it('passes on no whole body with malformed chunks, and no request behind it', async () => {
    const url = await start();
    for (const [what, body] of CHUNKS) {
      expectRefused(await sendBytes(url, post('Transfer-Encoding: chunked', body(BODY)) + second()), what);
      expect(seen, what).to.deep.equal([]);
    }
    expect(errors).to.deep.equal([]);
  });

  for (const method of ['GET', 'POST', 'DELETE']) {
    it(`gives a server that reads no body of a ${method} no chance to take it for a request`, async function () {
      if (!isPythonInstalled) this.skip();
      const server = await startPython(READS_NO_BODY);
      try {
        const url = await proxy.start(server.url);
        const hidden = 'DELETE /hidden HTTP/1.1\r\nHost: x\r\nMandate-Subject: eve\r\n\r\n';
        const head = (path: string, framing = '') =>
          `${method} ${path} HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n${framing}\r\n`;
        const first = await sendBytes(
          url,
          head('/first', `Connection: close\r\nContent-Length: ${hidden.length}\r\n`) + hidden,
        );
        expect(first.text.split('\r\n\r\n')[1]).to.equal(`${method} /first`);
        const last = await sendBytes(url, head('/last', 'Connection: close\r\n'));
        expect(last.text.split('\r\n\r\n')[1]).to.equal(`${method} /first, ${method} /last`);
      } finally {
        await server.close();
      }
    });
  }
});
