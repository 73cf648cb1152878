/** The guard as a process: its two programs, its signals and its streams. */

import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { calculateJwkThumbprint } from 'jose';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { type CommandProcess, startCommand } from '../../support/command-process.ts';
import { eventually } from '../../support/eventually.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { byLength } from '../../support/length.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { answering, loopbackForSuite, startLoopback } from '../../support/loopback.ts';
import { scrape } from '../../support/metrics-scrape.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { AUDIENCE, planeForEachTest } from '../../support/tool-server/control-plane.ts';
import { rawRequest } from '../../support/tool-server/raw-request.ts';
import { statusMember } from '../../support/tool-server/status-lists.ts';

const AUTHORITY = fileURLToPath(new URL('../../support/tls/ca.pem', import.meta.url));
const MANY = byLength({ short: 100, full: 1000 });
/** Whether programs also start for what tests of test/adapters/sdk/tool-server/guard and of this folder hold. */
const isWhole = byLength({ short: false, full: true });
const BIN = new URL('../../../composition/guard/mandate-guard.ts', import.meta.url);

/** Both programs of the guard. */
const programs: readonly (readonly [name: string, run: (args: readonly string[], shell?: string) => CommandProcess])[] =
  [
    ['mandate guard', (args, shell) => startCommand(['guard', ...args], {}, shell)],
    ['mandate-guard', (args, shell) => startCommand(args, {}, shell, BIN)],
  ];

