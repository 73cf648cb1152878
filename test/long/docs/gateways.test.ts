/** The gateways of docs/examples/gateways, with task tokens of a running service. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { runCommand } from '../../support/command-process.ts';
import { sqliteFile } from '../../support/databases.ts';
import { type ExampleServer, startExample } from '../../support/example-process.ts';
import { gatewayFile, gateways, isInstalled, type StartedGateway, startGateway } from '../../support/gateways.ts';
import { answering, type Loopback, startLoopback } from '../../support/loopback.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { signingKeySettings } from '../../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';
import { foreignTokens, LOCALLY } from '../../support/tool-server/foreign-tokens.ts';

/**
 * Other answers than 401 to the tokens of test/support/tool-server/foreign-tokens.ts. docs/tool-servers.md names what
 * HAProxy accepts.
 */
const BY_CHECK = { 'that must be introspected': 200, 'that was handed on': 403 };
const ANSWERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  nginx: BY_CHECK,
  caddy: BY_CHECK,
  haproxy: { 'that names an unknown key': 200 },
};

for (const kind of ['nginx', 'caddy', 'haproxy'] as const) {
  const gateway = gateways[kind];

  describe(`docs/examples/gateways/${gateway.file}`, function () {
    this.timeout(60_000);
    if (!isInstalled(gateway)) {
      it(`is skipped: ${gateway.program} is not installed`, function () {
        this.skip();
      });
      return;
    }

    let key: SigningKey;
    let mandate: Mandate;
    let other: Mandate;
    let agent: RegisteredAgent;
    let toolServer: Loopback;
    let check: ExampleServer;
    let addresses: Readonly<Record<string, string>>;
    let started: StartedGateway;
    let folder: string;
    const { issued, refused } = foreignTokens(() => ({ mandate, agent, key, other }));

    before(async () => {
      key = await makeSigningKey('ES256');
      const settings = signingKeySettings(key.privateKey);
      mandate = await startMandate({ database: sqliteFile, issuer: 'own-address', settings });
      const port = await freePort();
      other = await mandate.another({ 'Service:Issuer': `http://127.0.0.1:${port}`, PORT: String(port) });
      agent = await mandate.agent(LOCALLY);
      toolServer = await startLoopback(answering({ read: true }));
      check = await startExample('gateway-check.ts', { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA });
      folder = mkdtempSync(join(tmpdir(), 'mandate-gateways-'));
      // With a former key, which comes first in the settings: HAProxy reads only the first key of the file.
      const former = signingKeySettings((await makeSigningKey('ES256')).privateKey);
      const pem = await runCommand(['keys', 'show', '--pem'], {
        ...former,
        'Service:Signing:Keys:1:Pem': settings['Service:Signing:Keys:0:Pem'],
        'Service:Signing:ActiveKid': key.kid,
      });
      writeFileSync(join(folder, 'mandate.pem'), pem.out);
      addresses = {
        '127.0.0.1:3000': new URL(toolServer.url).host,
        '127.0.0.1:5200': new URL(check.url).host,
        'https://mandate.example': mandate.issuer,
        '/etc/haproxy/mandate.pem': join(folder, 'mandate.pem'),
      };
      started = await startGateway(gateway, addresses);
    });
    beforeEach(() => {
      toolServer.received.length = 0;
    });
    after(async () => {
      await started.close();
      await check.stop();
      await toolServer.close();
      await other.stop();
      await mandate.stop();
      rmSync(folder, { recursive: true });
    });

    const call = async (token?: string, method = 'GET', at = started.url) => {
      const headers = {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'X-Mandate-Person': 'grace',
        'x-mandate-agent': 'agent:forged',
      };
      return fetch(`${at}/issues/OPS-7`, { method, headers });
    };

    it('lets a task token pass, and names the person and the agent to the tool server, which gets no token', async () => {
      const answer = await call(await issued());
      expect([answer.status, await answer.json()]).to.deep.equal([200, { read: true }]);
      const headers = toolServer.received[0]?.headers ?? {};
      expect(headers['x-mandate-person']).to.equal('ada');
      expect(decodeURIComponent(String(headers['x-mandate-agent']))).to.equal(`agent:${agent.id}`);
      expect(headers.authorization ?? '').to.equal('');
    });

    for (const [which, make] of Object.entries(refused)) {
      const expected = ANSWERS[kind]?.[which] ?? 401;
      it(`${expected === 200 ? 'accepts' : 'refuses'} a token ${which}`, async () => {
        expect((await call(await make())).status).to.equal(expected);
        expect(toolServer.received).to.have.lengthOf(expected === 200 ? 1 : 0);
      });
    }

    it('refuses a request without a token, with another scheme, with two tokens, without the scope, and another method', async () => {
      const token = await issued();
      expect((await call()).status).to.equal(401);
      expect((await fetch(`${started.url}/issues`, { headers: { authorization: `Basic ${token}` } })).status).to.equal(
        401,
      );
      expect((await fetch(`${started.url}/issues?access_token=${token}`)).status).to.equal(401);
      expect((await call(await issued({ scope: 'jira:comment' }))).status).to.equal(403);
      expect((await call(token, 'POST')).status).to.equal(403);
      for (const twice of [
        [token, token],
        [token, 'x'],
        ['x', token],
      ]) {
        const raw = await rawConnection(started.url);
        const headers = twice.map((one) => `Authorization: Bearer ${one}\r\n`).join('');
        raw.send(
          `GET /issues/OPS-7 HTTP/1.1\r\nHost: ${new URL(started.url).host}\r\n${headers}Connection: close\r\n\r\n`,
        );
        expect(await raw.until('\r\n\r\n')).to.match(/^HTTP\/1.1 40[01] /);
        raw.leave();
      }
      expect(toolServer.received).to.deep.equal([]);
    });

    if (kind === 'haproxy') {
      it('accepts the token of an ended task until it expires, as its page says', async () => {
        const token = await issued();
        await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
        expect((await call(token)).status).to.equal(200);
      });
      return;
    }

    it('refuses the token of an ended task where the policy introspects', async () => {
      const scope = 'jira:read jira:admin';
      const token = await issued({ scope, subject_token: agent.subjectToken({ scope }) });
      expect((await call(token, 'DELETE')).status).to.equal(200);
      await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
      expect([(await call(token, 'DELETE')).status, (await call(token)).status]).to.deep.equal([401, 200]);
    });

    it('answers 503 while the control plane is away, and never lets a request pass without a check', async () => {
      const unreachable = { MANDATE_ISSUER: `http://127.0.0.1:${await freePort()}`, AUDIENCE: JIRA };
      const alone = await startExample('gateway-check.ts', unreachable);
      for (const address of [new URL(alone.url).host, `127.0.0.1:${await freePort()}`]) {
        const behind = await startGateway(gateway, { ...addresses, '127.0.0.1:5200': address });
        const answer = await call(await issued(), 'GET', behind.url);
        expect(answer.status).to.be.oneOf([502, 503]);
        await behind.close();
      }
      await alone.stop();
      expect(toolServer.received).to.deep.equal([]);
    });

    if (kind === 'nginx') {
      it('would let everybody pass if it asked /oauth2/introspect itself, as the page warns', async () => {
        const trap = gatewayFile(gateway)
          .replace('http://127.0.0.1:5200/check/$check', `${mandate.issuer}/oauth2/introspect`)
          .replace('proxy_method GET', 'proxy_method POST')
          .replace(
            'proxy_set_header Content-Length ""',
            'proxy_set_header Content-Type application/x-www-form-urlencoded',
          )
          .replace('proxy_pass_request_body off', 'proxy_set_body "token=nonsense"');
        const trapped = await startGateway(gateway, addresses, trap);
        expect((await call(undefined, 'GET', trapped.url)).status).to.equal(200);
        await trapped.close();
      });
    }
  });
}
