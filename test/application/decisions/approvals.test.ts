/** Asking for an approval and answering it: the locks, and the states that no single request over HTTP shows. */

import { expect } from 'chai';
import { answerApproval } from '../../../application/decisions/answer-approval.ts';
import { askApproval } from '../../../application/decisions/ask-approval.ts';
import type { ApprovalState } from '../../../domain/approvals/approval.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { answering, asking, aWorld } from '../../contract/world.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const world = aWorld();
const { task } = world.live;
const LIVE = { state: 'live', expiresAt: plusSeconds(NOON, 3000) } as const;
const at = (seconds: number) => plusSeconds(NOON, seconds);

/** The approval of the asked digest: it was opened at noon, for ten minutes. */
const stored = (state: ApprovalState, changes: object = {}) => {
  const { opening } = asking(world, 'waiting');
  const approval = { ...opening, taskId: task.taskId, sponsorKey: task.sponsorKey, round: 1, requestedAt: NOON };
  const times = { expiresAt: at(600), decidedAt: undefined, closedAt: undefined };
  const row = { ...approval, state, ...times, wordsChanged: false, ...changes };
  return { kind: 'same', row, record: asking(world, 'waiting').about } as const;
};

describe('Asking for an approval', () => {
  const asked = asking(world, 'waiting');
  const facts = { wasAccepted: false, areEnabled: [true], isRevoked: false, task: LIVE, sponsorKey: task.sponsorKey };
  const NONE = { ofTask: 0, ofAgent: 0, ofPerson: 0 };
  const judge = (last: ReturnType<typeof stored> | undefined, earliest: number, latest: number, pending = NONE) =>
    askApproval.judge({ ...asked, times: { earliest: at(earliest), latest: at(latest) } }, { ...facts, last, pending });
  const kind = (...given: Parameters<typeof judge>) => judge(...given).verdict.kind;

  it('locks the request, and the task as its end does', () => {
    expect(lockNames(askApproval.locks(asked))).to.deep.equal([
      `shared agent ${task.agentId}`,
      `exclusive signal ${JSON.stringify(['approval', asked.request.issuer, asked.request.jti])}`,
      `shared token ${asked.tokenId}`,
      `exclusive approver ${task.sponsor}`,
      `exclusive task ${task.taskId}`,
    ]);
  });

  it('reads whether the agents that delegated the task are enabled, and answers a task of a disabled one as inactive', () => {
    const delegators = [agentIdOf('jira-lead'), agentIdOf('jira-root'), task.agentId];
    const below = { ...asked, delegators };
    const enabled = [task.agentId, ...delegators].map((about) => ({ fact: 'agent_enabled', about }));
    expect(askApproval.asks(below).areEnabled).to.deep.equal(enabled);
    expect(lockNames(askApproval.locks(below)).slice(0, 3)).to.deep.equal(
      [task.agentId, 'jira-lead', 'jira-root'].map((agentId) => `shared agent ${agentId}`),
    );
    for (const disabled of [0, 1, 2]) {
      const areEnabled = [0, 1, 2].map((nth) => nth !== disabled);
      const { verdict } = askApproval.judge(below, { ...facts, areEnabled, last: undefined, pending: NONE });
      expect(verdict).to.deep.equal({ kind: 'inactive' });
    }
  });

  it('answers expired between the two clocks, and opens a new one once both have passed the time', () => {
    for (const state of ['pending', 'granted'] as const) {
      const last = stored(state, state === 'granted' ? { decidedAt: NOON } : {});
      expect(kind(last, 599, 599)).to.equal(state);
      expect(kind(last, 599, 600)).to.equal('expired');
      expect(judge(last, 599, 600).effects.map(({ effect }) => effect)).to.deep.equal(['accept_signal']);
      expect(judge(last, 600, 601).effects.map(({ effect }) => effect)).to.deep.equal([
        ...[
          'accept_signal',
          'close_approval',
          'insert_approval',
          'put_asked_questions',
          'insert_approval_notice',
          'append',
        ],
      ]);
    }
  });

  it('counts the rounds of a digest, and cuts the time to the task', () => {
    const [, inserted] = judge(stored('used', { decidedAt: NOON, closedAt: NOON, round: 7 }), 2900, 2900).effects;
    expect(inserted).to.include({ effect: 'insert_approval', round: 8, expiresAt: LIVE.expiresAt });
  });

  it('is inactive by the later clock, and for a revoked token', () => {
    expect(kind(undefined, 2999, 3000)).to.equal('inactive');
    const revoked = { ...facts, isRevoked: true, last: stored('granted', { decidedAt: NOON }), pending: NONE };
    expect(askApproval.judge(asked, revoked).verdict).to.deep.equal({ kind: 'inactive' });
  });

  /** The same call with other words than those of the stored approval. */
  const reworded = (last: ReturnType<typeof stored>, seconds: number, changes: object = {}) => {
    const opening = { ...asked.opening, lines: [{ label: 'To', value: 'mallory' }] };
    const times = { earliest: at(seconds), latest: at(seconds) };
    const { rules, ...more } = { rules: {}, pending: NONE, ...changes };
    return askApproval.judge(
      { ...asked, opening, times, rules: { ...asked.rules, ...rules } },
      { ...facts, last, ...more },
    );
  };
  const recordsOf = ({ effects }: ReturnType<typeof judge>) =>
    effects.flatMap((effect) => (effect.effect === 'append' ? effect.entries : []));

  it('withdraws a yes if the call comes with other words, and asks about the new ones', () => {
    const { verdict, effects } = reworded(stored('granted', { decidedAt: NOON }), 1);
    expect(verdict).to.include({ kind: 'pending', approvalId: asked.opening.approvalId });
    expect(effects.map(({ effect }) => effect)).to.deep.equal([
      ...[
        'accept_signal',
        'close_approval',
        'insert_approval',
        'put_asked_questions',
        'insert_approval_notice',
        'append',
      ],
    ]);
    expect(effects[1]).to.include({ state: 'withdrawn' });
    expect(effects[2]).to.deep.include({ round: 2, lines: [{ label: 'To', value: 'mallory' }] });
    expect(recordsOf({ verdict, effects }).map(({ event, reason }) => [event, reason])).to.deep.equal([
      ['approval.withdrawn', 'words_changed'],
      ['approval.requested', undefined],
    ]);
  });

  it('replaces a waiting question at most once in the interval, also after a clock that was ahead', () => {
    const answers = [0, 4.999, 5, 599].map((seconds) => reworded(stored('pending'), seconds).effects.length > 1);
    expect(answers).to.deep.equal([false, false, true, true]);
    const ahead = [1, 4.999, 5, 86_400].map((seconds) => stored('pending', { requestedAt: at(seconds) }));
    expect(ahead.map((last) => reworded(last, 0).effects.length > 1)).to.deep.equal([false, false, true, true]);
    const { approvalId } = stored('pending').row;
    expect(reworded(stored('pending'), 0).verdict, 'the old question').to.deep.include({ kind: 'pending', approvalId });
  });

  it('answers by a no and a spent yes whatever the words, and by an end of their time', () => {
    expect(reworded(stored('refused', { decidedAt: NOON }), 59).verdict).to.deep.equal({ kind: 'refused' });
    expect(reworded(stored('used', { decidedAt: NOON, closedAt: NOON }), 9).verdict).to.deep.equal({ kind: 'spent' });
    const [record] = recordsOf(reworded(stored('granted', { decidedAt: NOON }), 600));
    expect(record).to.include({ event: 'approval.expired', reason: 'approval_unused' });
  });

  it('withdraws a yes and a waiting question also if a limit refuses the new one', () => {
    const full = { ofTask: asked.rules.maxPendingPerTask, ofAgent: 1, ofPerson: 1 };
    const hour = { asked: 2, isRefused: false, forgetAt: at(3600) };
    const spent = { counted: hour, rules: { maxQuestionsPerHour: 2 } };
    const yes = stored('granted', { decidedAt: NOON });
    for (const [last, changes, kind] of [
      [yes, { pending: full }, 'too_many_pending'],
      [yes, spent, 'too_many_questions'],
      [stored('pending'), spent, 'too_many_questions'],
    ] as const) {
      const judged = reworded(last, 10, changes);
      expect(judged.verdict.kind).to.equal(kind);
      expect(judged.effects[1]).to.include({ effect: 'close_approval', state: 'withdrawn' });
      expect(recordsOf(judged)[0]).to.include({ event: 'approval.withdrawn', reason: 'words_changed' });
    }
    const replaced = reworded(stored('pending'), 10, { pending: full });
    expect(replaced.verdict.kind, 'the new question takes the place of the old one').to.equal('pending');
  });

  it('records the expiry also if too many others wait', () => {
    const { verdict, effects } = judge(stored('pending'), 600, 600, { ofTask: 3, ofAgent: 3, ofPerson: 3 });
    expect(verdict).to.deep.equal({ kind: 'too_many_pending' });
    expect(effects.map(({ effect }) => effect)).to.deep.equal(['accept_signal', 'close_approval', 'append']);
  });

  it('gives an agent a third of the places of a person, and at least one', () => {
    const cases = [
      [20, 5, 19, 'pending'],
      [20, 6, 6, 'too_many_pending'],
      [20, 0, 20, 'too_many_pending'],
      [3, 0, 2, 'pending'],
      [3, 1, 1, 'too_many_pending'],
      [1, 0, 0, 'pending'],
      [2, 1, 1, 'too_many_pending'],
    ] as const;
    for (const [maxPendingPerPerson, ofAgent, ofPerson, verdict] of cases) {
      const rules = { ...asked.rules, maxPendingPerPerson };
      const pending = { ofTask: 0, ofAgent, ofPerson };
      const judged = askApproval.judge({ ...asked, rules }, { ...facts, last: undefined, pending });
      expect(judged.verdict.kind, `${ofAgent} of ${maxPendingPerPerson}`).to.equal(verdict);
    }
  });

  it('counts new questions for an hour from the first, records one that exceeds the limit, and then begins anew', () => {
    const rules = { ...asked.rules, maxQuestionsPerHour: 2 };
    const ask = (seconds: number, counted: object | undefined, last?: ReturnType<typeof stored>) =>
      askApproval.judge(
        { ...asked, rules, times: { earliest: at(seconds), latest: at(seconds) } },
        { ...facts, last, pending: NONE, counted },
      );
    const counts = (effects: readonly object[]) => effects.filter((one) => 'asked' in one);
    const about = { agentId: task.agentId, sponsorKey: task.sponsorKey };
    const hour = { effect: 'put_asked_questions', ...about, isRefused: false, forgetAt: at(3600) };
    expect(counts(ask(0, undefined).effects)).to.deep.equal([{ ...hour, asked: 1 }]);
    const [once, twice] = [1, 2].map((times) => ({ asked: times, isRefused: false, forgetAt: at(3600) }));
    expect(counts(ask(10, once).effects)).to.deep.equal([{ ...hour, asked: 2 }]);
    const refused = ask(2000.5, twice);
    expect(refused.verdict).to.deep.equal({ kind: 'too_many_questions', retryAfter: 1600, isRecorded: true });
    expect(refused.effects.slice(1)).to.deep.equal([
      { ...hour, asked: 2, isRefused: true },
      {
        effect: 'append',
        entries: [
          {
            ...asked.about,
            at: asked.request.at,
            event: 'token.denied',
            decision: 'deny',
            reason: 'too_many_questions',
          },
        ],
      },
    ]);
    const again = ask(2001, { ...twice, isRefused: true });
    expect(again.verdict).to.deep.equal({ kind: 'too_many_questions', retryAfter: 1599, isRecorded: false });
    expect(again.effects.map(({ effect }) => effect)).to.deep.equal(['accept_signal']);
    expect(ask(2001, twice, stored('pending', { expiresAt: at(2600) })).verdict.kind, 'no new question').to.equal(
      'pending',
    );
    const later = { ...hour, asked: 1, forgetAt: at(2900 + 3600) };
    expect(counts(ask(2900, { ...twice, forgetAt: at(2900) }).effects), 'the hour is over').to.deep.equal([later]);
  });

  it('begins the hour anew if a clock that was far ahead began it', () => {
    const rules = { ...asked.rules, maxQuestionsPerHour: 2 };
    const verdict = (seconds: number) => {
      const counted = { asked: 2, isRefused: false, forgetAt: at(seconds) };
      const times = { earliest: at(0), latest: at(0) };
      return askApproval.judge({ ...asked, rules, times }, { ...facts, last: undefined, pending: NONE, counted })
        .verdict;
    };
    // Clocks of instances differ a little.
    for (const seconds of [1, 3600, 3660, 7200]) expect(verdict(seconds).kind).to.equal('too_many_questions');
    for (const seconds of [7201, 86_400, 366 * 86_400]) expect(verdict(seconds).kind).to.equal('pending');
  });
});

