import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { type Refusal, refuse } from '../../../application/decisions/refuse.ts';
import { KEPT_SECONDS } from '../../../domain/authorization/authorization.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { aCode, anAuthorization } from '../../contract/authorization-fixtures.ts';
import { anAssertion, aRefusal, newSponsorKey, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { aStatedBlock, endEffects, liveTasks, lockNames, NO_TASKS, revoked } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const assertion = withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON });
const sponsorKey = newSponsorKey();
const entry = aRefusal('scope_widened', { agentId, sponsor: 'ada', audience: 'https://jira.example' });
const owner = { agentId, taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'), sponsorKey };
const refusal: Refusal = { entry, assertion, sponsorKey };
const LATER = plusSeconds(NOON, 7);
const SPEND_ONE = { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion.forgetAt };
const SPEND_TWO = { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON };

describe('Recording a refusal', () => {
  const disabled = [aStatedBlock({ kind: 'disabled' }), aStatedBlock({ kind: 'deleted', source: 'scim' })];
  for (const [title, facts, reason, spent] of [
    [
      'under its own reason, and marks both assertions as used',
      { spent: [false, false], blocks: [] },
      'scope_widened',
      [SPEND_ONE, SPEND_TWO],
    ],
    [
      'as a replay if the assertion was used before, and marks the client assertion as used',
      { spent: [true, false], blocks: [] },
      'actor_replayed',
      [SPEND_TWO],
    ],
    [
      'as a replay if the client assertion was used before, and marks the assertion as used',
      { spent: [false, true], blocks: [] },
      'actor_replayed',
      [SPEND_ONE],
    ],
    [
      'under the reason of the oldest block, and marks both assertions as used',
      { spent: [false, false], blocks: disabled },
      'sponsor_disabled',
      [SPEND_ONE, SPEND_TWO],
    ],
    [
      'under the reason of the oldest block, also of a deleted person',
      { spent: [false, false], blocks: disabled.toReversed() },
      'sponsor_not_found',
      [SPEND_ONE, SPEND_TWO],
    ],
    ['as a replay, also of a blocked person', { spent: [true, true], blocks: disabled }, 'actor_replayed', []],
  ] as const) {
    it(`stores the denial ${title}`, () => {
      const judgement = refuse.judge(refusal, {
        ...facts,
        owner: undefined,
        live: undefined,
        authorization: undefined,
      });
      expect(judgement).to.deep.equal({
        verdict: reason,
        effects: [...spent, { effect: 'append', entries: [{ ...entry, reason }] }],
      });
      expect(refuse.denial?.(refusal, judgement.verdict)).to.deep.equal({ event: 'token.denied', reason });
    });
  }

  it('keeps the reason of a refusal without an assertion and without a person', () => {
    expect(
      refuse.judge(
        { entry },
        { spent: [], blocks: undefined, owner: undefined, live: undefined, authorization: undefined },
      ),
    ).to.deep.equal({
      verdict: 'scope_widened',
      effects: [{ effect: 'append', entries: [entry] }],
    });
  });

  it('writes nothing if the grant that a read did not find is stored, and this agent has it', () => {
    const unknown: Refusal = { ...refusal, unknownGrant: 'a-hash' };
    expect(refuse.asks(unknown)).to.deep.include({ owner: { fact: 'grant_owner', about: 'a-hash' } });
    const facts = { spent: [false, false], blocks: [], live: undefined, authorization: undefined };
    const stored = refuse.judge(unknown, { ...facts, owner });
    expect(stored).to.deep.equal({ verdict: 'grant_exists', effects: [] });
    expect(refuse.denial?.(unknown, stored.verdict)).to.equal(undefined);
    expect(refuse.judge(unknown, { ...facts, owner: { ...owner, agentId: agentIdOf('another') } }).verdict).to.equal(
      'scope_widened',
    );
  });

  it('reads the assertions, and the blocks of the person whom the refusal names', () => {
    const spent = assertionQuestions(assertion);
    expect(refuse.asks(refusal)).to.deep.equal({
      spent,
      blocks: { fact: 'blocks', about: sponsorKey },
      owner: undefined,
      live: undefined,
      authorization: undefined,
    });
    expect(refuse.asks({ entry }), 'neither is named').to.deep.equal({
      spent: [],
      blocks: undefined,
      owner: undefined,
      live: undefined,
      authorization: undefined,
    });
  });

  it('shares the lock of the person whom the refusal names, and locks its assertions exclusively', () => {
    expect(lockNames(refuse.locks(refusal))).to.deep.equal([
      `shared sponsor ${sponsorKey}`,
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
    ]);
    expect(refuse.locks({ entry }), 'neither is named').to.deep.equal([]);
  });

  describe('of a used code, or an older grant', () => {
    const { taskId } = owner;
    const live = liveTasks([taskId]);
    const misuse = (reason: 'code_replayed' | 'grant_superseded'): Refusal => ({
      // The clock that dates the record is an hour ahead.
      entry: aRefusal(reason, { agentId, taskId, at: plusSeconds(LATER, 3600) }),
      assertion,
      misusedTask: { taskId, sponsorKey, endsAt: LATER },
    });
    const facts = { spent: [false, false], blocks: undefined, owner: undefined, live, authorization: undefined };

    it('ends the task for the same reason, by the earlier clock, after the record of the refusal', () => {
      for (const reason of ['code_replayed', 'grant_superseded'] as const) {
        const judgement = refuse.judge(misuse(reason), facts);
        const ends = endEffects(revoked(LATER, [taskId, reason]), misuse(reason).entry);
        expect(judgement).to.deep.equal({ verdict: reason, effects: [SPEND_ONE, SPEND_TWO, ...ends] });
      }
    });

    it('only records the refusal if the task has ended, or if another check fails now', () => {
      const recorded = (of: object) =>
        refuse.judge(misuse('code_replayed'), { ...facts, ...of }).effects.map(({ effect }) => effect);
      expect(recorded({ live: NO_TASKS })).to.deep.equal(['spend_assertion', 'spend_assertion', 'append']);
      const replayed = refuse.judge(misuse('code_replayed'), { ...facts, spent: [true, true] });
      expect(replayed.verdict).to.equal('actor_replayed');
      expect(replayed.effects.map(({ effect }) => effect)).to.deep.equal(['append']);
    });

    it('locks the person and the task exclusively, and reads the live task', () => {
      const input = misuse('grant_superseded');
      expect(lockNames(refuse.locks(input))).to.deep.equal([
        `exclusive sponsor ${sponsorKey}`,
        `exclusive assertion ${agentId} one`,
        `exclusive assertion ${agentId} two`,
        `exclusive task ${taskId}`,
      ]);
      const about = { selection: { kind: 'task', taskId }, at: LATER };
      expect(refuse.asks(input).live).to.deep.equal({ fact: 'live_tasks', about });
    });
  });

  describe('of a code that fits', () => {
    const authorization = anAuthorization({ state: 'allowed', code: aCode() });
    const { requestId, code } = authorization;
    const fits: Refusal = { ...refusal, spentCode: requestId };
    const spentBy = (of: object) =>
      refuse
        .judge(fits, { spent: [false, false], blocks: [], owner: undefined, live: undefined, authorization, ...of })
        .effects.filter(({ effect }) => effect === 'spend_authorization');

    it('spends the code, also under the reason of a block, and the row is forgotten as without a task', () => {
      const spend = {
        effect: 'spend_authorization',
        requestId,
        forgetAt: plusSeconds(code?.expiresAt ?? NOON, KEPT_SECONDS),
      };
      expect(spentBy({})).to.deep.equal([spend]);
      expect(spentBy({ blocks: disabled })).to.deep.equal([spend]);
      expect(lockNames(refuse.locks(fits)).at(-1)).to.equal(`exclusive authorization ${requestId}`);
      expect(refuse.asks(fits).authorization).to.deep.equal({ fact: 'authorization', about: requestId });
    });

    it('leaves the code of a client whose assertion was used before, and one that was spent or made void meanwhile', () => {
      expect(spentBy({ spent: [true, true] })).to.deep.equal([]);
      for (const state of ['spent', 'void'] as const) {
        expect(spentBy({ authorization: { ...authorization, state } }), state).to.deep.equal([]);
      }
    });
  });
});
