/** A ledger whose records of an approval contradict each other: no verifier calls it, or a bundle of it, intact. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { verifyBundle } from '../../adapters/sdk/audit/audit.ts';
import type { TaskId } from '../../domain/identifiers.ts';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import {
  APPROVAL_ID,
  type ApprovalStep,
  approvalEntries,
  CONTRADICTORY,
  ORDERLY,
} from '../support/log/approval-records.ts';
import { evidence } from '../support/log/evidence.ts';
import { verifyOnPage } from '../support/log/evidence-page.ts';
import { uncheckedBundle } from '../support/log/unchecked-bundle.ts';

/**
 * The cases that every command judges: in `npm test` one. The commands share the rule of
 * test/domain/approvals/approval-order.test.ts, which has all cases. The programs that verify a bundle judge all cases.
 */
const JUDGED_BY_EVERY_COMMAND = byLength<readonly string[]>({
  short: ['a use of another digest'],
  full: Object.keys(CONTRADICTORY),
});

type Run = (...line: readonly string[]) => ReturnType<typeof runMandate>;

for (const database of databasesByLength) {
  describe(`The order of approvals in a ledger on ${database.name}`, function () {
    this.timeout(120_000);
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'mandate-order-'));
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    /** A ledger of one task with these records, each in a separate checkpoint. */
    async function sealed(steps: readonly ApprovalStep[]) {
      const ledger = await evidence(database, { hasLog: false });
      const taskId = await ledger.task(20, 1);
      for (const { at: _, ...entry } of approvalEntries(steps, { taskId })) {
        await ledger.append(entry);
        await ledger.publish();
      }
      const run: Run = (...line) => runMandate(line, ledger.settings());
      return { ledger, taskId, run };
    }

    it('is intact as honest services record it', async () => {
      for (const steps of ORDERLY.slice(...byLength<[number, number]>({ short: [5, 6], full: [4, 6] }))) {
        const { ledger, taskId, run } = await sealed(steps);
        expect((await run('audit-verify')).out).to.match(/^The seal is intact/);
        const { code, out } = await run('audit-bundle', '--task', taskId);
        expect(code).to.equal(0);
        for (const verify of [verifyBundle, verifyOnPage]) expect(await verify(out)).to.include({ verified: true });
        await ledger.close();
      }
    });

    for (const [name, [steps, , nth]] of Object.entries(CONTRADICTORY)) {
      if (!JUDGED_BY_EVERY_COMMAND.includes(name)) continue;
      it(`is not intact, and gives no bundle: ${name}`, async () => {
        const { ledger, taskId, run } = await sealed(steps);
        const checked = await run('audit-verify');
        expect(checked.code).to.equal(3);
        const [first = ''] = checked.out.split('\n');
        expect(first)
          .to.match(/^The records contradict each other\. Record \d+ does not belong to the records of /)
          .and.contain(APPROVAL_ID);
        // One record of the task and one beside it come before.
        const [, seq] = /Record (\d+) /.exec(first) ?? [];
        const offending = (await ledger.storage.ledger.page({ limit: 100, now: ledger.now() })).records.filter(
          ({ event }) => event.startsWith('approval.'),
        )[nth];
        expect(Number(seq)).to.equal(offending?.seq);
        const text = await uncheckedBundle(ledger, taskId);
        await expectUnverified(text);
        await judgeByCommands(run, taskId, Number(seq), text);
        await ledger.close();
      });
    }

    it('is not intact in a bundle of any contradiction', async () => {
      const ledger = await evidence(database, { hasLog: false });
      const taskIds: TaskId[] = [];
      for (const [at, [steps]] of Object.values(CONTRADICTORY).entries()) {
        const taskId = await ledger.task(20 + at, 1);
        for (const { at: _, ...entry } of approvalEntries(steps, { taskId })) await ledger.append(entry);
        taskIds.push(taskId);
      }
      await ledger.publish();
      for (const taskId of taskIds) await expectUnverified(await uncheckedBundle(ledger, taskId));
      await ledger.close();
    });

    async function expectUnverified(text: string): Promise<void> {
      const line = text.split('\n').findIndex((each) => each.startsWith('"completeness"')) + 1;
      for (const verify of [verifyBundle, verifyOnPage]) {
        expect(await verify(text)).to.include({ verified: false, fault: 'approval_order', line });
      }
    }

    /** What the other commands say of the ledger, and of a bundle of it. */
    async function judgeByCommands(run: Run, taskId: TaskId, seq: number, text: string) {
      const { intact, fault } = JSON.parse((await run('audit-verify', '--json')).out);
      expect(intact).to.equal(false);
      expect(fault).to.include({ kind: 'approval_order', seq, approval_id: APPROVAL_ID });
      const made = await run(
        'audit-bundle',
        '--task',
        taskId,
        '--out',
        join(folder, `made-${seq}-${Math.random()}.json`),
      );
      expect(made.code).to.equal(3);
      expect(made.err).to.match(
        /^mandate: No bundle was made: the records contradict each other\. Line \d+: Record \d+ /m,
      );
      expect(made.err).not.to.match(/^\s+at /m);

      const file = join(folder, `${seq}-${Math.random()}.json`);
      writeFileSync(file, text);
      const judged = await runMandate(['audit-verify', '--bundle', file]);
      expect(judged.code).to.equal(3);
      expect(judged.out).to.contain(`Record ${seq} does not belong to the records of ${APPROVAL_ID}`);
    }
  });
}
