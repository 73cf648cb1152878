/** The guard behind the gateways of docs/examples/guard: each refusal of the table, and what a client forges. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describeRefusal } from '../../../adapters/sdk/tool-server/core/refusal.ts';
import type { ToolServerOptions } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { eventually } from '../../support/eventually.ts';
import { type Gateway, gateways, isInstalled, type StartedGateway, startGateway } from '../../support/gateways.ts';
import { answering, type Loopback, startLoopback } from '../../support/loopback.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { planeForEachTest } from '../../support/tool-server/control-plane.ts';
import { decideConfiguration, patternOf } from '../../support/tool-server/decided-app.ts';
import { GUARDED } from '../../support/tool-server/guarded-apps.ts';
import { proxyConfiguration } from '../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../support/tool-server/raw-request.ts';
import { NOBODY, NOW, VERIFIED } from '../../support/tool-server/refusal-case.ts';
import { makeCaseKeys, refusalCases } from '../../support/tool-server/refusal-cases.ts';
import { serveGuard } from '../../support/tool-server/served-guard.ts';

const fileOf = (name: string) => fileURLToPath(new URL(`../../../docs/examples/guard/${name}`, import.meta.url));

/** The mode of the guard behind each gateway. */
const MODES = { nginx: 'decide', caddy: 'decide', haproxy: 'decide', apache: 'proxy' } as const;
const APP = 'https://app.example';
/** Longer than HAProxy would let a stream be silent with the limits that its manual proposes. */
const SILENT_MS = 35_000;
const LARGE = 4 * 1024 * 1024;

/** The status of `malformed_request` in each mode. */
const MALFORMED = { decide: 403, proxy: 400 } as const;

