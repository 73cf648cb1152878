/** A fleet that is partitioned by people (docs/scaling.md): two Mandates with the same agent, and one tool server for both. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { type AccessEvent, createToolServer } from '../../adapters/sdk/tool-server/core/tool-server.ts';
import { databases } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { signingKeySettings } from '../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../support/signing-key.ts';
import { frameworks, type GuardedApp } from '../support/tool-server/guarded-apps.ts';

const [database] = databases;
const [framework] = frameworks;
const AGENT = 'triage-of-the-fleet';

describe('A fleet of two Mandates with one tool server', () => {
  let key: SigningKey;
  let parts: readonly Mandate[];
  let agents: readonly RegisteredAgent[];
  let jira: GuardedApp;
  const events: AccessEvent[] = [];
  /** The issuer whose introspection was asked, and the token that it got. */
  const introspected: (readonly [issuer: string, token: string | null])[] = [];
  const recording = (issuer: string): typeof fetch => {
    return (url, init) => {
      if (String(url).endsWith('/oauth2/introspect')) {
        introspected.push([issuer, new URLSearchParams(String(init?.body)).get('token')]);
      }
      return fetch(url, init);
    };
  };

  before(async () => {
    if (database === undefined || framework === undefined) throw new Error('There is no database, or no framework.');
    // One key for both is a mistake: then only `iss` says whose a token is.
    key = await makeSigningKey('ES256');
    const settings = { 'Service:StatusLists:Enabled': 'true', ...signingKeySettings(key.privateKey) };
    const start = () => startMandate({ database, issuer: 'own-address', settings });
    parts = [await start(), await start()];
    for (const { clock } of parts) clock.standStill();
    agents = await Promise.all(parts.map((mandate) => mandate.agent({ agent_id: AGENT })));
    const toolServer = createToolServer({
      issuers: parts.map(({ issuer }) => ({ issuer, fetch: recording(issuer) })),
      audience: JIRA,
      now: () => (parts[0]?.clock.now() ?? 0) / 1000,
      onAccess: (event) => void events.push(event),
      onError: () => undefined,
    });
    jira = await framework.start(toolServer);
  });
  after(async () => {
    await jira.stop();
    for (const mandate of parts) await mandate.stop();
  });
  beforeEach(() => {
    events.length = 0;
    introspected.length = 0;
  });

  const outcomes = () => events.map(({ reason, issuer }) => [reason, issuer]);
  const claimsOf = (token: string): object => decodeJwt(token);
  const tokens = () => Promise.all(agents.map(async (agent) => String((await agent.exchange()).body.access_token)));
  async function call(token: string | undefined, method: 'GET' | 'DELETE' = 'GET'): Promise<string> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${jira.url}/issues/OPS-7`, { method, headers });
    return answer.status === 200 ? 'allowed' : `${answer.status} ${((await answer.json()) as AccessEvent).reason}`;
  }
  const calls = async (given: readonly string[], method?: 'DELETE') => {
    const answers: string[] = [];
    for (const token of given) answers.push(await call(token, method));
    return answers;
  };

  it('serves the people of both at one address, and each event leads to the one ledger that has the task', async () => {
    const issued = await tokens();
    expect(await calls(issued)).to.deep.equal(['allowed', 'allowed']);
    expect(await calls(issued, 'DELETE'), 'introspected').to.deep.equal(['allowed', 'allowed']);
    const [north, south] = parts.map(({ issuer }) => issuer);
    expect(events.map(({ issuer, sub, act }) => [issuer, sub, act])).to.deep.equal(
      [north, south, north, south].map((issuer) => [issuer, 'ada', `agent:${AGENT}`]),
    );
    for (const { issuer, task_id: task } of events) {
      const holding: string[] = [];
      for (const mandate of parts) {
        const lines = await mandate.ledger();
        if (lines.some(({ task_id }) => task_id === task)) holding.push(mandate.issuer);
      }
      expect(holding).to.deep.equal([issuer]);
    }
  });

  it('refuses a token of one as a token of the other, also under one signing key, and with the task of the other', async () => {
    const [first = '', second = ''] = await tokens();
    const header = { alg: 'ES256', typ: 'at+jwt', kid: key.kid };
    const moved = key.sign(header, { ...claimsOf(first), iss: parts[1]?.issuer });
    // Both publish the key, so the signature is right. The introspection of the named one does not know the task.
    expect(await call(moved, 'DELETE')).to.equal('401 not_active');
    expect(await call(second, 'DELETE')).to.equal('allowed');
    expect(await call(key.sign(header, { ...claimsOf(first), iss: 'https://evil.example' }))).to.equal(
      '401 wrong_issuer',
    );
    expect(events.map(({ reason, issuer }) => [reason, issuer])).to.deep.equal([
      ['not_active', parts[1]?.issuer],
      [null, parts[1]?.issuer],
      ['wrong_issuer', null],
    ]);
  });

  it('asks each Mandate about its own tokens alone, also under one kid and one jti, and a revocation at one ends no token of the other', async () => {
    const [north = '', south = ''] = await tokens();
    const header = { alg: 'ES256', typ: 'at+jwt', kid: key.kid };
    const { jti } = decodeJwt(north);
    const twin = key.sign(header, { ...claimsOf(south), jti });
    const [first, second] = parts.map(({ issuer }) => issuer);
    expect(await calls([north, twin], 'DELETE')).to.deep.equal(['allowed', 'allowed']);
    expect(introspected).to.deep.equal([
      [first, north],
      [second, twin],
    ]);

    const moved = [
      key.sign(header, { ...claimsOf(twin), iss: first }),
      key.sign(header, { ...claimsOf(north), iss: second }),
    ];
    for (const [at, foreign] of [
      [twin, moved[0]],
      [north, moved[1]],
    ].entries()) {
      for (const token of foreign) {
        expect(await parts[at]?.introspect(String(token)), `at ${at}`).to.deep.equal({ active: false });
      }
    }
    expect(await calls(moved.map(String), 'DELETE')).to.deep.equal(['401 not_active', '401 not_active']);

    // To the other Mandate its token is unknown, so nothing is revoked (RFC 7009 §2.2).
    expect((await agents[0]?.revoke(twin))?.status).to.equal(200);
    expect(await calls([north, twin], 'DELETE')).to.deep.equal(['allowed', 'allowed']);
    expect((await agents[0]?.revoke(north))?.status).to.equal(200);
    expect(await calls([north, twin], 'DELETE')).to.deep.equal(['401 not_active', 'allowed']);
    expect(events.map((event) => [event.issuer, event.jti, event.reason]).slice(-2)).to.deep.equal([
      [first, jti, 'not_active'],
      [second, jti, null],
    ]);
  });

  it('ends with a block the tasks of that person at one Mandate, and none of the person of the same name at the other', async () => {
    const issued = await tokens();
    const sponsor = String((decodeJwt(issued[0] ?? '').task as { sponsor: string }).sponsor);
    await parts[0]?.block(sponsor, 'disabled');
    expect(await calls(issued, 'DELETE')).to.deep.equal(['401 not_active', 'allowed']);
    expect(outcomes()).to.deep.equal([
      ['not_active', parts[0]?.issuer],
      [null, parts[1]?.issuer],
    ]);
  });

  // The last one: it stops a service.
  it('goes on with the people of one while the other Mandate is away', async () => {
    const south = String((await agents[1]?.exchange())?.body.access_token);
    const other = key.sign(
      { alg: 'ES256', typ: 'at+jwt', kid: key.kid },
      { ...claimsOf(south), iss: parts[0]?.issuer },
    );
    await parts[0]?.stop();
    // Its keys are cached, and its tokens are accepted until they expire, but nothing can be asked about them.
    expect(await call(other, 'DELETE')).to.equal('503 introspection_unavailable');
    expect(await calls([south])).to.deep.equal(['allowed']);
    expect(await calls([south], 'DELETE')).to.deep.equal(['allowed']);
    expect(outcomes()).to.deep.equal([
      ['introspection_unavailable', parts[0]?.issuer],
      [null, parts[1]?.issuer],
      [null, parts[1]?.issuer],
    ]);
    parts = parts.slice(1);
  });
});
