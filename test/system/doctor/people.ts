/** What `mandate doctor` finds about receivers of signals, agents' keys, and the sign-in at /me. */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { append } from '../../../application/decisions/append.ts';
import { logOut } from '../../../application/decisions/log-out.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { openedTask, registeredAgent } from '../../contract/storage-fixtures.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';
import { AUTHORIZE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import { SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';
import type { Examined } from './examined.ts';
import { endpointsAt, type Settings } from './examined.ts';

export function testPeople(examined: Examined, kind: TestDatabase): void {
  const { expectOnly } = examined;
  const { examine, complaints, expectFinding } = examined.withoutDatabase;

  it('warns for a day after a logout that ended nothing while tasks without a session went on', async () => {
    const { provider, clock } = examined;
    const fresh = await kind.fresh();
    const storage = await fresh.open();
    const ofLogouts = async (changes: Settings = {}) =>
      (await examined.examine({ ...fresh.settings, ...changes })).find(({ check }) => check === 'logouts');
    const at = clock.now();
    const opened = { createdAt: at, expiresAt: plusSeconds(at, 900), sessionId: undefined };
    const { sponsor } = (await openedTask(storage, opened)).task;
    const occurrence = { issuer: provider.issuer, forgetAt: plusSeconds(at, 600), at };
    const logOutOf = (subject: string) =>
      storage.decide(logOut, {
        ...occurrence,
        jti: randomUUID(),
        loggedOut: { kind: 'session', sessionId: 'another', subject },
      });
    await logOutOf('person-without-tasks');
    expect(await ofLogouts()).to.include({ status: 'ok' });
    await logOutOf(sponsor);
    const found = await ofLogouts();
    expect(found).to.include({ status: 'warning' });
    expect(found?.sentence).to.match(/ended no task, although the person had live tasks: these belong to no session/);
    expect(JSON.stringify(found)).not.to.include(sponsor);
    const setting = 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession';
    expect(await ofLogouts({ [setting]: 'true' })).to.equal(undefined);
    clock.advance(86_400 + 60);
    expect(await ofLogouts()).to.include({ status: 'ok' });
    await storage.close();
    await fresh.drop();
  });

  it('warns of agents whose tokens live longer than the settings allow, which are from before', async () => {
    const fresh = await kind.fresh();
    const storage = await fresh.open();
    const lives = async (changes: Settings = {}) =>
      (await examined.examine({ ...fresh.settings, ...changes })).find(({ check }) => check === 'token lifetimes');
    await registeredAgent(storage, { agentId: agentIdOf('from-before'), maxTokenTtl: 14_400, maxTaskTtl: 14_400 });
    const found = await lives();
    expect(found).to.include({ status: 'warning' });
    expect(found?.sentence).to.include('above Service:Agents:MaxTokenTtl (PT1H)').and.include('from-before (PT4H).');
    expect(await lives({ 'Service:Agents:MaxTokenTtl': 'PT4H' })).to.include({ status: 'ok' });
    await storage.close();
    await fresh.drop();
  });

  it('warns of agents in delegates_to that cannot take up work of the agent that names them', async () => {
    const fresh = await kind.fresh();
    const storage = await fresh.open();
    const found = async (changes: Settings = {}) =>
      (await examined.examine({ ...fresh.settings, ...changes })).find(({ check }) => check === 'hand-overs');
    const reader = await registeredAgent(storage, { agentId: agentIdOf('reader'), delegatesTo: undefined });
    expect(await found()).to.include({ status: 'ok' });
    const delegatesTo = [agentIdOf('planner'), reader.agentId];
    await registeredAgent(storage, { agentId: agentIdOf('planner'), delegatesTo });
    expect(await found()).to.include({ status: 'ok' });
    const entry = { at: examined.clock.now(), event: 'agent.updated', decision: 'allow' } as const;
    await storage.agents.replace({ ...reader, enabled: false, revision: 2 }, entry);
    const warned = await found();
    expect(warned?.status).to.equal('warning');
    expect(warned?.sentence).to.match(/: planner to reader \(disabled\)\.$/);
    expect(await found({ 'Service:Delegation:Enabled': undefined })).to.equal(undefined);
    await storage.close();
    await fresh.drop();
  });

  it('warns for a day after a security event that ended nothing', async () => {
    const { clock } = examined;
    const fresh = await kind.fresh();
    const storage = await fresh.open();
    const ofEvents = async (changes: Settings = {}) =>
      (await examined.examine({ ...fresh.settings, ...changes })).find(({ check }) => check === 'security events');
    expect(await ofEvents()).to.include({ status: 'ok' });
    const record = { event: 'sponsor.signal', decision: 'deny', reason: 'ssf_nothing_ended' } as const;
    await storage.decide(append, { at: clock.now(), ...record });
    const found = await ofEvents();
    expect(found).to.include({ status: 'warning' });
    expect(found?.sentence).to.match(/named no person who is known here, or a session: nothing ended/);
    const transmitter = Object.keys(examined.good).filter((key) => key.startsWith('Service:Ssf:'));
    expect(await ofEvents(Object.fromEntries(transmitter.map((key) => [key, undefined])))).to.equal(undefined);
    clock.advance(86_400 + 60);
    expect(await ofEvents()).to.include({ status: 'ok' });
    await storage.close();
    await fresh.drop();
  });

  it('fails in mode signals without a receiver, and warns if back-channel logout is the only receiver', async () => {
    const { good } = examined;
    const without = (receivers: RegExp) => ({
      ...Object.fromEntries(
        Object.keys(good)
          .filter((key) => receivers.test(key))
          .map((key) => [key, undefined]),
      ),
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    });
    await expectFinding(
      without(/SponsorCheck:[UTC]|:Scim:|:Ssf:/),
      'receivers',
      'warning',
      /^In mode signals a logout alone does not say that a person was disabled\.$/,
    );
    const refusing = { 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true' };
    await expectFinding(
      { ...without(/SponsorCheck:[UTC]|:Scim:|:Ssf:/), ...refusing },
      'receivers',
      'warning',
      /^In mode signals a logout alone does not say .+\. Subject tokens from before a logout start no task\.$/,
    );
    const none = without(/SponsorCheck:[UTC]|:Scim:|:Ssf:|:BackchannelLogout:/);
    await expectFinding(
      none,
      'receivers',
      'failed',
      /^In mode signals the provider is not asked about people, and no receiver is configured\.$/,
    );
  });

  it('warns if the keys of agents may be fetched from private networks', async () => {
    for (const off of [undefined, 'false']) {
      await expectFinding(
        { 'Service:AgentKeys:BlockPrivateNetworks': off },
        'agent keys',
        'warning',
        /^A jwks_uri may lead to loopback, private, /,
      );
    }
  });

  it('finds tool servers whose keys cannot be fetched, and a receiver of notices that cannot be reached', async () => {
    const keys = 'Service:Approvals:Resources:0:JwksUri';
    const unused = `https://127.0.0.1:${await freePort()}/keys`;
    const approvals = { ...SOME_APPROVALS, 'Service:Me:ClientId': 'mandate-page' };
    const settings = { ...approvals, [keys]: unused, 'Service:Approvals:Notify:Url': unused };
    await expectOnly(
      await complaints(settings),
      [
        'approval keys',
        'failed',
        /^These tool servers cannot ask for approvals\. https:\/\/files\.example\/mcp: .*ECONNREFUSED/,
      ],
      ['approval notices', 'failed', /^The receiver of notices cannot be connected to\. /],
    );
  });

  it('says what the sign-in at /me needs at the provider, and finds what its metadata lacks', async () => {
    const { folder, mandate } = examined;
    const found = await examine({});
    const client = found.find(({ check }) => check === 'sign-in client');
    for (const path of ['/me/callback', '/.well-known/jwks.json', '/backchannel-logout']) {
      expect(client?.sentence).to.include(`${mandate.issuer}${path}`);
    }
    expect(client?.sentence).to.include('(private_key_jwt, ES256)');
    expect(client?.sentence).to.match(/ Its ID tokens need these claims: auth_time \(to pause agents\)\.$/);
    const approving = async (changes: Settings) => {
      const settings = { ...SOME_APPROVALS, 'Service:Me:ClientId': 'mandate-page', ...changes };
      return (await examine(settings)).find(({ check }) => check === 'sign-in client')?.sentence;
    };
    expect(await approving({})).to.match(/ claims: auth_time \(to pause agents, and to say yes to an action\)\.$/);
    expect(await approving({ 'Service:Me:Pause': 'false' })).to.match(
      / claims: auth_time \(to say yes to an action\)\.$/,
    );
    const others = await examine({
      'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
      'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
      'Service:Me:Pause': 'false',
    });
    const other = others.find(({ check }) => check === 'sign-in client');
    expect(other?.sentence).to.include('(private_key_jwt, ES256, aud token endpoint)');
    expect(other?.sentence).to.match(/ Its ID tokens need these claims: oid\.$/);
    const without = await examine({ 'Service:Me:ClientId': undefined });
    expect(without.filter(({ check }) => check.startsWith('sign-in'))).to.deep.equal([]);
    const server = await startLoopback(answering({}));
    const offered = (changes: object) => {
      const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url), ...changes };
      server.answer = answering(document);
      return examine({ 'Service:UpstreamIdp:Issuer': server.url });
    };
    const verdict = async (changes: object) =>
      (await offered(changes)).find(({ check }) => check === 'sign-in provider');
    const bare = await verdict({});
    expect(bare?.status).to.equal('ok');
    expect(bare?.sentence).to.include('no back-channel logout').and.include('no end_session_endpoint');
    const lacking = await verdict({ token_endpoint: undefined });
    expect(lacking?.status).to.equal('failed');
    expect(lacking?.sentence).to.match(/^People cannot sign in at \/me\. .*no usable token_endpoint\.$/);
    for (const [changes, sentence] of [
      [{ response_types_supported: ['id_token'] }, /the response type code/],
      [{ code_challenge_methods_supported: ['plain'] }, /S256/],
      [{ token_endpoint_auth_methods_supported: ['client_secret_basic'] }, /private_key_jwt/],
      [{ token_endpoint_auth_signing_alg_values_supported: ['RS256'] }, /ES256/],
    ] as const) {
      const unlisted = await verdict(changes);
      expect(unlisted?.status, `${sentence}`).to.equal('warning');
      expect(unlisted?.sentence).to.match(sentence);
      expect(unlisted?.remedy).to.include('Service:Me:ClientSecret:Path');
    }
    await server.close();
    for (const [key, problem] of [
      ['Service:Me:ClientSecret:Path', 'does not exist'],
      ['Service:Me:ScopeDescriptions', 'cannot be read'],
    ] as const) {
      const missing = await examine({ [key]: join(folder, 'no-such-file') });
      const refused = missing.find(({ check }) => check === 'sign-in client');
      expect(refused?.status).to.equal('failed');
      expect(refused?.sentence).to.include(key).and.include(problem);
    }
  });

  it('tries the client of tasks that people start, says what it cannot see, and warns of programs without a key', async () => {
    const { folder, mandate, provider, good } = examined;
    const door = { 'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID };
    const findings = async (changes: Settings = {}) =>
      (await examine({ ...door, ...changes })).filter(({ check }) => /^(authorize |public )/.test(check));
    const found = await findings();
    expect(found.map(({ check, status }) => [check, status])).to.deep.equal([
      ['authorize provider', 'ok'],
      ['authorize client', 'ok'],
      ['public clients', 'ok'],
    ]);
    for (const part of [
      `The provider accepts the client ${AUTHORIZE_CLIENT_ID}.`,
      `${mandate.issuer}/oauth2/authorize/callback`,
      `JWTs with the aud ${provider.audience} and the scopes of the person. No trial shows that: start a task once.`,
    ]) {
      expect(found[1]?.sentence).to.include(part);
    }
    const unknown = await findings({ 'Service:Authorize:ClientId': 'nobody' });
    expect(unknown[1]).to.include({ status: 'failed' });
    expect(unknown[1]?.sentence).to.match(/^The provider refuses the client nobody, so no person can sign in\./);
    const unreadable = await findings({ 'Service:Authorize:ClientSecret:Path': join(folder, 'no-such-file') });
    expect(unreadable[1]?.sentence).to.match(/^Service:Authorize:ClientSecret:Path .* does not exist/);
    const open = await findings({ 'Service:Authorize:PublicClients': 'true' });
    expect(open[2]).to.include({ status: 'warning' });
    const off = await examine(good);
    expect(off.filter(({ check }) => /^(authorize |public )/.test(check))).to.deep.equal([]);
  });

  it('takes the logouts of that client for those of a receiver', async () => {
    const settings = {
      'Service:UpstreamIdp:BackchannelLogout:Audience': undefined,
      'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID,
    };
    const receivers = async (changes: Settings) =>
      (await examine(changes)).find(({ check }) => check === 'receivers')?.sentence;
    expect(await receivers(settings)).to.include('/backchannel-logout');
    expect(await receivers({ ...settings, 'Service:Authorize:ClientId': undefined })).not.to.include(
      '/backchannel-logout',
    );
  });

  it('finds a transmitter and a sink that do not answer', async () => {
    const found = await complaints({
      'Service:Ssf:Issuer': 'http://127.0.0.1:9/tenant-7',
      'Service:Audit:Sink:Url': 'http://127.0.0.1:9/records',
    });
    await expectOnly(
      found,
      ['transmitter discovery', 'failed', /ECONNREFUSED/],
      ['sink', 'failed', /cannot be connected to\. .*ECONNREFUSED/],
    );
  });
}