for (const kind of Object.keys(MODES) as (keyof typeof MODES)[]) {
  const gateway: Gateway = gateways[kind];
  const passesOn = MODES[kind] === 'proxy';

  describe(`docs/examples/guard/${gateway.file}`, function () {
    this.timeout(60_000);
    if (!isInstalled(gateway)) {
      it(`is skipped: ${gateway.program} is not installed`, function () {
        this.skip();
      });
      return;
    }

    const fixture = planeForEachTest(() => NOW);
    const { events } = fixture;
    let port: number;
    let upstream: Loopback;
    let folder: string;
    let started: StartedGateway;
    let guard: { stop(): Promise<void> } | undefined;
    before(async () => {
      await makeCaseKeys();
      port = await freePort();
      upstream = await startLoopback(answering({ read: true }));
      folder = mkdtempSync(join(tmpdir(), 'mandate-guard-'));
      const guardAt = `127.0.0.1:${port}`;
      const lua = join(folder, 'haproxy.lua');
      writeFileSync(lua, readFileSync(fileOf('haproxy.lua'), 'utf8').replace('127.0.0.1:8099', guardAt));
      const addresses = {
        '127.0.0.1:8099': guardAt,
        '127.0.0.1:3000': new URL(upstream.url).host,
        '/etc/haproxy/haproxy.lua': lua,
      };
      started = await startGateway(gateway, addresses, readFileSync(fileOf(gateway.file), 'utf8'));
    });
    beforeEach(() => start());
    afterEach(async () => {
      await guard?.stop();
      upstream.received.length = 0;
      upstream.answer = answering({ read: true });
    });
    after(async () => {
      await started.close();
      await upstream.close();
      rmSync(folder, { recursive: true });
    });

    /** @param issuer of the guard's file: that of the tool server when absent */
    async function start(options: Partial<ToolServerOptions> = {}, issuer?: readonly string[]): Promise<void> {
      const toolServer = fixture.toolServer({ now: () => NOW * 1000 + 250, onError: () => undefined, ...options });
      const decided = decideConfiguration(toolServer.issuer, {
        listen: { host: '127.0.0.1', port },
        origins: new Set([APP]),
        ...(issuer && { issuer }),
      });
      const { routes, open, listen, origins } = decided;
      const inFront = { routes, open, listen, origins, ...(issuer && { issuer }) };
      guard = await serveGuard(
        toolServer,
        passesOn ? proxyConfiguration(toolServer.issuer, upstream.url, inFront) : decided,
      );
    }

    const bearer = () => [['Authorization', `Bearer ${fixture.plane.token()}`]] as const;
    const ask = (method: string, target: string, headers: readonly (readonly [string, string])[]) =>
      rawRequest(`${started.url}${target}`, method, headers);

    for (const one of refusalCases) {
      const { what, known = NOBODY, route = GUARDED, path = '/issues/OPS-7' } = one;
      const isTwice = what === 'two valid Authorization headers';
      // Apache joins both with a comma.
      const reason = kind === 'apache' && isTwice ? 'malformed_token' : one.reason;
      const { status } = describeRefusal(reason);
      it(`refuses with ${status} ${reason}: ${what}`, async () => {
        const { plane } = fixture;
        await one.prepare?.(plane);
        if (one.options !== undefined) {
          await guard?.stop();
          await start(one.options);
        }
        const headers = one.headers?.(plane) ?? [['Authorization', `bearer ${one.token?.(plane) ?? plane.token()}`]];
        const answer = await ask(route.split(' ')[0] || 'GET', path, headers);
        // nginx itself refuses two Authorization headers.
        const byNginx = kind === 'nginx' && isTwice;
        expect(answer.status).to.equal(byNginx ? 400 : status);
        expect(upstream.received).to.deep.equal([]);
        if (byNginx) return;
        const challenge = answer.headers['www-authenticate'];
        if (status === 503)
          expect([challenge, answer.headers['retry-after']]).to.deep.equal([undefined, one.retryAfter]);
        else if (reason === 'missing_token') expect(challenge).to.match(/^Bearer realm="[^"]+"$/);
        else
          expect(challenge)
            .to.include(`error="${describeRefusal(reason).error}"`)
            .and.to.include(one.remark ?? '');
        const inEvent = reason === 'unknown_route' ? null : patternOf(route);
        expect(events.map((event) => [event.route, event.reason, event.sub])).to.deep.equal([
          [inEvent, reason, known.sub ?? null],
        ]);
      });
    }

    it('passes on no header from which a framework could take another method or path', async () => {
      const replacing = [
        ...['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'],
        ...['Script-Name', 'SCRIPT_NAME', 'X-Script-Name', 'Path-Info'],
      ];
      for (const name of replacing) {
        const { status } = await ask('GET', '/issues/7', [...bearer(), [name, '/issues']]);
        expect([200, 403], name).to.include(status);
      }
      const names = upstream.received.flatMap(({ headers }) => Object.keys(headers));
      expect(names.filter((name) => replacing.some((each) => each.toLowerCase() === name))).to.deep.equal([]);
    });

    it('passes an allowed request on as it came, with who acts for whom and without the token', async () => {
      const forged = [
        ['Mandate-Subject', 'grace'],
        ['mandate-agent', 'agent:forged'],
        ['Mandate_Subject', 'grace'],
        ['Mandate-Task', 'task_forged'],
        ['Mandate-Scope', 'jira:admin'],
        ['Mandate-Issuer', 'https://evil.example'],
        ['Mandate-Chain', 'agent:forged'],
      ] as const;
      const target = '/issues/a%20b;c?q=%2e%2e/%2f';
      expect((await ask('GET', target, [...bearer(), ...forged])).status).to.equal(200);
      expect((await ask('GET', '/healthz', [...bearer(), ...forged])).status).to.equal(200);
      const seen = upstream.received.map(({ path, headers }) => [
        path,
        // Some gateways drop an empty header, and some send it.
        Object.entries(headers)
          .filter(([name, value]) => /^(mandate|authorization)/.test(name) && value !== '')
          .sort(),
      ]);
      expect(seen).to.deep.equal([
        [
          target,
          [
            ['mandate-agent', VERIFIED.act],
            // A policy accepts three agents.
            ['mandate-chain', VERIFIED.act],
            ['mandate-scope', 'jira:read jira:comment'],
            ['mandate-subject', VERIFIED.sub],
            ['mandate-task', VERIFIED.task_id],
          ],
        ],
        ['/healthz', []],
      ]);
    });

    it('passes on the control plane of the person where the guard has a list of them, and never that of the client', async () => {
      await guard?.stop();
      await start({}, [fixture.plane.issuer]);
      const forged = ['Mandate-Issuer', 'https://evil.example'] as const;
      for (const target of ['/issues/7', '/healthz']) {
        expect((await ask('GET', target, [...bearer(), forged])).status).to.equal(200);
      }
      const seen = upstream.received.map(({ headers }) => headers['mandate-issuer'] ?? '');
      expect(seen).to.deep.equal([fixture.plane.issuer, '']);
    });

    it('lets no header of the client name another request', async () => {
      const open = [
        ['X-Forwarded-Method', 'GET'],
        ['X-Forwarded-Uri', '/healthz'],
        ['X-Original-Method', 'GET'],
        ['X-Original-URI', '/healthz'],
      ] as const;
      expect((await ask('GET', '/issues/7', open)).status).to.equal(401);
      expect((await ask('DELETE', '/nothing', [...open, ...bearer()])).status).to.equal(403);
      expect(upstream.received).to.deep.equal([]);
      expect((await ask('GET', '/issues/7', [...open, ...bearer()])).status).to.equal(200);
      expect(events.map(({ route }) => route)).to.deep.equal(['GET /issues/*', null, 'GET /issues/*']);
      const names = open.map(([name]) => name.toLowerCase());
      if (passesOn) expect(upstream.received[0]?.headers).not.to.have.any.keys(names);
    });

    const unclear = ['/issues/../admin', '/issues/%2e%2e/admin', '/issues/..;/admin', '/issues//7', '/issues/a%2fb'];
    for (const target of kind === 'apache' ? unclear : [...unclear, '//issues/7']) {
      it(`refuses ${target} with ${MALFORMED[MODES[kind]]} malformed_request and its challenge`, async () => {
        const raw = await rawTarget(target);
        expect(raw)
          .to.include(`HTTP/1.1 ${MALFORMED[MODES[kind]]} `)
          .and.to.match(/\r\nWWW-Authenticate: Bearer .*error="invalid_request"/i);
        expect(events.map(({ route, reason }) => [route, reason])).to.deep.equal([[null, 'malformed_request']]);
        expect(upstream.received).to.deep.equal([]);
      });
    }

    if (kind === 'apache') {
      it('cuts a second slash at the beginning off, so that the guard and the service see one path', async () => {
        expect(await rawTarget('//issues/7')).to.match(/^HTTP\/1\.1 200 /);
        expect(events.map(({ route }) => route)).to.deep.equal(['GET /issues/*']);
        expect(upstream.received.map(({ path }) => path)).to.deep.equal(['/issues/7']);
      });
    }

    // The status of Caddy itself.
    const away = kind === 'caddy' ? 502 : 503;
    it(`answers ${away} while the guard is away, and 500 if its event cannot be written`, async () => {
      await guard?.stop();
      expect((await ask('GET', '/issues/7', bearer())).status).to.equal(away);
      await start({ onAccess: () => Promise.reject(new Error('The log is full.')) });
      expect((await ask('GET', '/issues/7', bearer())).status).to.equal(500);
      expect(upstream.received).to.deep.equal([]);
    });

    it('lets scripts of a listed origin read what the guard refuses, and leaves the answers of the service alone', async () => {
      const other = ['Authorization', `Bearer ${fixture.plane.token({ scope: 'jira:admin' })}`] as const;
      const origin = ['Origin', APP] as const;
      const shared = (headers: Readonly<Record<string, unknown>>) =>
        ['access-control-allow-origin', 'access-control-expose-headers', 'vary'].map((name) => headers[name]);
      const refused = [await ask('GET', '/issues/7', [origin]), await ask('GET', '/issues/7', [origin, other])];
      expect(refused.map(({ status }) => status)).to.deep.equal([401, 403]);
      for (const { headers } of refused) {
        expect(shared(headers)).to.deep.equal([APP, 'WWW-Authenticate, Retry-After, Mcp-Session-Id', 'Origin']);
      }
      const closed = await ask('GET', '/issues/7', [['Origin', 'https://other.example']]);
      expect(shared(closed.headers)).to.deep.equal([undefined, undefined, 'Origin']);
      const allowed = await ask('GET', '/issues/7', [origin, ...bearer()]);
      expect([allowed.status, ...shared(allowed.headers)]).to.deep.equal([200, undefined, undefined, undefined]);
    });

    it('passes each part of a stream on at once, also after half a minute of silence', async () => {
      let stream: ServerResponse | undefined;
      upstream.answer = (_, response) => {
        stream = response;
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      };
      const raw = await rawConnection(started.url);
      const [name, value] = bearer()[0];
      raw.send(`GET /issues/7 HTTP/1.1\r\nHost: ${new URL(started.url).host}\r\n${name}: ${value}\r\n\r\n`);
      expect(await raw.until('data: 1')).to.match(/^HTTP\/1\.1 200 .*data: 1/s);
      stream?.write('data: 2\n\n');
      expect(await raw.until('data: 2')).to.include('data: 2');
      await pause(SILENT_MS);
      stream?.write('data: 3\n\n');
      // It also returns at the end of the connection.
      expect(await raw.until('data: 3')).to.include('data: 3');
      raw.leave();
      // The gateway notices at the next event that the client has left.
      await eventually(() => stream?.write('data: 4\n\n') === false || stream?.closed === true);
      stream?.destroy();
    });

    it('passes large bodies on in both directions', async () => {
      upstream.answer = ({ body }, response) => response.end(body);
      const token = fixture.plane.token({ scope: 'jira:read jira:comment' });
      const body = 'x'.repeat(LARGE);
      const sent = await fetch(`${started.url}/issues/OPS-7/comments`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body,
      });
      expect([sent.status, (await sent.text()) === body]).to.deep.equal([200, true]);
    });

    /** `fetch` and `http.request` would resolve dot segments. */
    async function rawTarget(target: string): Promise<string> {
      const raw = await rawConnection(started.url);
      const headers = bearer().map(([name, value]) => `${name}: ${value}\r\n`);
      raw.send(
        `GET ${target} HTTP/1.1\r\nHost: ${new URL(started.url).host}\r\nConnection: close\r\n${headers.join('')}\r\n`,
      );
      return raw.until('never sent');
    }
  });
}
