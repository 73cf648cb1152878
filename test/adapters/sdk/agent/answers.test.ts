/** Which answers of the control plane the agent library accepts. The answers are made up, so that they can be wrong. */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { type Agent, createAgent, NotNow, Refused, type Task, TaskOver } from '../../../../adapters/sdk/agent/agent.ts';
import { STATUSES_BESIDE_200 } from '../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../support/signing-key.ts';

const NOW = 1_900_000_000;
const JIRA = 'https://jira.example';

describe('an answer to the agent library', () => {
  let key: SigningKey;
  let good: Readonly<Record<string, unknown>>;
  /** The answer to the next request. */
  let answer: () => Response;
  let agent: Agent;
  let seconds: number;
  before(async () => {
    key = await makeSigningKey('ES256');
  });
  beforeEach(() => {
    seconds = NOW;
    good = issued({});
    answer = () => new Response(JSON.stringify(good));
    agent = createAgent({
      issuer: 'https://mandate.example',
      agentId: 'jira-triage',
      key: { jwk: { ...key.privateJwk } },
      patienceMs: 1,
      fetch: async () => answer(),
      clock: { now: () => seconds * 1000, sleep: async () => undefined, random: () => 0 },
    });
  });

  /** The control plane's answer to an exchange and a renewal. */
  function issued(changes: object): Readonly<Record<string, unknown>> {
    const task = { id: 'task_a', exp: NOW + 1200, sponsor: 'ada' };
    const act = { sub: 'agent:jira-triage', depth: 1 };
    const claims = { iss: 'https://mandate.example', sub: 'ada', aud: JIRA, iat: seconds, exp: seconds + 240 };
    return {
      access_token: key.sign(
        { alg: 'ES256', kid: key.kid, typ: 'at+jwt' },
        { ...claims, jti: 'tok_a', scope: 'jira:read', client_id: act.sub, act, task },
      ),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 240,
      scope: 'jira:read',
      refresh_token: 'task_grant_a',
      task_id: 'task_a',
      task_expires_at: new Date((NOW + 1200) * 1000).toISOString(),
      ...changes,
    };
  }
  const start = (): Promise<Task> => agent.startTask({ subjectToken: 'a.b.c', resource: JIRA, scope: ['jira:read'] });
  async function thrown(act: Promise<unknown>): Promise<unknown> {
    try {
      await act;
    } catch (error) {
      return error;
    }
    throw new Error('nothing was thrown');
  }

  it('starts a task when it has all members', async () => {
    const task = await start();
    expect([task.id, task.scope, await task.token()]).to.deep.equal(['task_a', ['jira:read'], good.access_token]);
  });

  const incomplete: readonly (readonly [string, object])[] = [
    ['no access_token', { access_token: undefined }],
    ['an access_token that would end the header', { access_token: 'a\r\nx: y' }],
    ['no refresh_token', { refresh_token: undefined }],
    ['a refresh_token that is no text', { refresh_token: 7 }],
    ['no expires_in', { expires_in: undefined }],
    ['an expires_in of zero', { expires_in: 0 }],
    ['an expires_in that is past', { expires_in: -1 }],
    ['an expires_in that is a text', { expires_in: '240' }],
    ['an expires_in beyond every number', { expires_in: 2 ** 53 }],
    ['no scope', { scope: undefined }],
    ['a scope that is a list', { scope: ['jira:read'] }],
    ['no task_id', { task_id: undefined }],
    ['no task_expires_at', { task_expires_at: undefined }],
    ['a task_expires_at that is no date', { task_expires_at: 'tomorrow' }],
    ['a task_expires_at that is a number', { task_expires_at: NOW }],
    ['no token_type', { token_type: undefined }],
    ['another token_type', { token_type: 'DPoP' }],
    ['a token_type that has no text', { token_type: { toString: 1 } }],
  ];
  for (const [what, changes] of incomplete) {
    it(`with ${what} starts no task, and no part of it is repeated`, async () => {
      good = issued(changes);
      const error = await thrown(start());
      expect(error).to.be.instanceOf(Refused).and.include({ error: 'unexpected_answer', reason: undefined });
      expect(String(error)).not.to.include('task_grant_a').and.not.to.include('\r');
    });

    it(`with ${what} does not renew a token: the current one stays`, async () => {
      const task = await start();
      const first = await task.token();
      good = issued(changes);
      seconds += 200;
      const renewed = await thrown(task.token());
      expect(renewed).to.be.instanceOf(Refused);
      good = issued({});
      seconds += 2;
      expect(await task.token())
        .to.equal(good.access_token)
        .and.not.to.equal(first);
    });
  }

  for (const status of STATUSES_BESIDE_200) {
    it(`succeeds with the status 200 only, not with ${status}`, async () => {
      const withStatus = () => new Response(JSON.stringify(good), { status });
      answer = withStatus;
      expect(await thrown(start())).to.be.instanceOf(status >= 500 ? NotNow : Refused);
      answer = () => new Response(JSON.stringify(good));
      const task = await start();
      answer = withStatus;
      seconds += 239;
      expect(await thrown(task.token())).to.be.instanceOf(status >= 500 ? NotNow : Refused);
    });
  }

  for (const [what, body] of [
    ['not UTF-8', Buffer.from('{"scope":"\u00ff"}', 'latin1')],
    ['longer than 64 KiB', Buffer.from(' '.repeat(64 * 1024 + 1))],
  ] as const) {
    it(`counts as missing when it is ${what}`, async () => {
      answer = () => new Response(body);
      expect(await thrown(start())).to.be.instanceOf(NotNow);
    });
  }

  for (const body of ['', 'null', '[]', '"yes"', '<html>']) {
    it(`does not succeed when it is ${JSON.stringify(body)}`, async () => {
      answer = () => new Response(body);
      expect(await thrown(start()))
        .to.be.instanceOf(Refused)
        .and.include({ error: 'unexpected_answer' });
    });
  }

  it('that ends the task makes a revocation unnecessary', async () => {
    const task = await start();
    answer = () => new Response('{"error":"access_denied","reason":"task_revoked"}', { status: 400 });
    seconds += 239;
    expect(await thrown(task.token()))
      .to.be.instanceOf(TaskOver)
      .and.include({ reason: 'task_revoked' });
    answer = () => {
      throw new Error('nothing more is asked');
    };
    await task.end();
    expect(await thrown(task.token())).to.include({ reason: 'task_revoked' });
  });

  it('with a long Retry-After does not delay a caller who has ended the task', async () => {
    const task = await start();
    answer = () => new Response('{}', { status: 503, headers: { 'retry-after': '3600' } });
    seconds += 239;
    expect(await thrown(task.token())).to.be.instanceOf(NotNow);
    answer = () => new Response('');
    await task.end();
    expect(await thrown(task.narrow(['jira:read'])))
      .to.be.instanceOf(TaskOver)
      .and.include({ reason: 'ended' });
  });
});

