/** The evidence of a task that its person started: the bundle has the person's answer, and no verifier accepts it altered. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { verifyBundle } from '../../../adapters/sdk/audit/audit.ts';
import { allowedRequest, keptRequest } from '../../support/authorize/allowed-request.ts';
import { runMandate } from '../../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { verifyOnPage } from '../../support/log/evidence-page.ts';
import type { Mandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { publicAgent, startDoor, token } from './clients.ts';

type Entry = { readonly record?: Readonly<Record<string, string | null>> };

for (const database of databasesByLength) {
  describe(`The evidence of a task that its person started, on ${database.name}`, function () {
    this.timeout(120_000);
    const key = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    const folder = mkdtempSync(join(tmpdir(), 'mandate-evidence-'));
    before(async () => {
      fresh = await database.fresh();
      mandate = await startDoor(
        { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        { settings: key },
      );
    });
    after(async () => {
      await mandate.stop();
      await fresh.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    it("has the person's answer beside the task, and is refused if the answer is missing or says something else", async () => {
      const editor = await publicAgent(mandate);
      // A request without an answer, and one for another task, are no part of it.
      await keptRequest(mandate, editor.id);
      await allowedRequest(mandate, editor.id);
      const allowed = await allowedRequest(mandate, editor.id, { chosen: ['jira:read'] });
      const { body } = await token(mandate, allowed.form());
      const taskId = String(body.task_id);
      await mandate.admin('DELETE', `/admin/tasks/${taskId}`);
      await mandate.jobs.seal();

      const made = await runMandate(['audit-bundle', '--task', taskId], { ...fresh.settings, ...key });
      expect(made.code, made.err).to.equal(0);
      const text = made.out;
      const { evidence } = JSON.parse(text) as { readonly evidence: readonly Entry[] };
      const records = evidence.flatMap(({ record }) => (record ? [record] : []));
      expect(records.map(({ event, detail }) => [event, detail])).to.deep.equal([
        ['authorization.allowed', `request=${allowed.requestId}&client=public`],
        ['token.issued', undefined],
        ['task.authorized', `request=${allowed.requestId}`],
        ['task.revoked', undefined],
      ]);
      expect(records[0]).to.include({
        task_id: taskId,
        agent_id: editor.id,
        sponsor: 'ada',
        scope: 'jira:read',
        decision: 'allow',
      });

      const file = join(folder, 'bundle.json');
      writeFileSync(file, text);
      const report = await runMandate(['audit-verify', '--bundle', file], {});
      expect(report.code, report.out).to.equal(0);
      expect(report.out)
        .to.include('4 records in 1 checkpoint')
        .and.match(/It has the start of the task \(record \d+\)/);
      const lines = text.split('\n');
      const answer = lines.findIndex((line) => line.includes('authorization.allowed'));
      const altered = {
        'without the answer': [...lines.slice(0, answer), ...lines.slice(answer + 1)].join('\n'),
        'with a wider answer': text.replace('"scope":"jira:read"', '"scope":"jira:read jira:comment"'),
        'with another person': text.replace('"sponsor":"ada"', '"sponsor":"eve"'),
        'with another client': text.replace('&client=public', '&client=key'),
        'with a no': text.replace('authorization.allowed', 'authorization.refused'),
      };
      for (const verify of [verifyBundle, verifyOnPage]) expect(await verify(text)).to.include({ verified: true });
      for (const [what, other] of Object.entries(altered)) {
        expect(other, what).not.to.equal(text);
        for (const verify of [verifyBundle, verifyOnPage]) {
          expect(await verify(other), what).to.include({ verified: false });
        }
        writeFileSync(file, other);
        expect((await runMandate(['audit-verify', '--bundle', file], {})).code, what).to.equal(3);
      }
    });
  });
}
