import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { answering, loopbackForSuite, startLoopback, testTrust } from '../../support/loopback.ts';
import { failureOf, get, network } from '../../support/network-requests.ts';

describe('The network', () => {
  const server = loopbackForSuite(answering('{}'));

  it('sends the method, headers and body, and returns the status and body', async () => {
    server.answer = answering('{"grüße":"ok"}', 418);
    const answer = await network.send({
      ...get(`${server.url}/a/b?c=d`),
      method: 'POST',
      headers: { 'content-type': 'text/plain', authorization: 'Bearer abc' },
      body: 'grüße',
    });
    expect(answer).to.include({ status: 418, body: '{"grüße":"ok"}' });
    const [request] = server.received;
    expect(request).to.include({ method: 'POST', path: '/a/b?c=d', body: 'grüße' });
    expect(request?.headers).to.include({ 'content-type': 'text/plain', authorization: 'Bearer abc' });
  });

  it('names this program and its version in each request, also where the caller names another', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    await network.send(get(server.url));
    await network.send({ ...get(server.url), method: 'POST', headers: { 'user-agent': 'other/1' }, body: '{}' });
    const named = server.received.map(({ headers }) => headers['user-agent']);
    expect(named).to.deep.equal(Array(2).fill(`mandate/${version}`));
  });

  it('returns the Date header of the server when it is valid', async () => {
    server.answer = (_, response) => response.writeHead(200, { date: 'Sat, 21 Nov 2026 03:04:05 GMT' }).end();
    expect((await network.send(get(server.url))).date).to.equal(Date.UTC(2026, 10, 21, 3, 4, 5) * 1000);
    for (const told of ['yesterday', '']) {
      server.answer = (_, response) => response.writeHead(200, { date: told }).end();
      expect((await network.send(get(server.url))).date).to.equal(undefined);
    }
  });

  it('returns the Retry-After header of the server in seconds when it is valid', async () => {
    const date = 'Sat, 21 Nov 2026 03:04:05 GMT';
    for (const [told, seconds] of [
      ['0', 0],
      ['120', 120],
      ['31536000', 31_536_000],
      ['Sat, 21 Nov 2026 03:05:05 GMT', 60],
      ['Sat, 21 Nov 2026 03:00:00 GMT', 0],
      ...['-1', '1.5', '1e3', 'soon', '', 'Sat 2026'].map((text) => [text, undefined] as const),
    ] as const) {
      server.answer = (_, response) => response.writeHead(503, { date, 'retry-after': told }).end();
      expect((await network.send(get(server.url))).retryAfter, told).to.equal(seconds);
    }
    server.answer = answering('{}', 503);
    expect((await network.send(get(server.url))).retryAfter).to.equal(undefined);
  });

  it('requests an uncompressed answer, and refuses a compressed one', async () => {
    server.answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}'));
    const failure = await failureOf(get(server.url));
    expect(server.received[0]?.headers['accept-encoding']).to.equal('identity');
    expect(failure.message).to.equal('The answer is compressed (gzip).');
    expect([failure.answered, failure.status]).to.deep.equal([true, 200]);
    for (const [told, named] of [
      ['GZIP', 'gzip'],
      ['br', 'br'],
      ['identity, zstd', 'zstd'],
      ['UTF-8,deflate', 'deflate'],
    ] as const) {
      server.answer = (_, response) => response.writeHead(200, { 'content-encoding': told }).end('{}');
      expect((await failureOf(get(server.url))).message, told).to.equal(`The answer is compressed (${named}).`);
    }
  });

  it('returns an answer whose Content-Encoding is empty or names no compression', async () => {
    for (const told of ['', 'identity', 'Identity', 'UTF-8', 'utf8', 'none', 'aws-chunked', '7bit']) {
      server.answer = (_, response) => response.writeHead(200, { 'content-encoding': told }).end('{"ü":1}');
      expect((await network.send(get(server.url))).body, told).to.equal('{"ü":1}');
    }
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`returns a redirect with ${status} and does not follow it`, async () => {
      server.answer = (_, response) => response.writeHead(status, { location: `${server.url}/elsewhere` }).end('moved');
      expect(await network.send(get(server.url))).to.include({ status, body: 'moved' });
      expect(server.received.map((request) => request.path)).to.deep.equal(['/']);
    });
  }

  it('sends no cookie of an earlier answer', async () => {
    server.answer = (_, response) => response.writeHead(200, { 'set-cookie': 'session=1' }).end();
    await network.send(get(server.url));
    await network.send(get(server.url));
    expect(server.received[1]?.headers.cookie).to.equal(undefined);
  });

  it('fails when no answer begins within the time limit, and closes the connection', async () => {
    const closed = new Promise<void>((resolve) => {
      server.answer = (_, response) => response.on('close', resolve);
    });
    const failure = await failureOf(get(server.url, { timeoutMs: 60 }));
    expect(failure.message).to.contain('60 ms');
    expect(failure.answered).to.equal(false);
    await closed;
  });

  it('ends all requests under way once its signal is aborted, and sends no later one', async () => {
    const REQUESTS = 20;
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const ending = new AbortController();
    const through = httpNetwork({ signal: ending.signal });
    const failing = async () => (await failureOf(get(server.url, { timeoutMs: 20_000 }), through)).message;
    server.answer = () => {
      if (server.received.length === REQUESTS) ending.abort();
    };
    const messages = await Promise.all(Array.from({ length: REQUESTS }, failing));
    messages.push(await failing());
    process.off('warning', note);
    expect(messages).to.deep.equal(Array(REQUESTS + 1).fill('There was no answer (ABORT_ERR).'));
    expect(server.received).to.have.length(REQUESTS);
    expect(warnings).to.deep.equal([]);
  });

  it('fails when the body does not end within the time limit', async () => {
    let stop = () => {};
    server.answer = (_, response) => {
      const timer = setInterval(() => response.write('.'), 5);
      stop = () => clearInterval(timer);
    };
    const failure = await failureOf(get(server.url, { timeoutMs: 80 })).finally(() => stop());
    expect(failure.message).to.contain('80 ms');
  });

  it('returns a body of exactly maxBytes', async () => {
    server.answer = answering('x'.repeat(1000));
    expect((await network.send(get(server.url))).body).to.have.length(1000);
  });

  it('fails after maxBytes of a longer body, and closes the connection', async () => {
    const cut = new Promise<void>((resolve) => {
      server.answer = (_, response) => {
        response.on('close', resolve);
        const more = () => {
          while (response.write('x'.repeat(500)));
        };
        response.on('drain', more);
        more();
      };
    });
    const failure = await failureOf(get(server.url));
    expect(failure.message).to.contain('longer than 1000 bytes');
    expect([failure.answered, failure.status]).to.deep.equal([true, 200]);
    await cut;
  });

  it('refuses an answer that is not UTF-8', async () => {
    server.answer = (_, response) => response.writeHead(418).end(Buffer.from([0x7b, 0xff, 0x7d]));
    const failure = await failureOf(get(server.url));
    expect(failure.message).to.contain('UTF-8');
    expect([failure.answered, failure.status]).to.deep.equal([true, 418]);
  });

  it('refuses an incomplete answer', async () => {
    server.answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 10);
    };
    expect((await failureOf(get(server.url))).answered).to.equal(false);
  });

  it('reports a refused connection by its code only', async () => {
    const gone = await startLoopback(answering(''));
    await gone.close();
    const failure = await failureOf(get(`${gone.url}/secret-path`));
    expect(failure.message).to.equal('There was no answer (ECONNREFUSED).');
  });

  for (const url of ['ftp://127.0.0.1/', 'file:///etc/passwd', 'not a url', '']) {
    it(`refuses to send to "${url}"`, async () => {
      expect((await failureOf(get(url))).message).to.equal('The request could not be sent.');
    });
  }

  it('refuses a header with a line break', async () => {
    const failure = await failureOf(get(server.url, { headers: { authorization: 'Bearer a\r\nx: y' } }));
    expect(failure.message).to.equal('The request could not be sent.');
    expect(server.received).to.have.length(0);
  });

  it('keeps a connection for the next request', async () => {
    server.answer = answering('{}');
    await network.send(get(server.url));
    await network.send(get(server.url));
    const [first, second] = server.received;
    expect(second?.connection).to.equal(first?.connection);
  });

  describe('when the server cuts a kept connection during a request,', () => {
    /** Answers the first request of a connection and cuts it at the second. */
    function cuttingSecond(): void {
      const seen = new Set<number>();
      server.answer = ({ connection }, response) => {
        if (seen.has(connection)) response.destroy();
        else response.end('{}');
        seen.add(connection);
      };
    }

    it('sends a GET again on a new connection', async () => {
      cuttingSecond();
      const fresh = httpNetwork();
      await fresh.send(get(server.url));
      expect((await fresh.send(get(server.url))).status).to.equal(200);
      expect(server.received).to.have.length(3);
    });

    it('sends a GET again on a new connection, although other idle connections are dead as well', async () => {
      cuttingSecond();
      const fresh = httpNetwork();
      await Promise.all(Array.from({ length: 12 }, () => fresh.send(get(server.url))));
      const idle = new Set(server.received.map(({ connection }) => connection));
      expect(idle.size).to.equal(12);
      for (let time = 0; time < 12; time += 1) expect((await fresh.send(get(server.url))).status).to.equal(200);
      expect(server.received).to.have.length(36);
    });

    it('does not send a GET again if its connection was new, and says that it was not answered', async () => {
      server.answer = (_, response) => response.destroy();
      expect((await failureOf(get(server.url), httpNetwork())).cut).to.equal(true);
      expect(server.received).to.have.length(1);
    });

    it('does not call a connection cut if the GET was sent again, or if none was refused', async () => {
      const fresh = httpNetwork();
      server.answer = answering('{}');
      await fresh.send(get(server.url));
      server.answer = (_, response) => response.destroy();
      expect((await failureOf(get(server.url), fresh)).cut).to.equal(false);
      expect(server.received).to.have.length(3);
      expect((await failureOf(get('http://127.0.0.1:9'))).cut).to.equal(false);
    });

    for (const [part, bytes] of [
      ['a byte', 'H'],
      ['a part of the headers', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ] as const) {
      it(`does not send a GET again after ${part} of an answer`, async () => {
        const fresh = httpNetwork();
        server.answer = answering('{}');
        await fresh.send(get(server.url));
        server.answer = (_, response) => response.socket?.end(bytes);
        expect((await failureOf(get(server.url), fresh)).cut).to.equal(false);
        expect(server.received).to.have.length(2);
      });
    }

    it('does not send a POST again', async () => {
      cuttingSecond();
      const fresh = httpNetwork();
      await fresh.send(get(server.url));
      const failure = await failureOf({ ...get(server.url), method: 'POST', body: 'once' }, fresh);
      expect(failure.cut).to.equal(true);
      expect(server.received).to.have.length(2);
    });

    it('opens a connection for a request that asks for a new one, and does not keep it', async () => {
      server.answer = answering('{}');
      const fresh = httpNetwork();
      await fresh.send(get(server.url));
      await fresh.send(get(server.url, { newConnection: true }));
      await fresh.send(get(server.url));
      const [first, second, third] = server.received.map(({ connection }) => connection);
      expect(second).not.to.equal(first);
      expect(third).to.equal(first);
    });
  });
});

describe('The network over https', () => {
  const server = loopbackForSuite(answering('{}'), { tls: true });

  it('accepts a certificate of the given authority', async () => {
    expect(await network.send(get(server.url))).to.include({ status: 200, body: '{}' });
  });

  it('sends a GET again that a kept connection did not answer, and none that it began to answer', async () => {
    for (const [bytes, sent] of [
      ['', 3],
      ['H', 2],
    ] as const) {
      const fresh = httpNetwork({ secureContext: testTrust });
      server.received.length = 0;
      server.answer = answering('{}');
      await fresh.send(get(server.url));
      server.answer = (_, response) => {
        server.answer = answering('{}');
        response.socket?.end(bytes);
      };
      await fresh.send(get(server.url)).catch(() => undefined);
      expect(server.received, bytes).to.have.length(sent);
    }
    server.answer = answering('{}');
  });

  it('refuses the same certificate without that authority', async () => {
    const failure = await failureOf(get(server.url), httpNetwork());
    expect(failure.message).to.match(/^There was no answer \([A-Z_]+\)\.$/);
  });
});
