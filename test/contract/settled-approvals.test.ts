/** What a person answered or missed (`Approvals.settledFor`), on both databases. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { answerApproval } from '../../application/decisions/answer-approval.ts';
import { type ApprovalAsking, askApproval } from '../../application/decisions/ask-approval.ts';
import { expireDueApprovals } from '../../application/decisions/sweep.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { newSponsorKey, openedTask, registeredAgent } from './storage-fixtures.ts';
import { answering, asking } from './world.ts';

const at = (seconds: number) => plusSeconds(NOON, seconds);

onEveryDatabase('the approvals that a person answered or missed', ({ storage }) => {
  async function aTaskOf(sponsorKey: SponsorKey) {
    const times = { createdAt: NOON, expiresAt: at(7200) };
    const live = await openedTask(storage(), { sponsorKey, ...times }, await registeredAgent(storage()));
    const world = { live, name: randomUUID() };
    const rules = { maxPendingPerTask: 99, maxPendingPerPerson: 99 };
    return {
      live,
      async ask(what: string, seconds: number, lifetime = 3600) {
        const request = asking({ ...world, jti: randomUUID() }, what, { ...rules, lifetime }, at(seconds));
        const verdict = await storage().decide(askApproval, request);
        return { verdict, ...request.opening };
      },
      answer: (
        { approvalId, commitment }: Pick<ApprovalAsking['opening'], 'approvalId' | 'commitment'>,
        answer: 'approve' | 'refuse',
        seconds: number,
      ) => {
        const times = { earliest: at(seconds), latest: at(seconds) };
        return storage().decide(
          answerApproval,
          answering(world, answer, { approvalId, commitment, times, at: at(seconds) }),
        );
      },
    };
  }
  const settled = async (sponsorKey: SponsorKey, limit = 10) =>
    (await storage().approvals.settledFor(sponsorKey, { now: at(100), limit })).map(({ kind, row }) => [
      kind,
      row.title.split(':')[0],
      row.state,
    ]);

  it('are listed by the time of the answer or of the end, the latest first, before and after a sweep, and only their own', async () => {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const [task, others] = [await aTaskOf(sponsorKey), await aTaskOf(other)];
    await task.ask('waits', 0);
    const no = await task.ask('no', 1);
    const yes = await task.ask('yes', 2);
    await task.ask('missed', 3, 30);
    await task.ask('missed-earlier', 4, 20);
    const unused = await task.ask('unused', 5);
    await others.answer(await others.ask('another-persons', 6), 'refuse', 90);
    await task.answer(unused, 'approve', 10);
    await task.answer(yes, 'approve', 40);
    await task.answer(no, 'refuse', 50);
    expect((await task.ask('yes', 60)).verdict.kind).to.equal('granted');
    const expected = (missed: string) => [
      ['same', 'no', 'refused'],
      ['same', 'yes', 'used'],
      ['same', 'missed', missed],
      ['same', 'missed-earlier', missed],
      ['same', 'unused', 'granted'],
    ];
    expect(await settled(sponsorKey)).to.deep.equal(expected('pending'));
    expect(await settled(sponsorKey, 2)).to.deep.equal(expected('pending').slice(0, 2));
    await storage().decide(expireDueApprovals, { overBy: at(100), at: at(100), limit: 1000 });
    expect(await settled(sponsorKey)).to.deep.equal(expected('expired'));
    expect(await settled(newSponsorKey())).to.deep.equal([]);
    expect((await settled(other)).map(([, title]) => title)).to.deep.equal(['another-persons']);
    await storage().tasks.end(
      { kind: 'task', taskId: task.live.task.taskId },
      { at: at(99), reason: 'sponsor_stopped' },
    );
    const withdrawn = ['waits', 'unused'];
    expect((await settled(sponsorKey)).filter(([, , state]) => state === 'withdrawn')).to.deep.equal(
      withdrawn.map((title) => ['same', title, 'withdrawn']),
    );
    expect((await settled(sponsorKey))[0]).to.deep.equal(['same', 'waits', 'withdrawn']);
  });
});
