/** What `mandate doctor` finds about receivers of signals, agents' keys, and the sign-in at /me. */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { logOut } from '../../../application/decisions/log-out.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { openedTask } from '../../contract/storage-fixtures.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import { SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';
import type { Examined } from './examined.ts';
import { endpointsAt, type Settings } from './examined.ts';

export function testPeople(examined: Examined, kind: TestDatabase): void {
  const { expectOnly } = examined;
  const { examine, complaints, expectFinding } = examined.withoutDatabase;

  it('warns if the client of logouts, or the stream of events, has the audience of subject tokens', async () => {
    const { provider } = examined;
    const audience = provider.audience;
    const found = await complaints({
      'Service:UpstreamIdp:BackchannelLogout:Audience': audience,
      'Service:Ssf:Audience': audience,
    });
    const ofSettings = found.filter(({ check }) => check === 'settings');
    expect(ofSettings.map(({ status, sentence }) => [status, sentence.split(' ')[0]])).to.deep.equal([
      ['warning', 'Service:UpstreamIdp:BackchannelLogout:Audience'],
      ['warning', 'Service:Ssf:Audience'],
    ]);
  });

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

  it('names the configured receivers, and says whether subject tokens from before a logout are refused', async () => {
    const setting = 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut';
    for (const [value, sentence] of [
      ['false', 'Configured: /backchannel-logout, /scim/v2, /events.'],
      [
        'true',
        'Configured: /backchannel-logout, /scim/v2, /events. Subject tokens from before a logout start no task.',
      ],
    ] as const) {
      const found = await examine({ [setting]: value });
      expect(found.find(({ check }) => check === 'receivers')).to.include({ status: 'ok', sentence });
    }
  });

  it('warns of iss_sub subjects if security events are received and the sponsor key claim is not sub', async () => {
    const { transmitter } = examined;
    const other = { 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' };
    const found = await complaints(other);
    await expectOnly(found, ['event subjects', 'warning', /SponsorKeyClaim is not sub/]);
    const none = Object.fromEntries(Object.keys(transmitter.settings).map((key) => [key, undefined]));
    await expectOnly(await complaints({ ...other, ...none }));
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