describe('Answering an approval', () => {
  const facts = { task: LIVE, isEnabled: true };
  const decided = (changes: Parameters<typeof answering>[2], approval: object, answer: 'approve' | 'refuse') => {
    const given = answering(world, answer, changes);
    return answerApproval.judge(given, { ...facts, approval: stored('pending', approval) });
  };

  it('locks the task as its end does', () => {
    const locks = lockNames(answerApproval.locks(answering(world, 'approve')));
    expect(locks).to.deep.equal([`shared agent ${task.agentId}`, `exclusive task ${task.taskId}`]);
  });

  it('changes nothing if the same answer comes again, and refuses the other one', () => {
    for (const [state, answer, other] of [
      ['granted', 'approve', 'refuse'],
      ['refused', 'refuse', 'approve'],
    ] as const) {
      expect(decided({}, { state, decidedAt: NOON }, answer)).to.deep.equal({ verdict: state, effects: [] });
      expect(decided({}, { state, decidedAt: NOON }, other)).to.deep.equal({ verdict: 'not_waiting', effects: [] });
    }
    const late = { times: { earliest: at(599), latest: at(600) } };
    const lateYes = decided(late, { state: 'granted', decidedAt: NOON }, 'approve');
    expect(lateYes, 'a yes whose time is up').to.deep.equal({ verdict: 'not_waiting', effects: [] });
    for (const state of ['used', 'expired', 'withdrawn'] as const) {
      for (const answer of ['approve', 'refuse'] as const) {
        expect(decided({}, { state, closedAt: NOON }, answer)).to.deep.equal({ verdict: 'not_waiting', effects: [] });
      }
    }
  });

  it('counts only a yes from an old sign-in as a denial', () => {
    const tooOld = { at: NOON, event: 'me.denied', decision: 'deny', reason: 'approver_not_fresh' } as const;
    const given = { ...answering(world, 'approve'), tooOld };
    const denials = (['sign_in_too_old', 'granted', 'refused'] as const).map((verdict) =>
      answerApproval.denial?.(given, verdict),
    );
    expect(denials).to.deep.equal([{ event: 'me.denied', reason: 'approver_not_fresh' }, undefined, undefined]);
  });

  it('is only for the person of the task', () => {
    const other = decided({ sponsorKey: `${task.sponsorKey}x` as typeof task.sponsorKey }, {}, 'approve');
    expect(other).to.deep.equal({ verdict: 'not_found', effects: [] });
  });

  it('cuts the time of a yes to the task, and refuses a yes by the later clock', () => {
    const times = { earliest: at(2700), latest: at(2700) };
    const [granted] = decided({ times }, { expiresAt: at(2900) }, 'approve').effects;
    expect(granted).to.include({ effect: 'answer_approval', state: 'granted', expiresAt: LIVE.expiresAt });
    const late = { earliest: at(599), latest: at(600) };
    expect(decided({ times: late }, {}, 'approve').verdict).to.equal('not_waiting');
  });
});
