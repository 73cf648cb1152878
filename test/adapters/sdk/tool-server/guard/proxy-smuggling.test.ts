/**
 * Request smuggling through the proxy. Each message has a valid token, and a second request behind it that needs none: taken
 * for a request, it would reach the upstream at once.
 */

import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import {
  CHUNKS,
  chunked,
  EXPECTATIONS,
  FRAMINGS,
  NO_HTTP_1,
  VERSIONS,
} from '../../../../support/hostile/ambiguous-messages.ts';
import { type ReceivedBytes, sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { isPythonInstalled, startPython } from '../../../../support/tool-server/python-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

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

  const post = (framing: string, body: string, version = '1.1') =>
    `POST /first HTTP/${version}\r\nHost: x\r\n${bearer().join(': ')}\r\n${framing}\r\n\r\n${body}`;
  const second = () => 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';

  /** Sends the bytes while the proxy has an open connection to the upstream, on which it could send at once. */
  async function sendWarm(url: string, bytes: string): Promise<ReceivedBytes> {
    await rawRequest(`${url}/second`, 'GET', []);
    seen.length = 0;
    return sendBytes(url, bytes);
  }

  function expectRefused({ text, end }: ReceivedBytes, what: string): void {
    expect(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status?.[0]),
      what,
    ).to.deep.equal(['4']);
    expect(end, what).to.equal('closed');
  }

  it('passes on no request whose end is ambiguous, and none behind it', async () => {
    const url = await start();
    for (const [what, framing, chunks = false] of FRAMINGS) {
      const sent = post(framing(BODY.length), chunks ? chunked(BODY) : BODY) + second();
      expectRefused(await sendWarm(url, sent), what);
      expect(seen, what).to.deep.equal([]);
    }
    expect(errors).to.deep.equal([]);
  });

  it('passes on no chunks of another version than 1.1, and nothing that is no HTTP/1', async () => {
    const url = await start();
    for (const version of VERSIONS) {
      const sent = post('Connection: keep-alive\r\nTransfer-Encoding: chunked', chunked(BODY), version);
      expectRefused(await sendBytes(url, sent + second()), version);
      expect(seen, version).to.deep.equal([]);
      if (version === '1.0') continue;
      expectRefused(await sendBytes(url, post('Content-Length: 0', '', version)), version);
      expect(seen, version).to.deep.equal([]);
    }
    for (const bytes of NO_HTTP_1) {
      expectRefused(await sendBytes(url, bytes + second()), bytes);
      expect(seen, bytes).to.deep.equal([]);
    }
    expect(errors).to.deep.equal([]);
  });

  it('passes on nothing with another expectation than 100-continue, and no request behind it', async () => {
    const url = await start();
    for (const expected of EXPECTATIONS) {
      const sent = post(`Expect: ${expected}\r\nContent-Length: ${BODY.length}`, BODY) + second();
      const received = await sendWarm(url, sent);
      expectRefused(received, expected);
      expect(received.text).to.match(/^HTTP\/1\.1 417 /);
      expect(seen, expected).to.deep.equal([]);
    }
    expect(errors).to.deep.equal([]);
  });

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