describe('an agent with unusable options', () => {
  const options = { issuer: 'https://mandate.example', agentId: 'jira-triage' };
  const pemOf = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

  for (const curve of ['P-384', 'P-521', 'secp256k1']) {
    it(`is not created with a key on ${curve}`, () => {
      expect(() => createAgent({ ...options, key: { pem: pemOf(curve) } })).to.throw(TypeError, /EC key on P-256/);
    });
  }

  for (const alg of ['ES384', 'HS256', 'none', undefined]) {
    it(`is not created with a signer of ${alg}`, () => {
      const signer = { alg, sign: () => new Uint8Array(64) };
      expect(() => createAgent({ ...options, key: signer as never })).to.throw(TypeError, /ES256, PS256 or RS256/);
    });
  }

  for (const [what, changes, message] of [
    ['no scope', { scope: [] }, /scope must name at least one scope/],
    ['a resource that is no URL', { resource: 'jira' }, /resource must be an absolute http or https URL/],
    ['a resource with a fragment', { resource: `${JIRA}#x` }, /resource must be an absolute http or https URL/],
  ] as const) {
    it(`sends no request for a task with ${what}`, async () => {
      let sent = 0;
      const fetch = async () => {
        sent += 1;
        return new Response('{}');
      };
      const agent = createAgent({ ...options, key: { pem: pemOf('P-256') }, fetch });
      const request = { subjectToken: 'a.b.c', resource: JIRA, scope: ['jira:read'], ...changes };
      const error = await agent.startTask(request).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.matches(message);
      expect(sent).to.equal(0);
    });
  }
});
