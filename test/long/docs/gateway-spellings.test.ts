/**
 * The configurations of docs/examples/gateways and of docs/examples/guard in front of services that put headers into variables.
 * No header of a client becomes a variable that only the gateway or the guard sets, with whatever signs it is spelled.
 */

import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { type Gateway, gateways, isInstalled, type StartedGateway, startGateway } from '../../support/gateways.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { AUDIENCE, type FakeControlPlane, startFakeControlPlane } from '../../support/tool-server/control-plane.ts';
import { decideConfiguration } from '../../support/tool-server/decided-app.ts';
import { type HeaderReader, headerReaders } from '../../support/tool-server/header-readers.ts';
import { proxyConfiguration } from '../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../support/tool-server/raw-request.ts';
import { serveGuard } from '../../support/tool-server/served-guard.ts';
import { TOKEN_SIGNS } from '../../support/tool-server/token-signs.ts';

/** What no client may set, as variables. */
const PERSON = { HTTP_X_MANDATE_PERSON: 'ada', HTTP_X_MANDATE_AGENT: 'agent:triage' };
const CALLER = {
  HTTP_MANDATE_SUBJECT: 'ada',
  HTTP_MANDATE_AGENT: 'agent:triage',
  HTTP_MANDATE_TASK: /^task_\w+$/,
  HTTP_MANDATE_SCOPE: 'jira:read jira:comment',
};
const REPLACING = [
  ...['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'],
  ...['Script-Name', 'X-Script-Name', 'Path-Info', 'Proxy'],
];
const SIGNED_IN = ['Remote-User', 'X-WEBAUTH-USER', 'X-Forwarded-User', 'X-Auth-Request-Email', 'X-Amzn-Oidc-Data'];

type Variables = Readonly<Record<string, string | RegExp>>;

interface Setting {
  readonly folder: 'gateways' | 'guard';
  readonly kind: keyof typeof gateways;
  /** The variables that the gateway or the guard sets, with the token of Ada. */
  readonly set: Variables;
  /** The headers that must not arrive at all. */
  readonly dropped: readonly string[];
}

const settings: readonly Setting[] = [
  { folder: 'gateways', kind: 'nginx', set: PERSON, dropped: ['Proxy'] },
  { folder: 'gateways', kind: 'caddy', set: PERSON, dropped: ['Proxy'] },
  { folder: 'gateways', kind: 'haproxy', set: PERSON, dropped: ['Proxy'] },
  { folder: 'guard', kind: 'nginx', set: CALLER, dropped: REPLACING },
  { folder: 'guard', kind: 'caddy', set: CALLER, dropped: REPLACING },
  { folder: 'guard', kind: 'haproxy', set: CALLER, dropped: REPLACING },
  { folder: 'guard', kind: 'apache', set: CALLER, dropped: [...REPLACING, ...SIGNED_IN] },
];

