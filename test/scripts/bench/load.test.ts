import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { driveClosedLoop, driveOpenLoop, type Target, toBytes, UnexpectedAnswer } from '../../../scripts/bench/load.ts';

function post(target: Target, path: string, body: string): Buffer {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return toBytes(target, { method: 'POST', path, headers, body });
}

describe('each load generator of the benchmark', () => {
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

  function failure(promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('sends every prepared request once, and measures each one', async () => {
    const bodies: string[] = [];
    const target = await serve(async (request, response) => {
      bodies.push(Buffer.concat(await request.toArray()).toString());
      response.end('{"ok":true}');
    });
    const sent = Array.from({ length: 50 }, (_, index) => `request=${index}`);
    const result = await driveClosedLoop(
      target,
      sent.map((body) => post(target, '/token', body)),
      options,
    );
    expect(bodies).to.have.members(sent);
    expect(result.answered).to.equal(50);
    expect(result.latencies).to.have.lengthOf(50);
    expect([...result.latencies]).to.deep.equal([...result.latencies].sort((a, b) => a - b));
  });

  it('keeps exactly the given number of requests in progress', async () => {
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
    expect((await driveClosedLoop(target, requests, options)).answered).to.equal(40);
    expect(most).to.equal(4);
  });

  it('reads a response that comes in several chunks', async () => {
    const target = await serve((_, response) => {
      response.write('{"ok":true');
      setImmediate(() => response.end(',"more":1}'));
    });
    expect((await driveClosedLoop(target, [post(target, '/', ''), post(target, '/', '')], options)).answered).to.equal(
      2,
    );
  });

  it('stops at the first response that is not 200, with its status and body in the error', async () => {
    const target = await serve((_, response) => response.writeHead(400).end('{"ok":true,"error":"invalid_scope"}'));
    const error = await failure(driveClosedLoop(target, [post(target, '/', '')], options));
    expect(error).to.be.instanceOf(UnexpectedAnswer);
    expect(String(error)).to.contain('400').and.to.contain('invalid_scope');
  });

  it('stops at a 200 without the expected text, without its body in the error', async () => {
    const target = await serve((_, response) => response.end('{"active":false,"token":"secret"}'));
    const error = await failure(driveClosedLoop(target, [post(target, '/', '')], options));
    expect(error).to.be.instanceOf(UnexpectedAnswer);
    expect(String(error)).to.not.contain('secret');
  });

  it('stops if the server closes a connection without an answer', async () => {
    const target = await serve((request) => request.socket.destroy());
    expect(await failure(driveClosedLoop(target, [post(target, '/', '')], options))).to.be.instanceOf(UnexpectedAnswer);
  });

  it('counts, at a fixed rate, the responses of each status and the unanswered requests', async () => {
    const statuses = [200, 503];
    const target = await serve((request, response) => {
      if (request.url === '/lost') request.socket.destroy();
      else response.writeHead(statuses[Number(request.url?.slice(1))] ?? 500, { connection: 'close' }).end('{}');
    });
    const requests = ['/0', '/1', '/0', '/lost', '/0'].map((path) => post(target, path, ''));
    for (const newConnections of [false, true]) {
      const result = await driveOpenLoop(target, requests, { rate: 500, seconds: 1, newConnections });
      expect([result.byStatus.get(200)?.count, result.byStatus.get(503)?.count, result.lost]).to.deep.equal([3, 1, 1]);
      expect(result.byStatus.get(200)?.latencies).to.have.lengthOf(3);
    }
  });
});
