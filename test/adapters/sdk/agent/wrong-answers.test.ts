/** The agent library refuses answers that grant more than it requested, over real HTTP. */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { createAgent, Refused, type Task } from '../../../../adapters/sdk/agent/agent.ts';
import { answering, type Loopback, startLoopback } from '../../../support/loopback.ts';

const RESOURCE = 'https://jira.example/api';
const TASK_SECONDS = 1800;
const TOKEN_SECONDS = 300;
const SKEW_SECONDS = 60;
const NOW = 1_790_000_000;

interface Lie {
  readonly scope?: string;
  readonly taskId?: string;
  readonly expiresIn?: number;
  /** Seconds since 1970. */
  readonly taskEnd?: number;
  /** Claims that differ from the answer's members; `null` for a token that is not a JWT. */
  readonly claims?: Readonly<Record<string, unknown>> | null;
}

describe('The agent library, with a control plane that sends wrong answers', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  let plane: Loopback;
  let lie: Lie;
  let seconds: number;

  before(async () => {
    plane = await startLoopback((request, response) => {
      answering(request.path === '/oauth2/token' ? issued(request.body) : {})(request, response);
    });
  });
  after(() => plane.close());
  beforeEach(() => {
    lie = {};
    seconds = NOW;
    plane.received.length = 0;
  });

  /** The service's answer, with the lie merged in. */
  function issued(form: string): object {
    const asked = new URLSearchParams(form).get('scope') ?? 'jira:read jira:comment';
    const { scope = asked, taskId = 'task_a', expiresIn = TOKEN_SECONDS, taskEnd = NOW + TASK_SECONDS } = lie;
    const claims = { exp: seconds + expiresIn, scope, task: { id: taskId, exp: taskEnd, sponsor: 'ada' } };
    return {
      access_token: lie.claims === null ? 'opaque.token' : aToken({ ...claims, ...lie.claims }),
      ...{ token_type: 'Bearer', expires_in: expiresIn, scope, refresh_token: 'task_grant_a', task_id: taskId },
      task_expires_at: new Date(taskEnd * 1000).toISOString(),
    };
  }

  const aToken = (claims: object) =>
    [{ alg: 'ES256', typ: 'at+jwt' }, claims, 'signature']
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');

  const start = (): Promise<Task> =>
    createAgent({
      ...{ issuer: plane.url, agentId: 'triage', key: { pem } },
      clock: { now: () => seconds * 1000, sleep: async () => undefined, random: () => 0 },
    }).startTask({ subjectToken: 'subject', resource: RESOURCE, scope: ['jira:read', 'jira:comment'] });

  const refusedWith = async (act: Promise<unknown>, error: string, reason: string) => {
    const thrown = await act.then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(thrown).to.be.instanceOf(Refused).and.include({ error, reason });
  };
  const forms = () => plane.received.map(({ body }) => new URLSearchParams(body));

  const OTHER = 'task_b';
  const lies: readonly (readonly [string, Lie, string])[] = [
    ['a wider scope', { scope: 'jira:read jira:admin' }, 'scope_wider_than_asked'],
    ['no scope at all', { scope: '' }, 'scope_wider_than_asked'],
    ['a token with a wider scope than the answer says', { claims: { scope: 'jira:admin' } }, 'scope_wider_than_asked'],
    ['a token whose scope is an array', { claims: { scope: ['jira:read'] } }, 'scope_wider_than_asked'],
    ['a token whose scope has no text', { claims: { scope: { toString: 1 } } }, 'scope_wider_than_asked'],
    ['a token of another task', { claims: { task: { id: OTHER } } }, 'another_task'],
    ['a token that outlives its task', { claims: { exp: NOW + TASK_SECONDS + 1 } }, 'outlives_its_task'],
    ['a token that never expires', { claims: { exp: undefined } }, 'outlives_its_task'],
    ['a token whose exp is null', { claims: { exp: null } }, 'outlives_its_task'],
    ['a token whose exp is a string', { claims: { exp: String(NOW) } }, 'outlives_its_task'],
    [
      'an opaque token that outlives its task',
      { claims: null, expiresIn: TASK_SECONDS + SKEW_SECONDS + 1 },
      'outlives_its_task',
    ],
  ];
  for (const [what, told, reason] of lies) {
    it(`starts no task with ${what}`, async () => {
      lie = told;
      await refusedWith(start(), 'unexpected_answer', reason);
    });

    it(`keeps its token when a renewal answers with ${what}`, async () => {
      const task = await start();
      const { scope } = task;
      seconds += TOKEN_SECONDS * 0.7;
      lie = told;
      await refusedWith(task.token(), 'unexpected_answer', reason);
      expect(task.scope).to.equal(scope);
    });
  }

  it('accepts a token that expires with its task', async () => {
    lie = { expiresIn: TASK_SECONDS };
    expect((await start()).expiresAt.getTime()).to.equal((NOW + TASK_SECONDS) * 1000);
  });

  it('accepts an opaque token from a control plane whose clock is a minute behind', async () => {
    lie = { claims: null, expiresIn: TASK_SECONDS + SKEW_SECONDS };
    expect(await (await start()).token()).to.equal('opaque.token');
  });

  for (const [what, told] of [
    ['of another task', { taskId: OTHER }],
    ['that moves the end of the task', { taskEnd: NOW + TASK_SECONDS + 1 }],
  ] as const) {
    it(`refuses a renewal ${what}`, async () => {
      const task = await start();
      seconds += TOKEN_SECONDS * 0.7;
      lie = told;
      await refusedWith(task.token(), 'unexpected_answer', 'another_task');
      expect([task.id, task.expiresAt.getTime()]).to.deep.equal(['task_a', (NOW + TASK_SECONDS) * 1000]);
      // The next honest answer is accepted.
      lie = {};
      seconds += 2;
      expect(await task.token()).to.be.a('string');
    });
  }

  it('refuses a narrowing that leaves more scopes than requested', async () => {
    const task = await start();
    lie = { scope: 'jira:read jira:comment' };
    await refusedWith(task.narrow(['jira:read']), 'unexpected_answer', 'scope_wider_than_asked');
  });

  it('refuses a renewal that returns a scope that was given up', async () => {
    const task = await start();
    await task.narrow(['jira:read']);
    seconds += TOKEN_SECONDS * 0.7;
    lie = { scope: 'jira:read jira:comment' };
    await refusedWith(task.token(), 'unexpected_answer', 'scope_wider_than_asked');
    expect(task.scope).to.deep.equal(['jira:read']);
  });

  for (const wider of [['jira:comment'], ['jira:read', 'jira:comment']]) {
    it(`never requests ${wider.join(' and ')} after giving up all scopes but jira:read`, async () => {
      const task = await start();
      const both = [task.narrow(['jira:read']), task.narrow(wider)];
      expect(await both[0]).to.deep.equal(['jira:read']);
      await refusedWith(both[1] ?? Promise.resolve(), 'invalid_scope', 'scope_given_up');
      expect(forms().map((form) => form.get('scope'))).to.deep.equal(['jira:read jira:comment', 'jira:read']);
      expect(await task.narrow(['jira:read'])).to.deep.equal(['jira:read']);
    });
  }

  it('refuses a narrowing to a scope that the task never had', async () => {
    const task = await start();
    await refusedWith(task.narrow(['jira:read', 'jira:admin']), 'unexpected_answer', 'scope_wider_than_asked');
    lie = { scope: '' };
    await refusedWith(task.narrow(['jira:admin']), 'unexpected_answer', 'scope_wider_than_asked');
    expect(task.scope).to.deep.equal(['jira:read', 'jira:comment']);
  });

  it('explains the refusal in a sentence that repeats no part of the answer', async () => {
    lie = { scope: 'jira:admin secret-scope' };
    const error = await start().catch((caught: unknown) => caught);
    expect(String(error)).to.equal(
      'Refused: The answer of the control plane was not accepted: unexpected_answer (scope_wider_than_asked).',
    );
    expect(JSON.stringify(error)).not.to.include('secret');
  });
});
