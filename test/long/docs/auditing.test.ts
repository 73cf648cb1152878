/**
 * Runs the script and the commands of docs/auditing.md. At every push test/system/audit-verify.test.ts and
 * test/system/owner-sql.test.ts hold what an altered ledger is found by.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { connectOutside, databasesByLength } from '../../support/databases.ts';
import { canonicalCheckpointForm } from '../../support/independent-ledger/canonical-form.ts';
import { ADMIN_KEY, type Mandate, startMandate, withService } from '../../support/mandate.ts';

const run = promisify(execFile);

const page = await readFile(new URL('../../../docs/auditing.md', import.meta.url), 'utf8');

/** The page's code blocks in one language. */
function blocks(language: string): readonly string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
}

for (const database of databasesByLength) {
  describe(`docs/auditing.md, followed on ${database.name}`, () => {
    let mandate: Mandate;
    let folder: string;
    let script: string;

    before(async function () {
      this.timeout(120_000);
      folder = await mkdtemp(join(tmpdir(), 'auditing-'));
      script = join(folder, 'verify-record.mjs');
      await writeFile(script, blocks('js')[0] ?? '');
      mandate = await startMandate({ database });
      const agent = await mandate.agent();
      for (let round = 0; round < 4; round += 1) await agent.exchange();
      await mandate.jobs.seal();
    });
    after(async () => {
      await mandate.stop();
      await rm(folder, { recursive: true });
    });

    /** By default the key is on standard input, as in a file. */
    async function runScript(given: readonly string[], key = ADMIN_KEY, env: NodeJS.ProcessEnv = {}) {
      const { MANDATE_ADMIN_KEY: _, ...rest } = process.env;
      const running = run(process.execPath, [script, mandate.url, ...given], { env: { ...rest, ...env } });
      running.child.stdin?.end(env.MANDATE_ADMIN_KEY === undefined ? `${key}\n` : '');
      const { code, stdout, stderr } = await running.then(
        (done) => ({ ...done, code: 0 }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
      return [code, stdout, stderr] as const;
    }

    it('its script verifies records of a checkpoint', async () => {
      const lines = await mandate.ledger();
      const verified = (seq: unknown) => [0, `record ${seq} is what checkpoint 1 sealed\n`, ''];
      const [first, last] = [lines[0]?.seq, lines.at(-1)?.seq];
      expect(await runScript([String(first)])).to.deep.equal(verified(first));
      expect(await runScript([String(last)], '', { MANDATE_ADMIN_KEY: ADMIN_KEY })).to.deep.equal(verified(last));
    });

    it('its script reports an unknown record, a record without a seal, and a wrong key', async () => {
      for (const unknown of ['999999', 'x'])
        expect(await runScript([unknown])).to.deep.equal([1, `the ledger has no record ${unknown}\n`, '']);
      await (await mandate.agent()).exchange();
      const { seq } = (await mandate.ledger()).at(-1) ?? { seq: 0 };
      const unsealed = await runScript([String(seq)]);
      expect(unsealed[0]).to.equal(1);
      expect(unsealed[1]).to.match(new RegExp(`^/audit/records/${seq}/proof answered 404: .+\\.\n$`));
      const stranger = await runScript([String(seq)], `${ADMIN_KEY}-of-another`);
      expect(stranger[0]).to.equal(1);
      expect(stranger[1]).to.match(/^\/audit\?limit=1000 answered 401: .+\.\n$/);
    });

    it('its script takes no key as an argument, which other users of the machine see', async () => {
      const usage = 'usage: node verify-record.mjs ADDRESS NUMBER < ADMIN_KEY_FILE\n';
      for (const given of [[ADMIN_KEY, '1'], []]) expect(await runScript(given)).to.deep.equal([1, usage, '']);
    });

    it('its shell commands verify the signature of a checkpoint', async () => {
      const { body } = await mandate.admin('GET', '/audit/checkpoints');
      const [checkpoint] = body.checkpoints as Record<string, string>[];
      if (checkpoint === undefined) throw new Error('there is no checkpoint');
      const { signature = '', kid } = checkpoint;
      await writeFile(join(folder, 'signed.json'), canonicalCheckpointForm(checkpoint));
      const { keys } = (await mandate.get('/.well-known/jwks.json')).body as { keys: Record<string, string>[] };
      const key = keys.find((one) => one.kid === kid);
      const hex = (text = '') => Buffer.from(text, 'base64url').toString('hex');
      const env = { ...process.env, X: hex(key?.x), Y: hex(key?.y), SIGNATURE: signature };
      const commands = blocks('sh').at(-1) ?? '';
      const { stdout } = await run('sh', ['-e', '-c', commands], { cwd: folder, env });
      expect(stdout).to.equal('Verified OK\n');
    });

    it('its statement finds the tasks that the serving role made, for which the service signs tokens', async () => {
      const fresh = await database.fresh();
      await withService(startMandate({ database: { ...database, fresh: async () => fresh } }), async (forged) => {
        const role = await connectOutside(fresh, database.engine === 'sqlite' ? 'owner' : 'serving');
        const agent = await forged.agent();
        const honest = await agent.grant();
        const [taskId, grant] = [makeTaskId('01M31S7W68TMK7WDX8YKPSYT00'), `task_grant_${'A'.repeat(43)}`];
        for (const [table, changes] of [
          ['tasks', { task_id: taskId, sponsor: 'ceo', sponsor_key: 'ceo' }],
          ['task_grants', { task_id: taskId, grant_hash: sha256(grant) }],
        ] as const) {
          const [row = {}] = await role.sql(`select * from ${table}`);
          const columns = Object.keys(row);
          const values = columns.map((column) => (column in changes ? `'${changes[column as never]}'` : column));
          await role.sql(`insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table}`);
        }
        const { status, body } = await agent.refresh(grant);
        expect({ status, task: body.task_id }).to.deep.equal({ status: 200, task: taskId });
        expect((await agent.refresh(honest)).status).to.equal(200);
        expect((await forged.ledger()).at(-2)).to.include({
          event: 'token.refreshed',
          sponsor: 'ceo',
          task_id: taskId,
        });
        const [, statement = ''] = /^ *```sql\n(.*?)```$/ms.exec(page) ?? [];
        expect(await role.sql(statement)).to.deep.equal([{ task_id: taskId }]);
        await role.close();
      });
    });
  });
}
