/** The evidence of a task with an approval: what was asked, in which words, the yes, and its use. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { verifyBundle } from '../../adapters/sdk/audit/audit.ts';
import type { BundleQuestion } from '../../domain/log/bundle-questions.ts';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { verifyOnPage } from '../support/log/evidence-page.ts';
import { JIRA, type Mandate, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { type AskingServer, approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

interface Bundle {
  readonly evidence: readonly {
    readonly record?: Readonly<Record<string, string>>;
    readonly words?: unknown;
    readonly says?: unknown;
  }[];
}

for (const database of databasesByLength) {
  describe(`The evidence of an approval on ${database.name}`, function () {
    this.timeout(120_000);
    const key = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let jira: AskingServer;
    const folder = mkdtempSync(join(tmpdir(), 'mandate-evidence-'));
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        settings: {
          ...key,
          'Service:Me:ClientId': 'the-page',
          ...approvalSettings(jira),
        },
      });
    });
    after(async () => {
      await mandate.stop();
      await fresh.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('proves the request, the yes and the use, and has the words with their salt while they are kept', async () => {
      const agent = await mandate.agent();
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const ask = async () => (await asks(mandate, token, jira.request(taskId))).body;
      const { approval_id: id } = await ask();
      await mandate.answer(String(id), 'approve');
      expect((await ask()).state).to.equal('granted');
      await mandate.jobs.seal();
      const { salt, title, lines, commitment } = await mandate.approval(String(id));
      const bundleOf = async (...selection: readonly string[]) => {
        const made = await runMandate(['audit-bundle', ...selection], { ...fresh.settings, ...key });
        expect(made.code, made.err).to.equal(0);
        return made.out;
      };
      const approvalsIn = (text: string) =>
        (JSON.parse(text) as Bundle).evidence.filter(({ record }) => record?.event?.startsWith('approval.'));

      const text = await bundleOf('--task', String(taskId));
      const entries = approvalsIn(text);
      expect(entries.map(({ record }) => record?.event)).to.deep.equal([
        ...['approval.requested', 'approval.granted', 'approval.used'],
      ]);
      for (const { record } of entries) expect(record?.detail).to.include(`approval=${id}&`).and.include(commitment);
      expect(entries.map(({ words }) => words)).to.deep.equal([{ salt, title, lines }, undefined, undefined]);
      const [file, policy] = [join(folder, 'bundle.json'), join(folder, 'policy.json')];
      writeFileSync(file, text);
      const verdict = await verifyBundle(text);
      const thumbprints = verdict.verified ? verdict.keys.map(({ thumbprint }) => thumbprint) : [];
      writeFileSync(policy, JSON.stringify({ checkpoint_keys: thumbprints }));
      for (const more of [[], ['--policy', policy]]) {
        const report = await runMandate(['audit-verify', '--bundle', file, ...more], {});
        const day = String(entries[0]?.record?.ts).slice(0, '2026-11-24'.length);
        expect(report.out.replaceAll(/\d\d:\d\d:\d\d/g, 'hh:mm:ss')).to.include(
          `  "Delete the issue", "Issue: PAY-7: “é 😀”": asked ${day} hh:mm:ss, yes hh:mm:ss, used hh:mm:ss\n`,
        );
      }
      const altered = text.replace(`"title":${JSON.stringify(title)}`, '"title":"Read the issue"');
      for (const verify of [verifyBundle, verifyOnPage]) {
        expect(await verify(text)).to.include({ verified: true });
        expect(await verify(altered)).to.include({ verified: false, fault: 'other_words' });
      }

      expect(approvalsIn(await bundleOf('--agent', agent.id)).some(({ words }) => words !== undefined)).to.equal(false);
      await mandate.sql("update approvals set title = 'Pay 17 EUR'");
      const lacking = await runMandate(['audit-bundle', '--task', String(taskId)], { ...fresh.settings, ...key });
      expect(lacking.code).to.equal(3);
      expect(lacking.err).to.match(/^mandate: Left out: the words of record \d+, a request for approval\. /m);
      expect(lacking.err).to.contain(String(id)).and.not.contain('Pay 17 EUR');
      expect(approvalsIn(lacking.out).map(({ words }) => words)).to.deep.equal([undefined, undefined, undefined]);
      expect(await verifyBundle(lacking.out)).to.include({ verified: true });
      await mandate.sql('delete from approvals');
      const later = await bundleOf('--task', String(taskId));
      expect(approvalsIn(later).map(({ words }) => words)).to.deep.equal([undefined, undefined, undefined]);
      expect(await verifyBundle(later)).to.include({ verified: true });
    });

    it('says why a question was withdrawn, if another one replaced it, and not if the task ended', async () => {
      const agent = await mandate.agent();
      const { access_token: token, task_id: taskId, refresh_token: grant } = (await agent.exchange()).body;
      const ask = async (title: string) => (await asks(mandate, token, jira.request(taskId, { title }))).body;
      const { approval_id: first } = await ask('Delete one');
      await mandate.answer(String(first), 'approve');
      await ask('Delete two');
      await agent.revoke(String(grant));
      await mandate.jobs.seal();
      const { out: text } = await runMandate(['audit-bundle', '--task', String(taskId)], { ...fresh.settings, ...key });
      const file = join(folder, 'replaced.json');
      writeFileSync(file, text);
      const report = (await runMandate(['audit-verify', '--bundle', file], {})).out;
      expect(report).to.match(/"Delete one".*: asked .*, yes .*, withdrawn \d\d:\d\d:\d\d \(words_changed\)\n/);
      expect(report).to.match(/"Delete two".*: asked .*, withdrawn \d\d:\d\d:\d\d\n/);
      for (const verify of [verifyBundle, verifyOnPage]) {
        const { questions = [] } = (await verify(text)) as { readonly questions?: readonly BundleQuestion[] };
        expect(questions.map(({ steps }) => steps.map(({ state, reason }) => [state, reason]))).to.deep.equal([
          [
            ['pending', undefined],
            ['granted', undefined],
            ['withdrawn', 'words_changed'],
          ],
          [
            ['pending', undefined],
            ['withdrawn', undefined],
          ],
        ]);
      }
    });

    it("has the person's line of a no with its salt, which all three verifiers compare", async () => {
      const agent = await mandate.agent();
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const { approval_id: id } = (await asks(mandate, token, jira.request(taskId))).body;
      const [salt, line] = ['s'.repeat(43), 'Not to “PAY-8”\u202e'];
      await mandate.answer(String(id), 'refuse', { says: { salt, text: line, hash: sha256(`${salt}${line}`) } });
      await mandate.jobs.seal();
      const make = () => runMandate(['audit-bundle', '--task', String(taskId)], { ...fresh.settings, ...key });
      const { out: text, code } = await make();
      const saysIn = (bundle: string) =>
        (JSON.parse(bundle) as Bundle).evidence.flatMap(({ says }) => (says === undefined ? [] : [says]));
      expect([code, saysIn(text)]).to.deep.equal([0, [{ salt, text: line }]]);
      const file = join(folder, 'no.json');
      writeFileSync(file, text);
      expect((await runMandate(['audit-verify', '--bundle', file], {})).out).to.match(
        /: asked .*, no \d\d:\d\d:\d\d \(the person: "Not to “PAY-8”\\u\{202e\}"\)\n/,
      );
      const altered = text.replace(`"text":${JSON.stringify(line)}`, '"text":"Go on"');
      for (const verify of [verifyBundle, verifyOnPage]) {
        const verdict = await verify(text);
        const { questions } = verdict as { readonly questions?: readonly BundleQuestion[] };
        expect(questions?.[0]?.steps.map(({ state, says }) => [state, says])).to.deep.equal([
          ['pending', undefined],
          ['refused', line],
        ]);
        expect(await verify(altered)).to.include({ verified: false, fault: 'other_words' });
      }
      await mandate.sql(`update approvals set says = 'Go on' where approval_id = '${id}'`);
      const lacking = await make();
      expect([lacking.code, saysIn(lacking.out)]).to.deep.equal([3, []]);
      expect(lacking.err)
        .to.match(/^mandate: Left out: the line of record \d+, a no\. /m)
        .and.not.contain('Go on');
      // Once the line was deleted, the record remains with its hash.
      await mandate.sql(`delete from approvals where approval_id = '${id}'`);
      const later = await make();
      expect([later.code, saysIn(later.out), later.out.includes('&says=')]).to.deep.equal([0, [], true]);
      expect(await verifyBundle(later.out)).to.include({ verified: true });
    });
  });
}
