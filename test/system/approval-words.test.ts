/**
 * The same call with other words than the person read: the yes or the waiting question is withdrawn, and a new question opens
 * (docs/approvals.md, "Other words than the person read").
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { verifyBundle } from '../../adapters/sdk/audit/audit.ts';
import { POLL_INTERVAL_SECONDS } from '../../domain/approvals/approval.ts';
import { repetitions } from '../contract/repetitions.ts';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import {
  fieldsOf,
  JIRA,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { type AskingServer, approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

const ROUNDS = repetitions(3, 60);
const WITHDRAWN = ['approval.withdrawn', 'words_changed', 'allow'];
const REQUESTED = ['approval.requested', null, 'allow'];

for (const database of databasesByLength) {
  describe(`An approval whose call comes with other words, on ${database.name}`, function () {
    this.timeout(60_000 + ROUNDS * 2000);
    const key = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let other: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let receiver: Loopback;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      receiver = await startLoopback(answering({}), { tls: true });
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        settings: {
          ...key,
          ...approvalSettings(jira),
          'Service:Me:ClientId': 'the-page',
          'Service:Approvals:MaxQuestionsPerHour': '4',
          'Service:Approvals:Notify:Url': receiver.url,
        },
      });
      // A question is replaced once in five seconds: a test acts a second before they are over.
      mandate.clock.standStill();
      other = await mandate.another({}, undefined, { clock: mandate.clock, databaseClock: mandate.clock });
      agent = await mandate.agent();
    });
    after(async () => {
      await other.stop();
      await mandate.stop();
      await receiver.close();
      await fresh.drop();
    });

    /** A task of a new person, whose one call is described by the given title. */
    async function started() {
      const sub = `ada-${randomUUID()}`;
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
      const send = (title: string, at = mandate) => asks(at, token, jira.request(taskId, { title }));
      const ask = async (title: string, at = mandate) => (await send(title, at)).body;
      const recordsOf = (lines: readonly LedgerLine[]) =>
        fieldsOf(
          lines.toSorted((one, two) => one.seq - two.seq).filter((line) => line.task_id === taskId),
          'event',
          'reason',
          'decision',
        );
      const recorded = async (work: () => Promise<unknown>) => recordsOf(await mandate.recorded(work));
      return { sub, taskId: String(taskId), send, ask, recorded };
    }
    type Task = Awaited<ReturnType<typeof started>>;

    /** The id of a question with these words, which the person has answered with yes. */
    async function approved({ ask }: Task, title: string): Promise<string> {
      const { approval_id: id } = await ask(title);
      expect(await mandate.answer(String(id), 'approve')).to.equal('granted');
      return String(id);
    }

    it('withdraws the yes, asks about the new words, and is done once the person agrees to those', async () => {
      const task = await started();
      const first = await approved(task, 'Delete the page «Draft»');
      let second = '';
      const lines = await task.recorded(async () => {
        const answer = await task.ask('Delete the page «Budget»');
        expect(answer).to.include({ state: 'pending' });
        second = String(answer.approval_id);
        expect(answer.approval_uri).to.equal(`${mandate.issuer}/me/approvals/${second}`);
      });
      expect(second).not.to.equal(first);
      expect(lines).to.deep.equal([WITHDRAWN, REQUESTED]);
      expect(await mandate.approval(first)).to.include({ state: 'withdrawn', wordsChanged: true });
      expect(await mandate.answer(first, 'approve'), 'the withdrawn yes').to.equal('not_waiting');
      expect((await task.ask('Delete the page «Draft»')).approval_id, 'within the interval').to.equal(second);
      expect(await mandate.answer(second, 'approve')).to.equal('granted');
      expect((await task.ask('Delete the page «Budget»')).state).to.equal('granted');
      expect((await task.ask('Delete the page «Draft»')).state, 'spent, whatever the words').to.equal('spent');
    });

    it('replaces a waiting question once in an interval, and the old one can no longer be answered', async () => {
      const task = await started();
      const { approval_id: first } = await task.ask('one');
      mandate.clock.advance(POLL_INTERVAL_SECONDS - 1);
      expect(await task.recorded(async () => expect((await task.ask('two')).approval_id).to.equal(first))).to.be.empty;
      mandate.clock.advance(2);
      let second = '';
      const lines = await task.recorded(async () => {
        second = String((await task.ask('two')).approval_id);
      });
      expect(lines).to.deep.equal([WITHDRAWN, REQUESTED]);
      for (const answer of ['approve', 'refuse'] as const) {
        expect(await mandate.answer(String(first), answer)).to.equal('not_waiting');
      }
      expect(await mandate.answer(second, 'refuse')).to.equal('refused');
      expect((await task.ask('three')).state, 'a no holds whatever the words').to.equal('refused');
    });

    it('withdraws the yes also if the agent has asked too often, and the next hour asks anew', async () => {
      const task = await started();
      for (const title of ['one', 'two', 'three']) {
        await task.ask(title);
        mandate.clock.advance(POLL_INTERVAL_SECONDS + 1);
      }
      const yes = await approved(task, 'four');
      const lines = await task.recorded(async () => {
        const { status, headers, body } = await task.send('five');
        expect([status, body.error]).to.deep.equal([429, 'slow_down']);
        expect(Number(headers.get('retry-after'))).to.be.greaterThan(3500);
      });
      expect(lines).to.deep.equal([WITHDRAWN, ['token.denied', 'too_many_questions', 'deny']]);
      expect((await mandate.approval(yes)).state).to.equal('withdrawn');
      expect((await task.send('four')).status, 'the first words do not bring the yes back').to.equal(429);
    });

    it('writes one record of the withdrawal, also when the task ends', async () => {
      const task = await started();
      await approved(task, 'one');
      await task.ask('two');
      const lines = await task.recorded(() => mandate.admin('DELETE', `/admin/tasks/${task.taskId}`));
      const reason = 'operator_kill_switch';
      expect(lines).to.deep.equal([
        ['task.revoked', reason, 'allow'],
        ['approval.withdrawn', reason, 'allow'],
      ]);
    });

    it('sends the person a notice of the new question, and none of the old one', async () => {
      const task = await started();
      await task.ask('one');
      mandate.clock.advance(POLL_INTERVAL_SECONDS + 1);
      const { approval_id: id } = await task.ask('two');
      receiver.received.length = 0;
      await mandate.jobs.notify();
      const sent = receiver.received.map(({ body }) => JSON.parse(String(body)));
      expect(sent.filter(({ sponsor_key }) => sponsor_key === task.sub)).to.deep.equal([
        { approval_id: id, sponsor_key: task.sub },
      ]);
    });

    it('repeated at two replicas with different words opens one question, and uses at most one yes', async () => {
      for (let nth = 0; nth < ROUNDS; nth += 1) {
        const task = await started();
        const yes = await approved(task, 'first');
        const [same, changed] = nth % 2 === 0 ? [mandate, other] : [other, mandate];
        let states: readonly unknown[] = [];
        const lines = await task.recorded(async () => {
          const both = await Promise.all([task.ask('first', same), task.ask('second', changed)]);
          states = both.map(({ state }) => state);
        });
        // The use before, then the same call was made a moment ago; or the withdrawal before, then the new question waits.
        const isUsed = states[0] === 'granted';
        expect(states, `round ${nth}`).to.deep.equal(isUsed ? ['granted', 'spent'] : ['pending', 'pending']);
        expect(lines).to.deep.equal(isUsed ? [['approval.used', null, 'allow']] : [WITHDRAWN, REQUESTED]);
        expect((await mandate.approval(yes)).state).to.equal(isUsed ? 'used' : 'withdrawn');
      }
    });

    it('is decided by the first of an answer and a replacement, and a yes to old words is never used', async () => {
      for (let nth = 0; nth < ROUNDS; nth += 1) {
        const task = await started();
        const { approval_id: id } = await task.ask('first');
        mandate.clock.advance(POLL_INTERVAL_SECONDS + 1);
        let answer: unknown;
        const lines = await task.recorded(async () => {
          const replacing = nth % 2 === 0 ? task.ask('second', other) : undefined;
          const answering = mandate.answer(String(id), 'approve');
          [answer] = await Promise.all([answering, replacing ?? task.ask('second', other)]);
        });
        const yes = ['approval.granted', null, 'allow'];
        expect(answer).to.be.oneOf(['granted', 'not_waiting']);
        expect(lines).to.deep.equal([...(answer === 'granted' ? [yes] : []), WITHDRAWN, REQUESTED]);
        expect((await mandate.approval(String(id))).state).to.equal('withdrawn');
      }
    });

    it('counts as altered if an owner of the database removes the mark that the words changed', async () => {
      const task = await started();
      const first = await approved(task, 'one');
      await task.ask('two');
      await mandate.sql(`update approvals set words_changed = false where approval_id = '${first}'`);
      expect(await mandate.answer(first, 'approve')).to.equal('altered');
    });

    it('leaves a ledger that verifies, and a bundle with the words of both questions', async () => {
      const task = await started();
      await approved(task, 'Delete the page «Draft»');
      await approved(task, 'Delete the page «Budget»');
      expect((await task.ask('Delete the page «Budget»')).state).to.equal('granted');
      await mandate.jobs.seal();
      const settings = { ...fresh.settings, ...key };
      const verified = await runMandate(['audit-verify'], settings);
      expect(verified.code, verified.out + verified.err).to.equal(0);
      const { out: text } = await runMandate(['audit-bundle', '--task', task.taskId], settings);
      const verdict = await verifyBundle(text);
      expect(verdict.verified).to.equal(true);
      const questions = verdict.verified ? verdict.questions : [];
      expect(questions.map(({ words, steps }) => [words?.title, steps.map(({ state }) => state).join()])).to.deep.equal(
        [
          ['Delete the page «Draft»', 'pending,granted,withdrawn'],
          ['Delete the page «Budget»', 'pending,granted,used'],
        ],
      );
    });
  });
}
