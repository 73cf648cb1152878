import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { openTask, type TaskOpening } from '../../../application/decisions/open-task.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import { anAssertion, anOpening, aPurpose, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { aStatedBlock, lockNames } from '../../support/decision-fixtures.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const agent = anAgent();
const { agentId } = agent;
const CREATED = instantFromMicros(NOON + 7);
const opening: TaskOpening = {
  ...anOpening(agent, { sessionId: 'session-7', createdAt: CREATED }),
  assertion: withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON }),
};
const { task, grantHash, assertion, entry } = opening;
const guarded: TaskOpening = { ...opening, refuseLoggedOut: { issuedAt: NOON, earliest: CREATED } };

const clear = {
  revision: agent.revision,
  spent: [false, false],
  blocks: [],
  logouts: [],
  ancestorRevisions: [],
  ancestorTasks: [],
};

describe('Opening a task', () => {
  const opened = (of: TaskOpening) => ({
    verdict: { kind: 'opened' },
    effects: [
      { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion?.forgetAt },
      { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
      { effect: 'insert_task', task: of.task, grantHash },
      { effect: 'append', entries: [entry] },
    ],
  });

  it('marks both assertions as used, inserts the task with its grant and appends the entry', () => {
    expect(openTask.judge(opening, clear)).to.deep.equal(opened(opening));
  });

  it('inserts the stated purpose after the task, and appends its entry after that of the token', () => {
    const purpose = aPurpose(task);
    const { verdict, effects } = opened(opening);
    expect(openTask.judge({ ...opening, purpose }, clear)).to.deep.equal({
      verdict,
      effects: [
        ...effects.slice(0, -1),
        { effect: 'insert_purpose', taskId: task.taskId, ...purpose.stated },
        { effect: 'append', entries: [entry, purpose.entry] },
      ],
    });
  });

  const listed: TaskOpening = { ...opening, statusDraws: [7, 9] };

  it('gives the task the first free index of the list, and says which', () => {
    const status = { listId: 'list', index: 9 };
    const expected = opened({ ...opening, task: { ...task, status } });
    const facts = { ...clear, slot: { listId: 'list', entries: 1024, free: [9, 7] } };
    const verdict = { kind: 'opened', status, entries: 1024 };
    expect(openTask.judge(listed, facts)).to.deep.equal({ ...expected, verdict });
  });

  it('gives the task the first candidate that no task has, and says no_status_index if there is none', () => {
    const statusCandidates = { listId: 'list', indices: [5, 7, 9] };
    const proposed: TaskOpening = { ...opening, statusCandidates };
    expect(openTask.asks(proposed).taken).to.deep.equal({ fact: 'taken_status_indices', about: statusCandidates });
    const status = { listId: 'list', index: 7 };
    const expected = opened({ ...opening, task: { ...task, status } });
    const judged = (...taken: number[]) => openTask.judge(proposed, { ...clear, taken });
    expect(judged(5)).to.deep.equal({ ...expected, verdict: { kind: 'opened', status } });
    expect(judged(5, 7, 9)).to.deep.equal({ verdict: { kind: 'no_status_index' }, effects: [] });
  });

  for (const [title, slot] of [
    ['the audience has no open status list', undefined],
    ['no free index was found', { listId: 'list', entries: 1024, free: [] }],
  ] as const) {
    it(`writes nothing if ${title}: no_status_index, which no obstacle is hidden by`, () => {
      const verdict = (facts: object) => openTask.judge(listed, { ...clear, slot, ...facts });
      expect(verdict({})).to.deep.equal({ verdict: { kind: 'no_status_index' }, effects: [] });
      expect(verdict({ spent: [true, false] })).to.deep.equal({ verdict: { kind: 'replayed' }, effects: [] });
    });
  }

  it('asks for an index only with draws', () => {
    expect(openTask.asks(opening).slot).to.equal(undefined);
    const about = { audience: task.audience, draws: [7, 9] };
    expect(openTask.asks(listed).slot).to.deep.equal({ fact: 'status_slot', about });
  });

  for (const [title, changes, kind] of [
    ['a changed agent', { revision: agent.revision + 1 }, 'agent_changed'],
    ['an agent at an older revision', { revision: agent.revision - 1 }, 'agent_changed'],
    ['a deleted agent, even on a replay', { revision: undefined, spent: [true, true] }, 'agent_changed'],
    ['a replayed assertion', { spent: [true, false] }, 'replayed'],
    ['a replayed client assertion', { spent: [false, true] }, 'replayed'],
    ['a replayed assertion of a blocked person', { spent: [true, false], blocks: [aStatedBlock()] }, 'replayed'],
  ] as const) {
    it(`writes nothing for ${title}: ${kind}`, () => {
      expect(openTask.judge(opening, { ...clear, ...changes })).to.deep.equal({ verdict: { kind }, effects: [] });
    });
  }

  for (const [first, second] of [
    ['deleted', 'disabled'],
    ['disabled', 'deleted'],
  ] as const) {
    it(`writes nothing for a blocked person, and returns the kind of the oldest block: ${first}`, () => {
      const blocks = [aStatedBlock({ kind: first }), aStatedBlock({ kind: second, source: 'scim' })];
      const loggedOut = [{ statedAt: CREATED, forgetAt: plusSeconds(NOON, 100) }];
      expect(openTask.judge(guarded, { ...clear, blocks, logouts: loggedOut })).to.deep.equal({
        verdict: { kind: 'sponsor_blocked', block: first },
        effects: [],
      });
    });
  }

  it('is refused by a logout until the earlier of two clocks has passed its end', () => {
    const logouts = [{ statedAt: NOON, forgetAt: CREATED }];
    const judged = (earliest: Instant) =>
      openTask.judge({ ...opening, refuseLoggedOut: { issuedAt: NOON, earliest } }, { ...clear, logouts }).verdict;
    expect(judged(instantFromMicros(CREATED - 1))).to.deep.equal({ kind: 'logged_out' });
    expect(judged(CREATED)).to.deep.equal({ kind: 'opened' });
  });

  const LATER = plusSeconds(NOON, 100);
  for (const [title, issuedAt, ofPerson, ofSession, refused] of [
    ['no logout', NOON, undefined, undefined, false],
    ['a logout of the person after the token', NOON, { statedAt: plusSeconds(NOON, 1) }, undefined, true],
    ['a logout of the person in the second of the token', NOON, { statedAt: NOON }, undefined, true],
    ['a logout of the person before the token', NOON, { statedAt: instantFromMicros(NOON - 1) }, undefined, false],
    ['a logout of the person, and a token without iat', undefined, { statedAt: NOON }, undefined, true],
    ['a logout of the session before the token', NOON, undefined, { statedAt: plusSeconds(NOON, -9) }, true],
    ['a forgotten logout of the person', NOON, { statedAt: LATER, forgetAt: CREATED }, undefined, false],
    ['a forgotten logout of the session', NOON, undefined, { statedAt: LATER, forgetAt: CREATED }, false],
    [
      'an earlier logout of the person and a forgotten one of the session',
      NOON,
      { statedAt: instantFromMicros(NOON - 1) },
      { statedAt: LATER, forgetAt: CREATED },
      false,
    ],
  ] as const) {
    it(`${refused ? 'is refused' : 'succeeds'} after ${title}`, () => {
      const logouts = [ofPerson, ofSession].map((times) => times && { forgetAt: LATER, ...times });
      const judgement = openTask.judge(
        { ...opening, refuseLoggedOut: { issuedAt, earliest: CREATED } },
        { ...clear, logouts },
      );
      expect(judgement).to.deep.equal(refused ? { verdict: { kind: 'logged_out' }, effects: [] } : opened(opening));
    });
  }

  it('reads the agent, the assertions and the blocks of the person', () => {
    const questions = {
      revision: { fact: 'agent_revision', about: agentId },
      spent: assertionQuestions(assertion),
      blocks: { fact: 'blocks', about: task.sponsorKey },
      logouts: [],
      ancestorRevisions: [],
      ancestorTasks: [],
      offerSpent: undefined,
      children: undefined,
      isRefused: undefined,
      authorization: undefined,
      slot: undefined,
      taken: undefined,
    };
    expect(openTask.asks(opening)).to.deep.equal(questions);
  });

  it('reads the logouts of the sub, and of the session, or of the tokens without one, if logouts refuse exchanges', () => {
    const ofPerson = { fact: 'logout', about: { kind: 'person', name: task.sponsor } };
    const ofSession = { fact: 'logout', about: { kind: 'session', name: 'session-7' } };
    expect(openTask.asks(guarded).logouts).to.deep.equal([ofPerson, ofSession]);
    const noSession = { ...guarded, task: { ...task, sessionId: undefined } };
    const ofSessionless = { fact: 'logout', about: { kind: 'person_without_session', name: task.sponsor } };
    expect(openTask.asks(noSession).logouts).to.deep.equal([ofPerson, undefined, ofSessionless]);
  });

  const person = `shared sponsor ${task.sponsorKey}`;
  const others = [`shared agent ${agentId}`, ...['one', 'two'].map((jti) => `exclusive assertion ${agentId} ${jti}`)];
  for (const [title, changes, locks] of [
    [
      'shares the locks of the sponsor key, the sub, the session and the agent, so that their ends wait',
      {},
      [person, `shared subject ${task.sponsor}`, 'shared session session-7', ...others],
    ],
    [
      'shares one lock of the person if the sub is the sponsor key',
      { sponsor: task.sponsorKey, sessionId: undefined },
      [person, ...others],
    ],
  ] as const) {
    it(`${title}, and locks its assertions exclusively`, () => {
      expect(lockNames(openTask.locks({ ...opening, task: { ...task, ...changes } }))).to.deep.equal(locks);
    });
  }
});