const nameOfVariable = (variable: string) => variable.replace('HTTP_', '').replaceAll('_', '-');
const variableOf = (name: string) => `HTTP_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

/** Each sign at every place of a hyphen; then two signs in turn. */
const spellings: readonly ((name: string) => string)[] = [
  ...[...TOKEN_SIGNS].map((sign) => (name: string) => name.replaceAll('-', sign)),
  ...['-_', '_-', '-.', '._', '~-'].map((signs) => (name: string) => {
    let at = 0;
    return name.replaceAll('-', () => signs.charAt(at++ % signs.length));
  }),
];

for (const { folder, kind, set, dropped } of settings) {
  const gateway: Gateway = gateways[kind];

  describe(`docs/examples/${folder}/${gateway.file}, with forged headers`, function () {
    this.timeout(120_000);
    if (!isInstalled(gateway)) {
      it(`is skipped: ${gateway.program} is not installed`, function () {
        this.skip();
      });
      return;
    }

    let plane: FakeControlPlane;
    const closing: (() => Promise<unknown>)[] = [];
    beforeEach(async () => {
      plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
      closing.push(() => plane.stop());
    });
    afterEach(async () => {
      for (const close of closing.splice(0).reverse()) await close();
    });

    /** Starts the gateway, and beside or behind it what decides. */
    async function start(upstream: string): Promise<StartedGateway> {
      const home = mkdtempSync(join(tmpdir(), 'mandate-spellings-'));
      closing.push(async () => rmSync(home, { recursive: true }));
      const file = (name: string) =>
        readFileSync(new URL(`../../../docs/examples/${folder}/${name}`, import.meta.url), 'utf8');
      const addresses: Record<string, string> = { '127.0.0.1:3000': new URL(upstream).host };
      if (folder === 'guard') {
        const port = await freePort();
        const { fixed, proxied } = { fixed: { listen: { host: '127.0.0.1', port } }, proxied: kind === 'apache' };
        const { routes, open } = decideConfiguration(plane.issuer);
        const guard = await serveGuard(
          toolServer(),
          proxied
            ? proxyConfiguration(plane.issuer, upstream, { routes, open, ...fixed })
            : decideConfiguration(plane.issuer, fixed),
        );
        closing.push(() => guard.stop());
        addresses['127.0.0.1:8099'] = `127.0.0.1:${port}`;
        const lua = join(home, 'haproxy.lua');
        writeFileSync(lua, file('haproxy.lua').replace('127.0.0.1:8099', `127.0.0.1:${port}`));
        addresses['/etc/haproxy/haproxy.lua'] = lua;
      } else {
        // In place of docs/examples/gateway-check.ts, which test/long/docs/gateways.test.ts runs.
        const check = createServer((_, response) => {
          response.writeHead(204, { 'X-Mandate-Person': 'ada', 'X-Mandate-Agent': 'agent:triage' }).end();
        });
        addresses['127.0.0.1:5200'] = `127.0.0.1:${await listen(check)}`;
        closing.push(() => closeServer(check));
        const pem = join(home, 'mandate.pem');
        const { publicJwk } = plane.key;
        writeFileSync(
          pem,
          createPublicKey({ key: publicJwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
        );
        addresses['/etc/haproxy/mandate.pem'] = pem;
        addresses['https://mandate.example'] = plane.issuer;
        addresses['https://jira.example'] = AUDIENCE;
      }
      const started = await startGateway(gateway, addresses, file(gateway.file));
      closing.push(() => started.close());
      return started;
    }
    const toolServer = () =>
      createToolServer({
        issuer: plane.issuer,
        audience: AUDIENCE,
        onAccess: () => undefined,
        onError: () => undefined,
      });

    const forged = [...Object.keys(set).map(nameOfVariable), ...dropped];
    /** @returns how many requests reached the service */
    async function tryAll(url: string, read: (body: string, header: string) => void): Promise<number> {
      const authorization = ['Authorization', `Bearer ${plane.token()}`] as const;
      const honest = await rawRequest(`${url}/issues/7`, 'GET', [authorization]);
      expect(honest.status, honest.body).to.equal(200);
      read(honest.body, 'none');
      let reached = 0;
      for (const spelled of spellings) {
        for (const name of forged) {
          const header = spelled(name);
          const { status, body } = await rawRequest(`${url}/issues/7`, 'GET', [authorization, [header, 'mallory']]);
          expect(status, header).to.be.oneOf([200, 400, 403]);
          if (status !== 200) continue;
          reached += 1;
          read(body, header);
        }
      }
      return reached;
    }

    for (const reader of headerReaders) {
      if (reader.missing.length > 0) {
        it(`is not tried with ${reader.name}: ${reader.missing.join(' and ')} is not installed`, function () {
          this.skip();
        });
        continue;
      }
      it(`lets no header of a client become a variable of the gateway in ${reader.name}`, async () => {
        const service: Awaited<ReturnType<HeaderReader['start']>> = await reader.start();
        closing.push(() => service.close());
        const { url } = await start(service.url);
        const reached = await tryAll(url, (body, header) => {
          const variables = JSON.parse(body) as Record<string, string>;
          for (const [name, value] of Object.entries(set)) {
            if (typeof value === 'string') expect(decodeURIComponent(variables[name] ?? ''), header).to.equal(value);
            else expect(variables[name], header).to.match(value);
          }
          for (const name of dropped) expect(variables[variableOf(name)] ?? '', header).to.equal('');
        });
        // Otherwise the gateway has refused everything, and the test has shown nothing.
        expect(reached).to.be.above(forged.length);
      });
    }

    it('passes no name on that folds to one of these', async () => {
      const service: RequestListener = ({ rawHeaders }, response) => void response.end(JSON.stringify(rawHeaders));
      const server = createServer(service);
      const { url } = await start(`http://127.0.0.1:${await listen(server)}`);
      closing.push(() => closeServer(server));
      const ours = new Set(forged.map(variableOf));
      const reached = await tryAll(url, (body, header) => {
        const arrived = (JSON.parse(body) as string[]).filter(
          (_, at, all) => at % 2 === 0 && all[at + 1] === 'mallory',
        );
        expect(
          arrived.filter((name) => ours.has(variableOf(name))),
          header,
        ).to.deep.equal([]);
      });
      expect(reached).to.be.above(forged.length);
    });
  });
}
