import { expect } from 'chai';
import { plusSeconds } from '../../../domain/instant.ts';
import { judgeStanding, type TokenFacts } from '../../../domain/tasks/task-token.ts';
import { aTask, NOON } from '../../support/domain-fixtures.ts';

const facts: TokenFacts = {
  tokenRevocation: undefined,
  task: aTask({ expiresAt: plusSeconds(NOON, 60) }),
  taskState: { kind: 'live' },
  agentEnabled: true,
  above: [],
};
const byClient = { at: NOON, reason: 'client_revoked' } as const;
const byBlock = { kind: 'revoked', at: plusSeconds(NOON, -9), reason: 'sponsor_blocked' } as const;

describe('the state of a token', () => {
  it('is active if token, task and agent are all valid', () => {
    expect(judgeStanding(facts, NOON)).to.deep.equal({ kind: 'active' });
  });

  it('is revoked, with the time and reason, if the token or its task was revoked', () => {
    expect(judgeStanding({ ...facts, tokenRevocation: byClient }, NOON)).to.deep.equal({
      kind: 'revoked',
      revocation: byClient,
    });
    expect(judgeStanding({ ...facts, taskState: byBlock }, NOON)).to.deep.include({
      kind: 'revoked',
      revocation: byBlock,
    });
  });

  it('is inactive once the task has expired, before and after the expiry is recorded', () => {
    expect(judgeStanding({ ...facts, task: aTask({ expiresAt: NOON }) }, NOON)).to.deep.equal({ kind: 'inactive' });
    expect(judgeStanding({ ...facts, taskState: { kind: 'expired', at: NOON } }, NOON)).to.deep.equal({
      kind: 'inactive',
    });
  });

  it('reports a disabled agent only for an otherwise valid token', () => {
    expect(judgeStanding({ ...facts, agentEnabled: false }, NOON)).to.deep.equal({ kind: 'agent_disabled' });
    expect(judgeStanding({ ...facts, agentEnabled: false, task: aTask({ expiresAt: NOON }) }, NOON)).to.deep.equal({
      kind: 'inactive',
    });
    expect(judgeStanding({ ...facts, agentEnabled: false, tokenRevocation: byClient }, NOON)).to.include({
      kind: 'revoked',
    });
  });
});

describe('the state of a token of a delegated task', () => {
  const above = { task: { expiresAt: plusSeconds(NOON, 60) }, state: { kind: 'live' }, agentEnabled: true } as const;
  const judged = (changes: object, own: object = {}) =>
    judgeStanding({ ...facts, above: [above, { ...above, ...changes }], ...own }, NOON);

  it('is active while the tasks above are live, and their agents enabled', () => {
    expect(judged({})).to.deep.equal({ kind: 'active' });
  });

  it('is revoked with a task above, for the reason of all tasks below it', () => {
    const revocation = { at: byBlock.at, reason: 'parent_revoked' };
    expect(judged({ state: byBlock })).to.deep.equal({ kind: 'revoked', revocation });
  });

  it('is inactive once the time of a task above is up', () => {
    expect(judged({ task: { expiresAt: NOON } })).to.deep.equal({ kind: 'inactive' });
  });

  it('is inactive while an agent above is disabled; its own agent comes first', () => {
    expect(judged({ agentEnabled: false })).to.deep.equal({ kind: 'ancestor_disabled' });
    expect(judged({ agentEnabled: false }, { agentEnabled: false })).to.deep.equal({ kind: 'agent_disabled' });
  });
});
