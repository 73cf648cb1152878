/** The answers of the control plane that the agent library accepts or refuses. A fake control plane sends them. */

import { expect } from 'chai';
import { type Agent, createAgent, NotNow, Refused, type Task, TaskOver } from '../../../../adapters/sdk/agent/agent.ts';
import { STATUSES_BESIDE_200 } from '../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../support/signing-key.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

const NOW = 1_900_000_000;
const JIRA = 'https://jira.example';
const TASK_SECONDS = 1200;
const TOKEN_SECONDS = 240;
const SKEW_SECONDS = 60;

/** How an answer differs from a good one. */
interface Changes {
  readonly members?: Readonly<Record<string, unknown>>;
  /** Claims of the token; `null` for a token that is not a JWT. */
  readonly claims?: Readonly<Record<string, unknown>> | null;
}

describe('The agent library', () => {
  let key: SigningKey;
  let agent: Agent;
  let seconds: number;
  /** The scope parameter of each request. */
  let asked: (string | null)[];
  let changes: Changes;
  /** Replaces the answer to a request. */
  let answer: (() => Response) | undefined;
  /** The token of the last answer. */
  let accessToken: string;

  before(async () => {
    key = await makeSigningKey('ES256');
  });
  beforeEach(() => {
    seconds = NOW;
    asked = [];
    changes = {};
    answer = undefined;
    agent = createAgent({
      issuer: 'https://mandate.example',
      agentId: 'jira-triage',
      key: { jwk: { ...key.privateJwk } },
      patienceMs: 1,
      fetch: async (_url, init) => {
        const form = new URLSearchParams(String(init?.body));
        asked.push(form.get('scope'));
        return answer?.() ?? issued(form);
      },
      clock: { now: () => seconds * 1000, sleep: async () => undefined, random: () => 0 },
    });
  });

  /** The answer to an exchange or a renewal, whose members and token agree unless a test changes them. */
  function issued(form: URLSearchParams, status = 200): Response {
    const members: Readonly<Record<string, unknown>> = {
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: TOKEN_SECONDS,
      scope: form.get('scope') ?? 'jira:read jira:comment',
      refresh_token: 'task_grant_a',
      task_id: 'task_a',
      task_expires_at: new Date((NOW + TASK_SECONDS) * 1000).toISOString(),
      ...changes.members,
    };
    const end = Date.parse(String(members.task_expires_at)) / 1000;
    const claims = {
      iss: 'https://mandate.example',
      sub: 'ada',
      aud: JIRA,
      iat: seconds,
      jti: 'tok_a',
      exp: seconds + Number(members.expires_in),
      scope: members.scope,
      act: { sub: 'agent:jira-triage', depth: 1 },
      task: { id: members.task_id, exp: end, sponsor: 'ada' },
      ...changes.claims,
    };
    const header = { alg: 'ES256', kid: key.kid, typ: 'at+jwt' };
    accessToken = changes.claims === null ? 'opaque.token' : key.sign(header, claims);
    return new Response(JSON.stringify({ access_token: accessToken, ...members }), { status });
  }
  const start = (scope = ['jira:read', 'jira:comment']): Promise<Task> =>
    agent.startTask({ subjectToken: 'a.b.c', resource: JIRA, scope });
  const expectRefused = async (act: Promise<unknown>, error: string, reason?: string) => {
    const thrown = await thrownBy(act);
    expect(thrown).to.be.instanceOf(Refused).and.include({ error, reason });
    expect(String(thrown)).not.to.include('task_grant_a').and.not.to.include('\r').and.not.to.include('secret');
    expect(JSON.stringify(thrown)).not.to.include('secret');
    return thrown;
  };

  it('starts a task with an answer that has all members', async () => {
    const task = await start(['jira:read']);
    expect([task.id, task.scope, await task.token()]).to.deep.equal(['task_a', ['jira:read'], accessToken]);
  });

  const member = (name: string, value?: unknown): Changes => ({ members: { [name]: value } });
  const claim = (name: string, value?: unknown): Changes => ({ claims: { [name]: value } });
  const wrong: readonly (readonly [string, Changes, string?])[] = [
    ['no access_token', member('access_token')],
    ['an access_token with a line break', member('access_token', 'a\r\nx: y')],
    ['no refresh_token', member('refresh_token')],
    ['a number as refresh_token', member('refresh_token', 7)],
    ['no expires_in', member('expires_in')],
    ['an expires_in of zero', member('expires_in', 0)],
    ['a negative expires_in', member('expires_in', -1)],
    ['a string as expires_in', member('expires_in', '240')],
    ['an expires_in of 2^53', member('expires_in', 2 ** 53)],
    ['no scope', member('scope')],
    ['a list as scope', member('scope', ['jira:read'])],
    ['no task_id', member('task_id')],
    ['no task_expires_at', member('task_expires_at')],
    ['a task_expires_at that is not a date', member('task_expires_at', 'tomorrow')],
    ['a number as task_expires_at', member('task_expires_at', NOW)],
    ['no token_type', member('token_type')],
    ['the token_type DPoP', member('token_type', 'DPoP')],
    ['an object as token_type', member('token_type', { toString: 1 })],
    ['a wider scope', member('scope', 'jira:read jira:admin secret-scope'), 'scope_wider_than_asked'],
    ['an empty scope', member('scope', ''), 'scope_wider_than_asked'],
    ['a token with a wider scope than the answer', claim('scope', 'jira:admin'), 'scope_wider_than_asked'],
    ['a token with a list as scope', claim('scope', ['jira:read']), 'scope_wider_than_asked'],
    ['a token with an object as scope', claim('scope', { toString: 1 }), 'scope_wider_than_asked'],
    ['a token of another task', claim('task', { id: 'task_b' }), 'another_task'],
    ['a token that outlives its task', claim('exp', NOW + TASK_SECONDS + 1), 'outlives_its_task'],
    ['a token that never expires', claim('exp'), 'outlives_its_task'],
    ['a token with null as exp', claim('exp', null), 'outlives_its_task'],
    ['a token with a string as exp', claim('exp', String(NOW)), 'outlives_its_task'],
    [
      'an opaque token that outlives its task',
      { claims: null, members: { expires_in: TASK_SECONDS + SKEW_SECONDS + 1 } },
      'outlives_its_task',
    ],
  ];
  for (const [what, changed, reason] of wrong) {
    it(`starts no task with an answer that has ${what}, and repeats no part of the answer`, async () => {
      changes = changed;
      await expectRefused(start(), 'unexpected_answer', reason);
    });

    it(`keeps its token after a renewal that has ${what}, until the next good answer`, async () => {
      const task = await start();
      const [first, { scope }] = [await task.token(), task];
      changes = changed;
      seconds += 200;
      await expectRefused(task.token(), 'unexpected_answer', reason);
      expect(task.scope).to.equal(scope);
      changes = {};
      seconds += 2;
      expect(await task.token())
        .to.equal(accessToken)
        .and.not.to.equal(first);
    });
  }

  it('says in one sentence why it refuses an answer', async () => {
    changes = member('scope', 'jira:admin secret-scope');
    expect(String(await expectRefused(start(), 'unexpected_answer', 'scope_wider_than_asked'))).to.equal(
      'Refused: The answer of the control plane was not accepted: unexpected_answer (scope_wider_than_asked).',
    );
  });

  const LONG_TOKEN = 'opaque-1f8Qz7Lk3Vt9Xw2Rb6Yn';
  /** The sentences of RFC 6749 §5.2's characters, and whether they are safe to show. */
  for (const [what, description, isShown] of [
    ['the sentence of the control plane', 'The scope exceeds the registration.', true],
    ['a sentence with an apostrophe and a bracket', "The agent's scopes [registered]: fewer.", true],
    ['no sentence', undefined, false],
    ['a number', 7, false],
    ['an empty sentence', ' ', false],
    ['a sentence with the token of the person', 'No scope for secret.a.b in it.', false],
    ['a sentence with a part of the token', `No scope for ${LONG_TOKEN.slice(8, 26)}... here.`, false],
    ['a sentence with the token in two words', `No ${LONG_TOKEN.slice(0, 12)} ${LONG_TOKEN.slice(12)} here.`, false],
    ['a sentence with a long word', `No ${'a'.repeat(41)} is known.`, false],
    ['a sentence with a line break', 'No\r\nscope.', false],
    ['a sentence with a character that reverses the text', 'No \u202escope.', false],
    ['a sentence of 401 characters', 'no '.repeat(134).slice(0, 401), false],
  ] as const) {
    it(`${isShown ? 'shows' : 'leaves out'} ${what} when the control plane refuses`, async () => {
      answer = () => Response.json({ error: 'invalid_scope', error_description: description }, { status: 400 });
      const subjectToken = what.endsWith('person') ? 'secret.a.b' : LONG_TOKEN;
      const request = { subjectToken, resource: JIRA, scope: ['jira:read'] };
      const error = await expectRefused(agent.startTask(request), 'invalid_scope');
      expect((error as Refused).errorDescription).to.equal(isShown ? description : undefined);
      expect((error as Refused).message).to.equal(
        `The control plane refused: invalid_scope.${isShown ? ` ${description}` : ''}`,
      );
    });
  }

  it('shows no sentence of an answer without an error code', async () => {
    answer = () => Response.json({ error_description: 'A page of a proxy.' }, { status: 404 });
    expect(await expectRefused(start(), 'unexpected_answer')).to.have.property('errorDescription', undefined);
  });

  it('accepts a token that expires with its task', async () => {
    changes = member('expires_in', TASK_SECONDS);
    expect((await start()).expiresAt.getTime()).to.equal((NOW + TASK_SECONDS) * 1000);
  });

  it('accepts an opaque token from a control plane whose clock is a minute behind', async () => {
    changes = { claims: null, members: { expires_in: TASK_SECONDS + SKEW_SECONDS } };
    expect(await (await start()).token()).to.equal('opaque.token');
  });

  for (const [what, changed] of [
    ['is of another task', member('task_id', 'task_b')],
    ['moves the end of the task', member('task_expires_at', new Date((NOW + TASK_SECONDS + 1) * 1000).toISOString())],
  ] as const) {
    it(`refuses a renewal that ${what}, and accepts the next good answer`, async () => {
      const task = await start();
      seconds += 200;
      changes = changed;
      await expectRefused(task.token(), 'unexpected_answer', 'another_task');
      expect([task.id, task.expiresAt.getTime()]).to.deep.equal(['task_a', (NOW + TASK_SECONDS) * 1000]);
      changes = {};
      seconds += 2;
      expect(await task.token()).to.equal(accessToken);
    });
  }

  it('refuses a narrowing whose answer has more scopes than requested', async () => {
    const task = await start();
    changes = member('scope', 'jira:read jira:comment');
    await expectRefused(task.narrow(['jira:read']), 'unexpected_answer', 'scope_wider_than_asked');
  });

  it('refuses a renewal with a scope that the task gave up', async () => {
    const task = await start();
    await task.narrow(['jira:read']);
    seconds += 200;
    changes = member('scope', 'jira:read jira:comment');
    await expectRefused(task.token(), 'unexpected_answer', 'scope_wider_than_asked');
    expect(task.scope).to.deep.equal(['jira:read']);
  });

  for (const wider of [['jira:comment'], ['jira:read', 'jira:comment']]) {
    it(`never requests ${wider.join(' and ')} after the task gave up all scopes but jira:read`, async () => {
      const task = await start();
      const both = [task.narrow(['jira:read']), task.narrow(wider)] as const;
      expect(await both[0]).to.deep.equal(['jira:read']);
      await expectRefused(both[1], 'invalid_scope', 'scope_given_up');
      expect(asked).to.deep.equal(['jira:read jira:comment', 'jira:read']);
      expect(await task.narrow(['jira:read'])).to.deep.equal(['jira:read']);
    });
  }

  it('refuses a narrowing to a scope that the task never had', async () => {
    const task = await start();
    await expectRefused(task.narrow(['jira:read', 'jira:admin']), 'unexpected_answer', 'scope_wider_than_asked');
    changes = member('scope', '');
    await expectRefused(task.narrow(['jira:admin']), 'unexpected_answer', 'scope_wider_than_asked');
    expect(task.scope).to.deep.equal(['jira:read', 'jira:comment']);
  });

  for (const status of STATUSES_BESIDE_200) {
    it(`accepts a good answer with the status 200 only, not with ${status}`, async () => {
      const withStatus = () => issued(new URLSearchParams(), status);
      const failure = status >= 500 ? NotNow : Refused;
      answer = withStatus;
      expect(await thrownBy(start())).to.be.instanceOf(failure);
      answer = undefined;
      const task = await start();
      answer = withStatus;
      seconds += 239;
      expect(await thrownBy(task.token())).to.be.instanceOf(failure);
    });
  }

  for (const [what, body] of [
    ['not UTF-8', Buffer.from('{"scope":"\u00ff"}', 'latin1')],
    ['longer than 64 KiB', Buffer.from(' '.repeat(64 * 1024 + 1))],
  ] as const) {
    it(`treats an answer that is ${what} as temporarily unavailable`, async () => {
      answer = () => new Response(body);
      expect(await thrownBy(start())).to.be.instanceOf(NotNow);
    });
  }

  for (const [body, status] of [
    ['', 200],
    ['null', 200],
    ['[]', 200],
    ['"yes"', 200],
    ['<html>', 200],
    ['{"error":"Not a <code>"}', 404],
  ] as const) {
    it(`refuses the answer ${JSON.stringify(body)} with the status ${status}`, async () => {
      answer = () => new Response(body, { status });
      await expectRefused(start(), 'unexpected_answer');
    });
  }

  it('sends no revocation after an answer that ended the task', async () => {
    const task = await start();
    answer = () => new Response('{"error":"access_denied","reason":"task_revoked"}', { status: 400 });
    seconds += 239;
    expect(await thrownBy(task.token()))
      .to.be.instanceOf(TaskOver)
      .and.include({ reason: 'task_revoked' });
    answer = () => {
      throw new Error('a request was sent');
    };
    await task.end();
    expect(await thrownBy(task.token())).to.include({ reason: 'task_revoked' });
  });

  it('does not wait for a long Retry-After after the caller has ended the task', async () => {
    const task = await start();
    answer = () => new Response('{}', { status: 503, headers: { 'retry-after': '3600' } });
    seconds += 239;
    expect(await thrownBy(task.token())).to.be.instanceOf(NotNow);
    answer = () => new Response('');
    await task.end();
    expect(await thrownBy(task.narrow(['jira:read'])))
      .to.be.instanceOf(TaskOver)
      .and.include({ reason: 'ended' });
  });
});
