/** The evidence of a tree: one bundle has every task of it, its report names each hand-over, and no reader accepts a contradiction. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeHop } from '../../../adapters/cli/hop-line.ts';
import { verifyBundle } from '../../../adapters/sdk/audit/audit.ts';
import type { BundleHop } from '../../../domain/log/bundle-hops.ts';
import { runMandate } from '../../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask } from '../../support/delegation.ts';
import { CONTRADICTORY, ORDERLY, offerOf, stepsOf, taskOf } from '../../support/log/delegation-records.ts';
import { type Evidence, evidence } from '../../support/log/evidence.ts';
import { hopOnPage, verifyOnPage } from '../../support/log/evidence-page.ts';
import { uncheckedBundle } from '../../support/log/unchecked-bundle.ts';
import { type LedgerLine, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const DEEP = { max_delegation_depth: 3 };
const TREES = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

interface Bundle {
  readonly selection: object;
  readonly evidence: readonly { readonly record?: LedgerLine }[];
}

const recordsOf = (text: string) => (JSON.parse(text) as Bundle).evidence.flatMap(({ record }) => record ?? []);

for (const database of databasesByLength) {
  describe(`The evidence of hand-overs on ${database.name}`, function () {
    this.timeout(120_000);
    const key = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let root: RegisteredAgent;
    let middle: RegisteredAgent;
    let leaf: RegisteredAgent;
    let tasks: readonly HeldTask[];
    let alone: HeldTask;
    let ledger: readonly LedgerLine[];
    const folder = mkdtempSync(join(tmpdir(), 'mandate-tree-'));
    const run = (...line: readonly string[]) => runMandate(line, { ...fresh.settings, ...key });
    const bundleOf = async (...selection: readonly string[]) => {
      const made = await run('audit-bundle', ...selection);
      expect(made.code, made.err).to.equal(0);
      return made.out;
    };

    before(async () => {
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        settings: { ...key, 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '3' },
      });
      const at = delegationAt(mandate);
      leaf = await mandate.agent(DEEP);
      middle = await mandate.agent({ ...DEEP, delegates_to: [leaf.id] });
      root = await mandate.agent({ ...DEEP, delegates_to: [middle.id] });
      ledger = await mandate.recorded(async () => {
        alone = heldTask(await root.exchange());
        const first = heldTask(await root.exchange());
        const second = await at.handOver(root, middle, first);
        const third = await at.handOver(middle, leaf, second);
        await at.offer(root, middle, first.grant);
        await mandate.admin('DELETE', `/admin/tasks/${first.taskId}`);
        tasks = [first, second, third];
      });
      await mandate.jobs.seal();
    });
    after(async () => {
      await mandate.stop();
      await fresh.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('is whole from each task of the tree, and nothing of another task is in it', async () => {
      const [from] = tasks;
      const whole = recordsOf(await bundleOf('--task', String(from?.taskId)));
      for (const { taskId } of tasks) {
        const text = await bundleOf('--task', taskId);
        expect((JSON.parse(text) as Bundle).selection).to.deep.equal({ task_id: taskId, tree: true });
        expect(recordsOf(text)).to.deep.equal(whole);
        for (const verify of [verifyBundle, verifyOnPage]) expect(await verify(text)).to.include({ verified: true });
      }
      const ids = tasks.map(({ taskId }) => taskId as unknown);
      const recorded = ledger.filter(({ task_id }) => ids.includes(task_id));
      expect(new Set(whole.map(({ seq }) => seq))).to.deep.equal(new Set(recorded.map(({ seq }) => seq)));
      expect(whole.map(({ event }) => event)).to.include.members(['delegation.offered', 'delegation.taken']);
    });

    it('of a task without hand-overs has the task alone, in the words of before', async () => {
      const text = await bundleOf('--task', alone.taskId);
      expect((JSON.parse(text) as Bundle).selection).to.deep.equal({ task_id: alone.taskId });
      expect(await verifyBundle(text)).to.deep.include({ verified: true, hops: [], furtherHops: 0 });
    });

    it('names each hand-over: who, to whom, which offer, when offered and when taken up', async () => {
      const text = await bundleOf('--task', String(tasks[1]?.taskId));
      const [library, page] = [await verifyBundle(text), await verifyOnPage(text)];
      const hops = library.verified ? library.hops : [];
      expect(page.hops).to.deep.equal(hops);
      expect(hops.map(hopOnPage)).to.deep.equal(hops.map(describeHop));
      const [first, second, third] = tasks.map(({ taskId }) => taskId);
      expect(hops.map(({ offered, taken }) => [offered?.task_id, taken?.task_id, taken?.parent_task_id])).to.deep.equal(
        [
          [first, second, first],
          [second, third, second],
          [first, undefined, undefined],
        ],
      );
      const file = join(folder, 'tree.json');
      writeFileSync(file, text);
      const { out } = await runMandate(['audit-verify', '--bundle', file]);
      const lines = out.replaceAll(/\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d/g, '').split('\n');
      const offers = hops.map(({ offer_id }) => offer_id);
      expect(lines).to.include.members([
        'Which agent handed work to which (UTC):',
        `  ${root.id} (${first}) to ${middle.id} (${second}): offered , taken up  (${offers[0]})`,
        `  ${middle.id} (${second}) to ${leaf.id} (${third}): offered , taken up  (${offers[1]})`,
        `  ${root.id} (${first}) to ${middle.id}: offered , not taken up (${offers[2]})`,
      ]);
      expect(JSON.parse((await runMandate(['audit-verify', '--bundle', file, '--json'])).out)).to.deep.include({
        hops,
        further_hops: 0,
      });
    });

    it('is verified too in bundles of an agent and of a person, which have other parts of it', async () => {
      for (const selection of [
        ['--agent', leaf.id],
        ['--agent', middle.id],
        ['--sponsor', 'ada'],
        ['--from', '2026-01-01'],
      ]) {
        const text = await bundleOf(...selection);
        for (const verify of [verifyBundle, verifyOnPage]) expect(await verify(text)).to.include({ verified: true });
      }
      expect((await run('audit-verify')).out).to.match(/^The seal is intact/);
    });

    it('has no task that its hand-overs do not lead to', async () => {
      const text = await bundleOf('--task', String(tasks[0]?.taskId));
      const [first, , third] = tasks;
      const lines = text.split('\n');
      const without = lines.filter((line) => !line.includes(`&parent=${first?.taskId}"`)).join('\n');
      expect(without).not.to.equal(text);
      for (const verify of [verifyBundle, verifyOnPage]) expect(await verify(without)).to.include({ verified: false });
      const other = text.replaceAll('"tree":true', '"tree":false').replaceAll(String(third?.taskId), alone.taskId);
      for (const verify of [verifyBundle, verifyOnPage]) {
        expect(await verify(other)).to.include({ verified: false, fault: 'malformed', line: 2 });
      }
    });
  });

  describe(`The order of hand-overs in a ledger on ${database.name}`, function () {
    this.timeout(120_000);
    let ledger: Evidence;
    before(async () => {
      ledger = await evidence(database, { hasLog: false });
    });
    after(() => ledger.close());

    it('leaves out a task below while its hand-over is not sealed, and says so', async () => {
      const { issued, offered, taken, ended } = stepsOf('Z');
      for (const entry of [issued('planner'), offered('planner', 'writer', 1), issued('writer')]) {
        await ledger.append(entry);
      }
      await ledger.publish();
      await ledger.append(taken('writer', 'planner', 1));
      const made = await runMandate(['audit-bundle', '--task', taskOf('planner', 'Z')], ledger.settings());
      expect([made.code, recordsOf(made.out).map(({ event }) => event)]).to.deep.equal([
        3,
        ['token.issued', 'delegation.offered'],
      ]);
      expect(made.err).to.include('Left out, because they are not sealed yet: 2.');
      await ledger.append(ended('writer'));
      await ledger.publish();
      const later = await runMandate(['audit-bundle', '--task', taskOf('planner', 'Z')], ledger.settings());
      expect([later.code, recordsOf(later.out).length]).to.deep.equal([0, 5]);
    });

    it('is the same for every program: honest trees verify, and each contradiction is one', async () => {
      const histories = [
        ...Object.entries(ORDERLY).map(([name, history]) => ({ name, history, at: undefined })),
        ...Object.entries(CONTRADICTORY).map(([name, [history, , at]]) => ({ name, history, at })),
      ];
      expect(histories.length).to.be.at.most(TREES.length);
      for (const [nth, { history }] of histories.entries()) {
        for (const entry of history(stepsOf(TREES[nth]))) await ledger.append(entry);
      }
      await ledger.publish();
      for (const [nth, { name, history, at }] of histories.entries()) {
        const tree = TREES[nth];
        const hasChild = history(stepsOf(tree)).some(({ taskId }) => taskId === taskOf('writer', tree));
        const text = await uncheckedBundle(ledger, taskOf(hasChild ? 'writer' : 'planner', tree));
        const verdicts = await Promise.all([verifyBundle(text), verifyOnPage(text)]);
        const line = text.split('\n').findIndex((each) => each.startsWith('"completeness"')) + 1;
        for (const verdict of verdicts) {
          if (at === undefined) expect(verdict, name).to.include({ verified: true });
          else expect(verdict, name).to.include({ verified: false, fault: 'delegation_order', line });
        }
        const messages = verdicts.map((verdict) => verdict.message);
        expect(messages[0], name).to.equal(messages[1]);
      }
      const { code, out } = await runMandate(['audit-verify'], ledger.settings());
      expect(code).to.equal(3);
      expect(out).to.match(/^The records contradict each other\. Record \d+ does not belong to the hand-overs of /);
    });
  });
}

describe('The line of a hand-over', () => {
  it('is the same in the command and on the page, whatever is missing', () => {
    const record = { task_id: taskOf('planner'), agent_id: 'planner', seq: 1, ts: '2026-09-21T23:59:59.000Z' };
    const taken = { ...record, ts: '2026-09-22T00:00:01.000Z', parent_task_id: taskOf('planner') };
    const hops: readonly BundleHop[] = [
      { offer_id: offerOf(1), child_agent_id: 'writer', offered: record, taken },
      { offer_id: offerOf(1), child_agent_id: 'writer', offered: null, taken },
      { offer_id: offerOf(1), child_agent_id: 'writer', offered: record, taken: null },
    ];
    expect(hops.map(describeHop)).to.deep.equal(hops.map(hopOnPage));
    expect(describeHop(hops[0] ?? expect.fail())).to.contain(
      'offered 2026-09-21 23:59:59, taken up 2026-09-22 00:00:01',
    );
    expect(describeHop(hops[1] ?? expect.fail())).to.contain('offer not in the bundle');
  });
});
