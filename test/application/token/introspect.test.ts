import { expect } from 'chai';
import type { ChainedTask, Tasks } from '../../../application/ports/tasks.ts';
import { introspectToken } from '../../../application/token/introspect.ts';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { type TokenFacts, taskTokenClaims } from '../../../domain/tasks/task-token.ts';
import { CLOCK_SKEW_SECONDS } from '../../../domain/tokens/compact-jws.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { aDelegator, agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';
import { agreeing } from '../../support/moved-clock.ts';

const ISSUER = 'https://mandate.example';
const TOKEN_ID = makeTokenId('01M31S7W68TMK7WDX8YKPSYTEZ');

describe('introspecting a token', () => {
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  let token: string;
  let claims: JsonObject;
  let facts: TokenFacts | undefined;
  let now: Instant;
  let asked: unknown[];
  let mismatches: string[];
  /** The tasks above, and from which task they were read. */
  let above: readonly ChainedTask[];
  let chains: unknown[];
  before(async () => {
    signingKeys = await newKeys();
    const task = aTask();
    const made = { issuer: ISSUER, tokenId: TOKEN_ID, task, agent: anAgent(), scope: task.scope, instance: undefined };
    claims = taskTokenClaims({ ...made, now: NOON }).claims;
    token = await signingKeys.sign('at+jwt', claims);
  });
  beforeEach(() => {
    facts = {
      tokenRevocation: undefined,
      task: aTask(),
      taskState: { kind: 'live' },
      agentEnabled: true,
      above: [],
    };
    now = plusSeconds(NOON, 10);
    asked = [];
    mismatches = [];
    above = [];
    chains = [];
  });

  const tasks: Pick<Tasks, 'tokenFacts' | 'chain'> = {
    async chain(taskId) {
      chains.push(taskId);
      return above;
    },
    async tokenFacts(...ids) {
      asked.push(ids);
      return facts;
    },
  };
  const introspect = (text = token) => introspectToken({ ...service(), tasks, signingKeys, issuer: ISSUER }, text);
  const service = () => ({ clock: { now: () => now }, sharedTime: agreeing({ now: () => now }), measurements });
  const measurements = { tokenMismatch: (surface: string) => mismatches.push(surface) };

  it('returns the claims of a token that storage considers valid', async () => {
    const answer = await introspect();
    expect(answer.kind === 'active' && answer.token.claims.json).to.deep.equal(claims);
    expect(asked).to.deep.equal([[TOKEN_ID, aTask().taskId]]);
    expect(chains, 'a task without a parent needs no further read').to.deep.equal([]);
  });

  it('reports a token as inactive if its task is not stored', async () => {
    facts = undefined;
    expect(await introspect()).to.deep.equal({ kind: 'inactive' });
  });

  it('reports a token as inactive from the second of its expiry, without a read of the database', async () => {
    const end = instantFromSeconds(Number(claims.exp));
    now = plusSeconds(end, -1);
    expect((await introspect()).kind).to.equal('active');
    asked = [];
    now = end;
    expect(await introspect()).to.deep.equal({ kind: 'inactive' });
    expect(asked).to.deep.equal([]);
  });

  it('reports a token as inactive before its nbf, with the clock skew; the service writes none', async () => {
    const withNbf = (seconds: number) => signingKeys.sign('at+jwt', { ...claims, nbf: toSeconds(now) + seconds });
    expect((await introspect(await withNbf(CLOCK_SKEW_SECONDS))).kind).to.equal('active');
    asked = [];
    expect(await introspect(await withNbf(CLOCK_SKEW_SECONDS + 1))).to.deep.equal({ kind: 'inactive' });
    expect(asked).to.deep.equal([]);
  });

  it('reports a foreign token as inactive, without a read of the database', async () => {
    for (const text of [
      'a.b.c',
      await (await newKeys()).sign('at+jwt', claims),
      await signingKeys.sign('JWT', claims),
    ]) {
      expect(await introspect(text)).to.deep.equal({ kind: 'inactive' });
    }
    expect(asked).to.deep.equal([]);
  });

  it('reports a token that differs from its task as inactive, whatever the state, and counts it', async () => {
    const live = facts;
    if (live === undefined) throw new Error('there are facts');
    const revocation = { at: NOON, reason: 'client_revoked' } as const;
    const forged = await signingKeys.sign('at+jwt', { ...claims, sub: 'ceo' });
    for (const state of [
      live,
      { ...live, tokenRevocation: revocation },
      { ...live, taskState: { kind: 'revoked', ...revocation } as const },
      { ...live, agentEnabled: false },
    ]) {
      facts = state;
      expect(await introspect(forged)).to.deep.equal({ kind: 'mismatch' });
    }
    expect(mismatches).to.deep.equal(Array(4).fill('introspection'));
    facts = undefined;
    expect(await introspect(forged), 'an unknown task shows nothing').to.deep.equal({ kind: 'inactive' });
    expect(mismatches).to.have.lengthOf(4);
  });

  it('reports a revoked task with time and reason, an expired task as inactive, and a disabled agent', async () => {
    const revocation = { at: NOON, reason: 'client_revoked' } as const;
    const live = facts;
    if (live === undefined) throw new Error('there are facts');
    facts = { ...live, tokenRevocation: revocation };
    expect(await introspect()).to.deep.equal({ kind: 'revoked', revocation });
    facts = { ...live, taskState: { kind: 'revoked', ...revocation } };
    expect(await introspect()).to.deep.nested.include({ kind: 'revoked', 'revocation.reason': 'client_revoked' });
    facts = { ...live, taskState: { kind: 'expired', at: now } };
    expect(await introspect()).to.deep.equal({ kind: 'inactive' });
    facts = { ...live, agentEnabled: false };
    expect(await introspect()).to.deep.equal({ kind: 'agent_disabled' });
  });

  describe('of a delegated task', () => {
    const parent = aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), agentId: agentIdOf('jira-lead') });
    const task = aTask({ delegatedBy: [aDelegator(parent.taskId)], delegationDepth: 2 });
    const link: ChainedTask = {
      task: parent,
      state: { kind: 'live' },
      scope: parent.scope,
      grantHash: 'above',
      agentEnabled: true,
    };
    let delegated: string;
    before(async () => {
      const made = {
        issuer: ISSUER,
        tokenId: TOKEN_ID,
        task,
        agent: anAgent(),
        scope: task.scope,
        instance: undefined,
      };
      delegated = await signingKeys.sign('at+jwt', taskTokenClaims({ ...made, now: NOON }).claims);
    });
    beforeEach(() => {
      if (facts !== undefined) facts = { ...facts, task };
      above = [link];
    });

    it('reads the tasks above, and is active while they are', async () => {
      expect((await introspect(delegated)).kind).to.equal('active');
      expect(chains).to.deep.equal([parent.taskId]);
    });

    const at = NOON;
    for (const [title, changes, answer] of [
      [
        'was revoked, whatever the reason: parent_revoked, at that time',
        { state: { kind: 'revoked', at, reason: 'sponsor_blocked' } },
        { kind: 'revoked', revocation: { at, reason: 'parent_revoked' } },
      ],
      ['has expired', { state: { kind: 'expired', at } }, { kind: 'inactive' }],
      ['is past its time', { task: aTask({ expiresAt: plusSeconds(NOON, 10) }) }, { kind: 'inactive' }],
      ['has a disabled agent: ancestor_disabled', { agentEnabled: false }, { kind: 'ancestor_disabled' }],
    ] as const) {
      it(`is not active if the task above ${title}`, async () => {
        above = [{ ...link, ...changes }];
        expect(await introspect(delegated)).to.deep.equal(answer);
      });
    }

    it('is not active if a task above is not stored, or the stored one is another than that of the task', async () => {
      for (const stored of [[], [link, link], [{ ...link, task: aTask() }]]) {
        above = stored;
        expect(await introspect(delegated)).to.deep.equal({ kind: 'inactive' });
      }
    });

    it('has the reason of its own agent first', async () => {
      if (facts !== undefined) facts = { ...facts, agentEnabled: false };
      above = [{ ...link, agentEnabled: false }];
      expect(await introspect(delegated)).to.deep.equal({ kind: 'agent_disabled' });
    });
  });
});