describe('The program', function () {
  this.timeout(60_000);
  const fixture = planeForEachTest();
  const upstream = loopbackForSuite();
  let folder: string;
  let file: string;
  let port: number;
  let metricsPort: number;
  let running: CommandProcess | undefined;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-guard-'));
    file = join(folder, 'guard.yaml');
  });
  beforeEach(async () => {
    [port, metricsPort] = [await freePort(), await freePort()];
  });
  afterEach(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
    running = undefined;
  });
  after(() => rmSync(folder, { recursive: true }));

  function write(match: string, more = ''): void {
    writeFileSync(
      file,
      `issuer: ${fixture.plane.issuer}
audience: ${AUDIENCE}
mode: decide
listen: 127.0.0.1:${port}
metrics_port: ${metricsPort}
routes:
  - {match: ${match}, scope: [jira:read]}
${more}`,
    );
  }

  function writeProxy(match: string, at = upstream.url): void {
    write(match, `upstream: ${at}\n`);
    writeFileSync(file, readFileSync(file, 'utf8').replace('mode: decide', 'mode: proxy'));
  }
  const sendTo = (path: string) =>
    rawRequest(`http://127.0.0.1:${port}${path}`, 'GET', [['Authorization', `Bearer ${fixture.plane.token()}`]]);

  async function ask(uri: string, token = fixture.plane.token()) {
    const { status, body } = await rawRequest(`http://127.0.0.1:${port}/decide`, 'GET', [
      ['X-Original-Method', 'GET'],
      ['X-Original-URI', uri],
      ['Authorization', `Bearer ${token}`],
    ]);
    return body === '' ? status : `${status} ${JSON.parse(body).reason}`;
  }

  for (const [name, run] of programs) {
    describe(name, () => {
      /** Both programs read the file, and refuse options, with the same functions. Each has a reader of lines. */
      const isRead = byLength({ short: name === 'mandate guard', full: true });

      it('ends with 0 for a file that it can use, and with 2 and every fault for another one', async () => {
        write('GET /a/*', '  - {match: GET /a/b, scope: [jira:read]}\n');
        const overlap = `${file}:8: GET /a/b overlaps GET /a/* in line 7, which wins.\n`;
        expect(await run(['--config', file, '--check']).ended).to.deep.equal({ code: 0, out: overlap, err: '' });
        write('get /a', 'rout: 1\n');
        for (const args of isRead ? [['--check'], []] : [[]]) {
          const { code, out, err } = await run(['--config', file, ...args]).ended;
          expect([code, out]).to.deep.equal([2, '']);
          expect(err.split('\n').map((line) => line.replace(/ (must|is not) .*/, ''))).to.deep.equal([
            `${file}:7: routes[0].match`,
            `${file}:8: rout`,
            '',
          ]);
        }
      });

      it('decides, writes events, and stops with 0 at SIGTERM', async () => {
        write('GET /a');
        running = run(['--config', file]);
        await running.complained('"message":"listening"');
        expect([await ask('/a'), await ask('/b')]).to.deep.equal([204, '403 unknown_route']);
        running.child.kill('SIGTERM');
        const { code, out, err } = await running.ended;
        const lines = out
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line));
        expect([code, lines.map(({ event, route, reason }) => [event, route, reason])]).to.deep.equal([
          0,
          [
            ['tool.access', 'GET /a', null],
            ['tool.access', null, 'unknown_route'],
          ],
        ]);
        const secret = fixture.plane.token().split('.')[0] ?? '';
        expect(out + err).not.to.include(secret);
      });

      if (!isRead) return;

      it('ends with 2 and repeats no argument for a wrong line', async () => {
        write('GET /a');
        const both = ['--config', file, '--check', '--approval-jwks'];
        const probing = ['--config', file, '--probe', 'http://x1y2', '--approval-jwks'];
        const twice = ['--config', file, '--config', file, '--check'];
        const wrong = [['--secret=x1y2'], probing, twice, ['--config', file, '--probe', 'ftp://x1y2'], both];
        for (const args of byLength({ short: wrong.slice(0, 2), full: wrong })) {
          const { code, out, err } = await run(args).ended;
          expect([code, out]).to.deep.equal([2, '']);
          expect(err)
            .to.match(/--(config|help)/)
            .and.not.to.include('x1y2');
        }
      });

      it('prints the public half of approval_key, as the control plane takes it, and nothing of the private one', async () => {
        write('GET /a', 'upstream: http://127.0.0.1:1\napproval_key: key.pem\n');
        writeFileSync(file, readFileSync(file, 'utf8').replace('mode: decide', 'mode: proxy'));
        const pem = execFileSync('openssl', ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
        writeFileSync(join(folder, 'key.pem'), pem);
        const { code, out, err } = await run(['--config', file, '--approval-jwks']).ended;
        expect([code, err]).to.deep.equal([0, '']);
        const { d: _, ...half } = createPrivateKey(pem).export({ format: 'jwk' });
        const kid = await calculateJwkThumbprint(half);
        const value = { keys: [{ ...half, kid, use: 'sig', alg: 'ES256' }] };
        expect(JSON.parse(out)).to.deep.equal(value);
        const { type } = catalogue['Service:Approvals:Resources:N:Jwks'];
        expect(type.read(out)).to.deep.equal({ kind: 'read', value });
        write('GET /a');
        expect(await run(['--config', file, '--approval-jwks']).ended).to.deep.equal({
          code: 2,
          out: '',
          err: `${file}: approval_key must be given for --approval-jwks\n`,
        });
      });
    });
  }

  const [[, run]] = programs as readonly [(typeof programs)[number]];

  it('says what is wrong with a line, and prints version and help', async () => {
    const library = programs[1]?.[1] ?? run;
    const first = async (args: readonly string[]) => {
      const { code, out, err } = await library(args).ended;
      expect(code === 2 ? err : out).to.include('Usage: mandate-guard');
      expect(out + err).not.to.include('x1y2');
      return `${code} ${err.split('\n')[0]}`;
    };
    expect(await first([])).to.equal('2 --config is missing: the file of the guard.');
    expect(await first(['--confg', 'x1y2'])).to.equal('2 There is no such option.');
    const others: readonly (readonly [args: readonly string[], sentence: string])[] = [
      [['x1y2'], 'An argument belongs to no option.'],
      [['--config'], 'An option lacks its value, or takes none.'],
      [['--config', file, '--probe', 'x1y2'], '--probe takes an http or https URL, without user and password.'],
    ];
    for (const [args, sentence] of byLength({ short: others.slice(0, 1), full: others })) {
      expect(await first(args)).to.equal(`2 ${sentence}`);
    }
    expect(await first(['--help'])).to.equal('0 ');
    const version = JSON.parse(readFileSync('package.json', 'utf8')).version;
    expect(await library(['--version']).ended).to.deep.equal({ code: 0, out: `${version}\n`, err: '' });
  });

  it('reads its file again at SIGHUP, counts it, and keeps the earlier one if the new one is refused', async () => {
    write('GET /a');
    running = run(['--config', file]);
    await running.complained('"message":"listening"');
    expect(await ask('/a')).to.equal(204);
    write('GET /b');
    running.child.kill('SIGHUP');
    await running.complained('and is used');
    expect([await ask('/a'), await ask('/b')]).to.deep.equal(['403 unknown_route', 204]);
    write('GET /*/c');
    running.child.kill('SIGHUP');
    await running.complained('and is refused');
    await running.complained('guard.yaml:7: routes[0].match must have * only at its end');
    metricsPort += 1;
    write('GET /c');
    running.child.kill('SIGHUP');
    await running.complained('metrics_port cannot change while the guard runs: start it again.');
    metricsPort -= 1;
    expect([await ask('/b'), await ask('/c')]).to.deep.equal([204, '403 unknown_route']);

    const { families, value } = await scrape(metricsPort);
    expect([...families.keys()]).to.deep.equal([
      'mandate_guard_requests_total',
      'mandate_guard_unwritten_events_total',
      'mandate_guard_reloads_total',
    ]);
    expect([
      value('mandate_guard_requests_total', { decision: 'allow', reason: '' }),
      value('mandate_guard_requests_total', { decision: 'deny', reason: 'unknown_route' }),
      value('mandate_guard_requests_total', { decision: 'deny', reason: 'expired' }),
      value('mandate_guard_reloads_total', { result: 'used' }),
      value('mandate_guard_reloads_total', { result: 'refused' }),
    ]).to.deep.equal([3, 2, 0, 1, 2]);
    const health = async (path: string) => (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).status;
    expect(await health('/healthz')).to.equal(200);
    expect(await health('/decide')).to.equal(404);
    running.child.kill('SIGTERM');
    // For a second the guard still answers, and says that it ends.
    await eventually(async () => (await health('/healthz')) === 503);
    expect((await running.ended).code).to.equal(0);
  });

  it('says once at which address the control plane does not answer', async () => {
    const closed = await freePort();
    write('GET /a');
    writeFileSync(file, readFileSync(file, 'utf8').replace(fixture.plane.issuer, `http://127.0.0.1:${closed}`));
    running = run(['--config', file]);
    await running.complained('"message":"listening"');
    expect([await ask('/a'), await ask('/a')]).to.deep.equal(['503 keys_unavailable', '503 keys_unavailable']);
    running.child.kill('SIGTERM');
    const { err } = await running.ended;
    const sentence = `The control plane did not answer at http://127.0.0.1:${closed}/.well-known/jwks.json (ECONNREFUSED).`;
    expect(err.split(sentence)).to.have.lengthOf(2);
  });

  it('ends with 1 and a sentence if it cannot listen', async () => {
    const taken = createServer();
    try {
      const ports: readonly (readonly [at: number, names: string])[] = [
        [metricsPort, 'metrics_port, listen'],
        [port, 'listen'],
      ];
      for (const [at, names] of byLength({ short: ports.slice(0, 1), full: ports })) {
        await listen(taken, at);
        write('GET /a');
        const { code, err } = await run(['--config', file]).ended;
        expect([code, err]).to.deep.equal([1, `Port ${at} on 127.0.0.1 is already in use (${names}).\n`]);
        await closeServer(taken);
      }
    } finally {
      await closeServer(taken);
    }
  });

  it('refuses every request after the reader of its events has left, ends with 1, and says so', async () => {
    write('GET /a');
    running = run(['--config', file]);
    await running.complained('"message":"listening"');
    running.child.stdout?.destroy();
    // The system may still take the first event.
    const answers = [await ask('/a'), await ask('/a')];
    expect(answers.at(-1)).to.equal('500 undefined');
    expect((await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).status).to.equal(503);
    const { code, err } = await running.ended;
    expect(code).to.equal(1);
    const errors = err.split('\n').filter((line) => line.includes('"error"'));
    expect(errors.map((line) => JSON.parse(line).message)).to.deep.equal([
      'events cannot be written: every request that needs a token is refused',
      'standard output takes no more events: the guard ends',
    ]);
    expect(errors[0]).to.include('"code":"EPIPE"');
  });

  if (isWhole) {
    it('goes on after the reader of its log has left', async () => {
      write('GET /a');
      running = run(['--config', file]);
      await running.complained('"message":"listening"');
      running.child.stderr?.destroy();
      // Each is a line of the log.
      for (let nth = 0; nth < 3; nth += 1) {
        running.child.kill('SIGHUP');
        expect(await ask('/a')).to.equal(204);
      }
      running.child.kill('SIGTERM');
      expect((await running.ended).code).to.equal(0);
    });
  }

  it('refuses every request and is unhealthy while the disk of its events is full, and counts them apart', async () => {
    write('GET /a');
    running = run(['--config', file], 'exec >/dev/full');
    await running.complained('"message":"listening"');
    const health = async () => (await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).status;
    expect(await health()).to.equal(200);
    expect([await ask('/a'), await ask('/b'), await ask('/a')]).to.deep.equal([
      '500 undefined',
      '403 unknown_route',
      '500 undefined',
    ]);
    expect(await health()).to.equal(503);
    const { value } = await scrape(metricsPort);
    expect([
      value('mandate_guard_requests_total', { decision: 'allow', reason: '' }),
      value('mandate_guard_requests_total', { decision: 'deny', reason: 'unknown_route' }),
      value('mandate_guard_unwritten_events_total', { decision: 'allow' }),
      value('mandate_guard_unwritten_events_total', { decision: 'deny' }),
    ]).to.deep.equal([0, 0, 2, 1]);
    running.child.kill('SIGTERM');
    const { code, err } = await running.ended;
    expect([code, err.split('events cannot be written').length]).to.deep.equal([0, 2]);
    expect(err).to.include('"code":"ENOSPC"');
  });

  it('passes on what it allows in the mode proxy, with one line for a fault of the upstream, of approvals or of a list', async () => {
    writeFileSync(join(folder, 'approval.pem'), fixture.plane.key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    write(
      'GET /a',
      `  - {match: GET /b, scope: [jira:read], approval: {title: Pay}}\nupstream: ${upstream.url}\napproval_key: approval.pem
mcp: {path: /mcp, list: allowed, tools: {read: {scope: [jira:read]}}}\n`,
    );
    writeFileSync(file, readFileSync(file, 'utf8').replace('mode: decide', 'mode: proxy'));
    upstream.answer = answering({ passed: true }, 200);
    running = run(['--config', file]);
    await running.complained('"message":"listening"');
    const send = () => sendTo('/a');
    expect((await send()).body).to.equal('{"passed":true}');
    expect(upstream.received.map(({ headers }) => [headers['mandate-subject'], headers.authorization])).to.deep.equal([
      ['ada', undefined],
    ]);
    upstream.answer = (_, response) => response.destroy();
    expect((await send()).status).to.equal(502);
    expect((await sendTo('/b')).status).to.equal(503);
    upstream.answer = (_, response) => response.end('no JSON');
    expect((await sendTo('/mcp')).body).to.include('-32603');
    running.child.kill('SIGTERM');
    const { code, out, err } = await running.ended;
    const lines = (text: string) => text.split('\n').filter((line) => line !== '');
    expect([code, lines(out).map((line) => JSON.parse(line).reason)]).to.deep.equal([
      0,
      [null, null, 'approval_unavailable', null],
    ]);
    const errors = lines(err).filter((line) => line.includes('"error"'));
    expect(errors.map((line) => JSON.parse(line).message)).to.deep.equal([
      `The upstream ${upstream.url} did not answer (ECONNRESET).`,
      `The control plane ${fixture.plane.issuer} has no endpoint for approvals. Its setting Service:Approvals:Enabled switches it on.`,
      'The lists in an answer of the MCP server cannot be cut, because it is not JSON. The client gets an error in its place.',
    ]);
  });

  it('reaches an upstream behind https under its own name, and none whose certificate it does not trust', async () => {
    const secure = await startLoopback(answering({ passed: true }), { tls: true });
    try {
      writeProxy('GET /a', secure.url);
      for (const [NODE_EXTRA_CA_CERTS, status] of [
        [undefined, 502],
        [AUTHORITY, 200],
      ] as const) {
        running = startCommand(['--config', file], { NODE_EXTRA_CA_CERTS }, undefined, BIN);
        await running.complained('"message":"listening"');
        expect((await sendTo('/a')).status).to.equal(status);
        running.child.kill('SIGKILL');
        const { err } = await running.ended;
        expect(err.includes('did not answer (UNABLE_TO_VERIFY_LEAF_SIGNATURE)')).to.equal(status === 502);
      }
      expect(secure.received.map(({ headers }) => [headers.host, headers['mandate-subject']])).to.deep.equal([
        [new URL(secure.url).host, 'ada'],
      ]);
    } finally {
      await secure.close();
    }
  });

  it('ends soon at SIGTERM although an upstream accepts no connection', async () => {
    let ask = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    // It never sends its part of the TLS handshake.
    const silent = createTcpServer((socket) => socket.on('error', () => undefined).once('data', ask));
    const at = await listen(silent);
    try {
      writeProxy('GET /a', `https://127.0.0.1:${at}`);
      running = run(['--config', file]);
      await running.complained('"message":"listening"');
      const client = await rawConnection(`http://127.0.0.1:${port}`);
      client.send(`GET /a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fixture.plane.token()}\r\n\r\n`);
      await asked;
      client.leave();
      running.child.kill('SIGTERM');
      const began = Date.now();
      expect((await running.ended).code).to.equal(0);
      expect(Date.now() - began).to.be.below(8000);
    } finally {
      silent.close();
    }
  });

  if (isWhole) {
    it('warns once of a status list that is not usable, and writes no token', async () => {
      write('GET /a', 'status_list: {on_stale: refuse}\n');
      running = run(['--config', file]);
      await running.complained('"message":"listening"');
      const token = fixture.plane.token({ status: statusMember(fixture.plane, 5) });
      expect([await ask('/a', token), await ask('/a', token)]).to.deep.equal(Array(2).fill('503 status_unavailable'));
      running.child.kill('SIGTERM');
      const { out, err } = await running.ended;
      const warnings = err.split('\n').filter((line) => line.includes('a status list is not usable'));
      expect(warnings.map((line) => JSON.parse(line).level)).to.deep.equal(['warn']);
      expect(warnings[0]).to.include('The answer has the status 404.');
      expect(out + err).not.to.include(token.slice(0, 20));
    });
  }

  it('refuses an ambiguous end of a request also with a flag of Node that accepts it', async () => {
    writeProxy('POST /a');
    running = startCommand(['--config', file], { NODE_OPTIONS: '--insecure-http-parser' }, undefined, BIN);
    await running.complained('"message":"listening"');
    const { answers } = await sendBytes(
      `http://127.0.0.1:${port}`,
      `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer ${fixture.plane.token()}\r\nConnection: close\r\n\r\n0\r\n\r\n`,
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([400]);
  });

  it('only asks the addresses of --probe, beside a guard that runs, and ends with 0 if each refuses or is away', async () => {
    write('GET /a');
    const closed = `http://127.0.0.1:${await freePort()}`;
    const refusing = await startLoopback(answering({}, 401));
    upstream.answer = answering({}, 200);
    running = run(['--config', file]);
    await running.complained('"message":"listening"');
    try {
      const safe = await run(['--config', file, '--probe', refusing.url, '--probe', closed]).ended;
      expect(safe).to.deep.equal({
        code: 0,
        out: '1. The address of --probe refuses a request without a token with 401.\n2. The address of --probe cannot be reached from here (ECONNREFUSED).\n',
        err: '',
      });
      const answers = `The address of --probe answers a request without a token with 200, not with 401 or 403: requests reach the upstream around the guard.\n`;
      const both = await run(['--config', file, '--probe', refusing.url, '--probe', upstream.url, '--check']).ended;
      expect(both).to.deep.equal({
        code: 1,
        out: '1. The address of --probe refuses a request without a token with 401.\n',
        err: `2. ${answers}`,
      });
      write('get /a');
      expect((await run(['--config', file, '--probe', refusing.url]).ended).code).to.equal(2);
    } finally {
      await refusing.close();
    }
  });

  it(`decides each of ${MANY} requests under one of two files while they replace each other`, async () => {
    upstream.answer = answering({ passed: true });
    writeProxy('GET /a');
    running = run(['--config', file]);
    const { child, ended, complained } = running;
    await complained('"message":"listening"');
    const statuses = new Map<string, number>();
    let isOver = false;
    const clients = Array.from({ length: 20 }, async (_, nth) => {
      const path = nth % 2 === 0 ? '/a' : '/b';
      for (let sent = 0; sent < MANY / 20; sent += 1) {
        const outcome = `${path} ${(await sendTo(path)).status}`;
        statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
      }
    });
    const replacing = (async () => {
      for (let nth = 1; !isOver; nth += 1) {
        writeProxy(nth % 2 === 0 ? 'GET /a' : 'GET /b');
        child.kill('SIGHUP');
        await pause(10);
      }
    })();
    await Promise.all(clients);
    isOver = true;
    await replacing;
    child.kill('SIGTERM');
    const { code, out, err } = await ended;
    const of = (outcome: string) => statuses.get(outcome) ?? 0;
    // Each of both files held for some of the requests of either path.
    expect([...statuses.keys()]).to.have.members(['/a 200', '/a 403', '/b 200', '/b 403']);
    const allowed = of('/a 200') + of('/b 200');
    expect(allowed + of('/a 403') + of('/b 403')).to.equal(MANY);
    expect(upstream.received).to.have.lengthOf(allowed);
    const decisions = out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    expect(decisions).to.have.lengthOf(MANY);
    expect(decisions.filter(({ decision }) => decision === 'allow')).to.have.lengthOf(allowed);
    expect([code, err.includes('"error"')]).to.deep.equal([0, false]);
  });

  if (isWhole) {
    it('ends with 1 at --probe of an upstream that answers without the guard', async () => {
      write('GET /a');
      upstream.answer = answering({}, 200);
      const { code, out, err } = await run(['--config', file, '--probe', `${upstream.url}/a`]).ended;
      expect([code, out]).to.deep.equal([1, '']);
      expect(err).to.equal(
        'The address of --probe answers a request without a token with 200, not with 401 or 403: requests reach the upstream around the guard.\n',
      );
    });
  }

  it('ends with 1 if what it reports cannot be written', async () => {
    write('GET /a/*', '  - {match: GET /a/b, scope: [jira:read]}\n');
    const { code, err } = await run(['--config', file, '--check'], 'exec >/dev/full').ended;
    expect([code, err]).to.deep.equal([1, 'The report could not be written to standard output.\n']);
  });
});
