/**
 * Request smuggling, with the arguments of each program: a proxy and the server could find the end of such a message in different
 * places. Each message has a second request behind it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import {
  CHUNKS,
  chunked,
  EXPECTATIONS,
  FRAMINGS,
  NO_HTTP_1,
  VERSIONS,
} from '../../../support/hostile/ambiguous-messages.ts';
import { type ReceivedBytes, sendBytes } from '../../../support/hostile/send-bytes.ts';
import { PROGRAMS } from '../../../support/http-server.ts';

const BODY = '{"first":true}';
const SECOND = 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';

const post = (framing: string, body: string, version = '1.1') =>
  `POST /first HTTP/${version}\r\nHost: x\r\n${framing}\r\n\r\n${body}`;

for (const program of PROGRAMS) {
  describe(`The HTTP server with the arguments of ${program.name}`, () => {
    const served: string[] = [];
    let url = '';
    let stop = async () => {};
    before(async () => {
      const listener = (request: IncomingMessage, response: ServerResponse) => {
        const serve = (body: string) => {
          served.push(`${request.method} ${request.url} ${body}`);
          response.end('served');
        };
        text(request).then(serve, () => undefined);
      };
      const server = await program.start(listener);
      url = `http://127.0.0.1:${server.address.port}`;
      stop = server.stop;
    });
    after(() => stop());

    async function expectRefused(bytes: string, what: string): Promise<ReceivedBytes> {
      const received = await sendBytes(url, bytes + SECOND);
      const statuses = [...received.text.matchAll(/HTTP\/1\.1 (\d)/g)].map(([, status]) => status);
      expect([statuses, received.end, served], what).to.deep.equal([['4'], 'closed', []]);
      return received;
    }

    it('serves no request whose end is ambiguous, and none behind it', async () => {
      for (const [what, framing, chunks = false] of FRAMINGS) {
        await expectRefused(post(framing(BODY.length), chunks ? chunked(BODY) : BODY), what);
      }
      for (const [what, body] of CHUNKS) await expectRefused(post('Transfer-Encoding: chunked', body(BODY)), what);
    });

    it('serves no chunks of another version than 1.1, and nothing that is no HTTP/1', async () => {
      for (const version of VERSIONS) {
        const framing = 'Connection: keep-alive\r\nTransfer-Encoding: chunked';
        await expectRefused(post(framing, chunked(BODY), version), version);
        if (version !== '1.0') await expectRefused(post('Content-Length: 0', '', version), version);
      }
      for (const bytes of NO_HTTP_1) await expectRefused(bytes, bytes);
    });

    it('answers every other expectation than 100-continue with 417', async () => {
      for (const expected of EXPECTATIONS) {
        const framing = `Expect: ${expected}\r\nContent-Length: ${BODY.length}`;
        expect((await expectRefused(post(framing, BODY), expected)).text).to.match(/^HTTP\/1\.1 417 /);
      }
    });

    it('serves no request without exactly one valid Host', async () => {
      const single = ['user@mandate.test', 'mandate.test/admin', 'http://mandate.test', 'a,b', 'mandate.test other'];
      const ports = ['mandate.test:http', 'mandate.test:443:443', ':80', 'mandate.test:999999'];
      const others = ['[::1', '[mandate.test]', 'a\\x', 'a?x', 'm\xe4', 'a#x', 'a%41', '\r\n x'];
      const lines = [...single, ...ports, ...others].map((host) => `Host: ${host}\r\n`);
      const twice = ['Host: mandate.test\r\nHost: mandate.test\r\n', 'Host: mandate.test\r\nHost: other\r\n'];
      for (const hosts of ['', 'Host:\r\n', 'Host : mandate.test\r\n', ...twice, ...lines]) {
        await expectRefused(`GET /first HTTP/1.1\r\n${hosts}\r\n`, hosts);
      }
      await expectRefused('GET /first HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 'HTTP/1.0');
    });

    it('serves a request with any valid Host, and of HTTP/1.0 without one', async () => {
      const hosts = ['mandate.test', 'a_b', 'xn--mnchen-3ya', 'x.', 'x:', '127.0.0.1:5100', '[::1]:80', '[fe80::1]'];
      const heads = hosts.map((host) => `HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      for (const head of [...heads, 'HTTP/1.0\r\n\r\n']) {
        expect((await sendBytes(url, `GET /first ${head}`)).text, head).to.match(/^HTTP\/1\.1 200 .*served$/s);
      }
      expect(served.splice(0)).to.have.lengthOf(heads.length + 1);
    });

    it('serves no CONNECT, and no malformed method', async () => {
      for (const target of ['other:443', 'mandate.test:80', '/first', '*']) {
        const received = await expectRefused(`CONNECT ${target} HTTP/1.1\r\nHost: mandate.test\r\n\r\n`, target);
        expect(received.text).to.match(/^HTTP\/1\.1 400 /);
      }
      for (const method of ['post', 'Post', 'get', 'BREW', 'P0ST', 'POST\0', 'GET\tx', '', 'PRI', 'G E T']) {
        await expectRefused(post('Content-Length: 0', '').replace('POST', method), method);
      }
    });
  });
}
