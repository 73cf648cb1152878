/** Races of approvals between two instances on one database, and random histories of asking, answering and waiting. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { repetitions } from '../contract/repetitions.ts';
import { databasesByLength } from '../support/databases.ts';
import { JIRA, type LedgerLine, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

const ROUNDS = repetitions(4, 200);
/** Each has ten times the uses of the other rounds. */
const ROUNDS_OF_TWENTY = repetitions(2, 200);
const HISTORIES = repetitions(4, 100);

for (const database of databasesByLength) {
  describe(`Approvals of two instances on ${database.name}`, function () {
    this.timeout(30_000 + ROUNDS * 3000);
    let mandate: Mandate;
    let other: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const key = sharedSigningKey();
      const settings = {
        ...key,
        ...approvalSettings(jira),
        'Service:Me:ClientId': 'the-page',
        'Service:Approvals:Lifetime': 'PT1M',
        'Service:Approvals:Spend': 'PT1M',
        'Service:Approvals:RefusedFor': 'PT1M',
      };
      mandate = await startMandate({ database, settings });
      other = await mandate.another({}, undefined, { clock: mandate.clock, databaseClock: mandate.clock });
      agent = await mandate.agent();
    });
    after(async () => {
      await other.stop();
      await mandate.stop();
    });

    async function started() {
      const issued = await agent.exchangeFor({ sub: `ada-${randomUUID()}` });
      expect(issued.status, issued.text).to.equal(200);
      const { access_token: token, task_id: taskId, refresh_token: grant } = issued.body;
      const ask = async (at: Mandate, what = 'one') =>
        (await asks(at, token, jira.request(taskId, { digest: digestOf(what) }))).body;
      return { taskId: String(taskId), grant: String(grant), ask };
    }
    type Task = Awaited<ReturnType<typeof started>>;

    /** Starts both at once, each first in every second round. */
    async function together<One, Two>(nth: number, one: () => Promise<One>, two: () => Promise<Two>) {
      const second = nth % 2 === 0 ? undefined : two();
      const first = one();
      return Promise.all([first, second ?? two()]);
    }

    /** Plays the rounds, each with a new task. The records of each task are in the order of the ledger. */
    async function rounds<Seen>(play: (nth: number, task: Task, id: string) => Promise<Seen>, times = ROUNDS) {
      const seen: (readonly [Seen, readonly string[]])[] = [];
      for (let nth = 0; nth < times; nth += 1) {
        const task = await started();
        const asked = await task.ask(mandate);
        expect(asked, JSON.stringify(asked)).to.include({ state: 'pending' });
        const id = String(asked.approval_id);
        const lines = await mandate.recorded(async () => {
          const outcome = await play(nth, task, id);
          seen.push([outcome, []]);
        });
        const ofTask = lines
          .toSorted((a, b) => a.seq - b.seq)
          .filter((line: LedgerLine) => line.task_id === task.taskId);
        seen[nth] = [(seen[nth] as readonly [Seen, readonly string[]])[0], ofTask.map(({ event }) => String(event))];
      }
      return seen;
    }
    const kill = (task: Task) => other.admin('DELETE', `/admin/tasks/${task.taskId}`);

    it('a yes and the end of the task: the yes comes before and is withdrawn, or it is refused', async () => {
      const seen = await rounds(async (nth, task, id) => {
        const [answer] = await together(
          nth,
          () => mandate.answer(id, 'approve'),
          () => kill(task),
        );
        expect((await task.ask(mandate)).state).to.equal('inactive');
        return answer;
      });
      for (const [answer, events] of seen) {
        const end = ['task.revoked', 'approval.withdrawn'];
        expect(events).to.deep.equal(answer === 'granted' ? ['approval.granted', ...end] : end);
        expect(answer).to.be.oneOf(['granted', 'not_waiting']);
      }
    });

    it('twenty uses of a yes: one', async () => {
      const seen = await rounds(async (_, task, id) => {
        await mandate.answer(id, 'approve');
        const all = Array.from({ length: 20 }, (_each, nth) => task.ask(nth % 2 === 0 ? mandate : other));
        return (await Promise.all(all)).filter(({ state }) => state === 'granted').length;
      }, ROUNDS_OF_TWENTY);
      for (const [granted, events] of seen) {
        expect(granted).to.equal(1);
        expect(events).to.deep.equal(['approval.granted', 'approval.used']);
      }
    });

    it('the use of a yes and the end of the task: used before, or withdrawn', async () => {
      const seen = await rounds(async (nth, task, id) => {
        await mandate.answer(id, 'approve');
        const [{ state }] = await together(
          nth,
          () => task.ask(mandate),
          () => kill(task),
        );
        return state;
      });
      for (const [state, [, ...events]] of seen) {
        expect(state).to.be.oneOf(['granted', 'inactive']);
        const isUsed = state === 'granted';
        expect(events).to.deep.equal(
          isUsed ? ['approval.used', 'task.revoked'] : ['task.revoked', 'approval.withdrawn'],
        );
      }
    });

    it('in any history execute only what was approved, each approval at most once', async () => {
      const what = fc.constantFrom('one', 'two');
      const act = fc.oneof(
        { weight: 4, arbitrary: fc.record({ act: fc.constant('ask' as const), what, at: fc.boolean() }) },
        { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('approve' as const, 'refuse' as const), what }) },
        { weight: 1, arbitrary: fc.record({ act: fc.constant('wait' as const), seconds: fc.constantFrom(3, 11, 61) }) },
        { weight: 1, arbitrary: fc.record({ act: fc.constant('sweep' as const) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async (acts) => {
          const task = await started();
          /** What the person said yes to, and how often the tool server was told so. */
          const yes = new Map<string, string>();
          const told = new Set<string>();
          const waiting = new Map<string, string>();
          for (const one of acts) {
            if (one.act === 'wait') mandate.clock.advance(one.seconds);
            else if (one.act === 'sweep') await other.jobs.sweep();
            else if (one.act === 'ask') {
              const { state, approval_id: id } = await task.ask(one.at ? mandate : other, one.what);
              if (state === 'pending') waiting.set(one.what, String(id));
              if (state !== 'granted') continue;
              expect(yes.get(String(id)), 'it was approved, for this digest').to.equal(one.what);
              expect(told.has(String(id)), 'it was told once').to.equal(false);
              told.add(String(id));
            } else {
              const id = waiting.get(one.what);
              if (id === undefined) continue;
              const answer = await mandate.answer(id, one.act);
              if (answer === 'granted') yes.set(id, one.what);
            }
          }
          const { body } = await mandate.admin('GET', `/audit?task_id=${task.taskId}&limit=1000`);
          const used = (body.records as LedgerLine[]).filter(({ event }) => event === 'approval.used');
          expect(used).to.have.lengthOf(told.size);
        }),
        { numRuns: HISTORIES, interruptAfterTimeLimit: 120_000 },
      );
    });
  });
}
