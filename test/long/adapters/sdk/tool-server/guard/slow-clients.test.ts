/** Clients that are slow for minutes, with the limits of the guard. Node has the clock of these limits, so the tests wait. */

import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../../../../support/eventually.ts';
import { rawConnection } from '../../../../../support/raw-http.ts';
import { proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';

const READERS = 20;
const QUIET_MS = 125_000;

function* endless(): Generator<Buffer> {
  while (true) yield Buffer.alloc(1024 * 1024);
}

describe('The guard', function () {
  this.timeout(200_000);
  const proxy = proxyForEachTest();

  it('cuts clients that read nothing within a minute, with the answers of the upstream, and no silent stream in two', async () => {
    const streams: ServerResponse[] = [];
    const ended: number[] = [];
    const began = performance.now();
    const url = await proxy.start(({ url: target }, response) => {
      if (target === '/stream') {
        streams.push(response);
        response.write('begun');
      } else pipeline(Readable.from(endless()), response, () => ended.push((performance.now() - began) / 1000));
    });
    const ask = async (target: string) => {
      const client = await rawConnection(url);
      client.send(`GET ${target} HTTP/1.1\r\nHost: x\r\n${proxy.bearer().join(': ')}\r\n\r\n`);
      return client;
    };
    const stream = await ask('/stream');
    const readers = await Promise.all(Array.from({ length: READERS }, () => ask('/large')));
    for (const { socket } of readers) socket.pause();
    await pause(QUIET_MS);
    expect(ended).to.have.lengthOf(READERS);
    expect(Math.min(...ended)).to.be.above(28);
    expect(Math.max(...ended)).to.be.below(75);
    streams[0]?.write('the next event');
    await eventually(() => stream.received().includes('the next event'));
    expect(stream.socket.destroyed).to.equal(false);
    for (const client of [stream, ...readers]) client.leave();
    expect(proxy.errors).to.deep.equal([]);
  });
});
