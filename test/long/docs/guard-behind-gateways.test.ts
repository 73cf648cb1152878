/** The guard behind the gateways of docs/examples/guard: each refusal of the table, and what a client forges. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describeRefusal } from '../../../adapters/sdk/tool-server/core/refusal.ts';
import type { ToolServerOptions } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { decideMode } from '../../../adapters/sdk/tool-server/guard/decide-mode.ts';
import { type GuardServer, startGuardServer } from '../../../adapters/sdk/tool-server/guard/guard-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { gateways, isInstalled, type StartedGateway, startGateway } from '../../support/gateways.ts';
import { answering, type Loopback, startLoopback } from '../../support/loopback.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { planeForEachTest } from '../../support/tool-server/control-plane.ts';
import { decideConfiguration, patternOf, STOPPING } from '../../support/tool-server/decided-app.ts';
import { GUARDED } from '../../support/tool-server/guarded-apps.ts';
import { rawRequest } from '../../support/tool-server/raw-request.ts';
import { NOBODY, NOW, VERIFIED } from '../../support/tool-server/refusal-case.ts';
import { makeCaseKeys, refusalCases } from '../../support/tool-server/refusal-cases.ts';

const fileOf = (name: string) => fileURLToPath(new URL(`../../../docs/examples/guard/${name}`, import.meta.url));

for (const kind of ['nginx', 'caddy', 'haproxy'] as const) {
  const gateway = gateways[kind];

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
    let guard: GuardServer | undefined;
    before(async () => {
      await makeCaseKeys();
      port = await freePort();
      upstream = await startLoopback(answering({ read: true }));
      folder = mkdtempSync(join(tmpdir(), 'mandate-guard-'));
      const lua = join(folder, 'haproxy.lua');
      const guardAt = `127.0.0.1:${port}`;
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
    });
    after(async () => {
      await started.close();
      await upstream.close();
      rmSync(folder, { recursive: true });
    });

    async function start(options: Partial<ToolServerOptions> = {}): Promise<void> {
      const mode = decideMode();
      const toolServer = fixture.toolServer({ now: () => NOW * 1000 + 250, onError: () => undefined, ...options });
      mode.use(toolServer, decideConfiguration(toolServer.issuer));
      guard = await startGuardServer(
        { host: '127.0.0.1', port },
        { ...mode, onError: () => undefined, stopping: STOPPING },
      );
    }

    const bearer = () => [['Authorization', `Bearer ${fixture.plane.token()}`]] as const;
    const ask = (method: string, target: string, headers: readonly (readonly [string, string])[]) =>
      rawRequest(`${started.url}${target}`, method, headers);

    for (const one of refusalCases) {
      const { reason, what, known = NOBODY, route = GUARDED, path = '/issues/OPS-7' } = one;
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
        const byNginx = kind === 'nginx' && what === 'two valid Authorization headers';
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

    it('passes an allowed request on as it came, with who acts for whom and without the token', async () => {
      const forged = [
        ['Mandate-Subject', 'grace'],
        ['mandate-agent', 'agent:forged'],
        ['Mandate_Subject', 'grace'],
        ['Mandate-Task', 'task_forged'],
        ['Mandate-Scope', 'jira:admin'],
      ] as const;
      const target = '/issues/a%20b;c?q=%2e%2e/%2f';
      expect((await ask('GET', target, [...bearer(), ...forged])).status).to.equal(200);
      expect((await ask('GET', '/healthz', [...bearer(), ...forged])).status).to.equal(200);
      const seen = upstream.received.map(({ path, headers }) => [
        path,
        // Some gateways drop an empty header, and some send it.
        Object.entries(headers).filter(([name, value]) => /^(mandate|authorization)/.test(name) && value !== ''),
      ]);
      expect(seen).to.deep.equal([
        [
          target,
          [
            ['mandate-subject', VERIFIED.sub],
            ['mandate-agent', VERIFIED.act],
            ['mandate-task', VERIFIED.task_id],
            ['mandate-scope', 'jira:read jira:comment'],
          ],
        ],
        ['/healthz', []],
      ]);
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
    });

    for (const target of [
      '/issues/../admin',
      '/issues/%2e%2e/admin',
      '/issues/..;/admin',
      '//issues/7',
      '/issues/a%2fb',
    ]) {
      it(`refuses ${target} with 403 malformed_request and its challenge`, async () => {
        const raw = await rawTarget(target);
        expect(raw)
          .to.match(/^HTTP\/1\.1 403 /)
          .and.to.match(/\r\nWWW-Authenticate: Bearer .*error="invalid_request"/i);
        expect(events.map(({ route, reason }) => [route, reason])).to.deep.equal([[null, 'malformed_request']]);
        expect(upstream.received).to.deep.equal([]);
      });
    }

    it('answers 503 while the guard is away, and 500 if its event cannot be written', async () => {
      await guard?.stop();
      expect((await ask('GET', '/issues/7', bearer())).status).to.equal(503);
      await start({ onAccess: () => Promise.reject(new Error('The log is full.')) });
      expect((await ask('GET', '/issues/7', bearer())).status).to.equal(500);
      expect(upstream.received).to.deep.equal([]);
    });

    /** `fetch` and `http.request` would resolve dot segments. */
    async function rawTarget(target: string): Promise<string> {
      const raw = await rawConnection(started.url);
      const headers = bearer().map(([name, value]) => `${name}: ${value}\r\n`);
      raw.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers.join('')}\r\n`);
      return raw.until('never sent');
    }
  });
}
