import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { driveLoad, type Target, UnexpectedAnswer } from '../../../scripts/bench/load.ts';
import { post } from '../../../scripts/bench/post.ts';

describe('the load generator of the benchmark', () => {
  let server: Server | undefined;

  async function serve(listener: RequestListener): Promise<Target> {
    server = createServer(listener);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  }

  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
    server = undefined;
  });

  const options = { concurrency: 4, seconds: 30, expected: '"ok":true' };

  async function failure(promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('sends every prepared request once, and measures each', async () => {
    const bodies: string[] = [];
    const target = await serve(async (request, response) => {
      bodies.push(Buffer.concat(await request.toArray()).toString());
      response.end('{"ok":true}');
    });
    const sent = Array.from({ length: 50 }, (_, index) => `request=${index}`);
    const result = await driveLoad(
      target,
      sent.map((body) => post(target, '/token', body)),
      options,
    );
    expect(bodies).to.have.members(sent);
    expect(result.answered).to.equal(50);
    expect(result.latencies).to.have.lengthOf(50);
    expect([...result.latencies]).to.deep.equal([...result.latencies].sort((a, b) => a - b));
  });

  it('keeps as many requests under way as it is told, and no more', async () => {
    const waiting: ServerResponse[] = [];
    let most = 0;
    const target = await serve((_, response) => {
      waiting.push(response);
      most = Math.max(most, waiting.length);
      if (waiting.length >= options.concurrency) {
        for (const held of waiting.splice(0)) {
          held.end('{"ok":true}');
        }
      }
    });
    const requests = Array.from({ length: 10 * options.concurrency }, () => post(target, '/token', 'a=b'));
    expect((await driveLoad(target, requests, options)).answered).to.equal(40);
    expect(most).to.equal(4);
  });

  it('reads an answer that comes in pieces or in chunks', async () => {
    const target = await serve((_, response) => {
      response.write('{"ok":true');
      setImmediate(() => response.end(',"more":1}'));
    });
    expect((await driveLoad(target, [post(target, '/', ''), post(target, '/', '')], options)).answered).to.equal(2);
  });

  it('ends at the first answer that is not 200, and says what it was', async () => {
    const target = await serve((_, response) => response.writeHead(400).end('{"ok":true,"error":"invalid_scope"}'));
    const error = await failure(driveLoad(target, [post(target, '/', '')], options));
    expect(error).to.be.instanceOf(UnexpectedAnswer);
    expect(String(error)).to.contain('400').and.to.contain('invalid_scope');
  });

  it('ends at a 200 that is not the expected one, and repeats nothing of it', async () => {
    const target = await serve((_, response) => response.end('{"active":false,"token":"secret"}'));
    const error = await failure(driveLoad(target, [post(target, '/', '')], options));
    expect(error).to.be.instanceOf(UnexpectedAnswer);
    expect(String(error)).to.not.contain('secret');
  });

  it('ends when the server hangs up instead of answering', async () => {
    const target = await serve((request) => request.socket.destroy());
    expect(await failure(driveLoad(target, [post(target, '/', '')], options))).to.be.instanceOf(UnexpectedAnswer);
  });
});
