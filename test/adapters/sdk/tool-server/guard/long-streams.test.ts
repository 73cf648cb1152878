/** Streams through the proxy that live for minutes. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { asProgram } from '../../../../../scripts/from-source.ts';
import { eventually } from '../../../../support/eventually.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyConfiguration } from '../../../../support/tool-server/proxied-upstream.ts';

const [PROGRAM = ''] = asProgram(new URL('../../../../support/tool-server/hurried-guard.ts', import.meta.url));
const MINUTE = 60_000;

describe('The proxy of the guard', () => {
  let upstream: Server;
  let guard: ChildProcess;
  afterEach(async () => {
    guard.kill('SIGKILL');
    await closeServer(upstream);
  });

  it('cuts in ten minutes no silent stream, and no answer whose time is not over', async () => {
    const answers = new Map<string, ServerResponse>();
    upstream = createServer(({ url = '' }, response) => {
      answers.set(url, response);
      if (url === '/stream') response.write('first');
    });
    const origin = `http://127.0.0.1:${await listen(upstream)}`;
    // Without a token: the keys would have to arrive in 10 ms.
    const open = [matchOf('GET /*')];
    const more = { routes: [], open, upstreamTimeoutMs: 1000 * MINUTE };
    const configuration = proxyConfiguration('http://127.0.0.1:1', origin, more);
    guard = fork(PROGRAM, [JSON.stringify(configuration)], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let complaints = '';
    guard.stderr?.on('data', (chunk) => {
      complaints += chunk;
    });
    const [port] = await once(guard, 'message');
    const ask = async (path: string) => {
      const client = await rawConnection(`http://127.0.0.1:${port}`);
      client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return client;
    };
    const [stream, late] = [await ask('/stream'), await ask('/late')];
    await eventually(() => answers.size === 2 && stream.received().includes('first'));
    guard.send(10 * MINUTE);
    await once(guard, 'message');
    for (const [path, response] of answers) response.end(`the end of ${path}`);
    expect(await stream.until('never sent')).to.match(
      /^HTTP\/1\.1 200 .*first\r\n.*the end of \/stream\r\n0\r\n\r\n$/s,
    );
    expect(await late.until('never sent')).to.match(/^HTTP\/1\.1 200 .*the end of \/late$/s);
    expect(complaints).to.equal('');
  });
});
