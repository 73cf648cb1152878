/** `mandate audit-bundle` and `audit-verify --bundle`, as an operator and an auditor run them. */

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runMandate } from '../support/cli-run.ts';
import { startCommand } from '../support/command-process.ts';
import { databasesByLength, postgres, sqliteFile } from '../support/databases.ts';
import { whileSealing } from '../support/ledger/sealing-beside.ts';
import { type Evidence, evidence, ORIGIN } from '../support/log/evidence.ts';

interface Bundle {
  readonly evidence: readonly { readonly record?: { readonly event: string }; readonly log_path?: unknown }[];
  readonly completeness: object;
}

const contentOf = (text: string) => JSON.parse(text) as Bundle;
const eventsOf = (text: string) => contentOf(text).evidence.flatMap(({ record }) => (record ? [record.event] : []));
const TASK = ['token.issued', 'token.refreshed', 'token.denied', 'task.revoked'];

describe('audit-bundle', function () {
  this.timeout(120_000);
  let folder: string;
  const path = (name: string) => join(folder, name);
  /** Without any setting. */
  const verify = (...options: readonly string[]) => runMandate(['audit-verify', ...options]);
  const bundleOf = (ledger: Evidence, ...options: readonly string[]) =>
    runMandate(['audit-bundle', ...options], ledger.settings());

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-bundle-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const kind of databasesByLength) {
    describe(`on ${kind.name}`, () => {
      let ledger: Evidence;
      let task: string;
      let unfinished: string;
      const bundle = (...options: readonly string[]) => bundleOf(ledger, ...options);

      before(async () => {
        ledger = await evidence(kind);
        for (let number = 10; number < 14; number += 1) await ledger.task(number);
        await ledger.publish();
        await ledger.rotate();
        task = await ledger.task(20);
        await ledger.publish();
        await ledger.rotate();
        await ledger.task(23);
        await ledger.publish();
        unfinished = await ledger.task(26, 2);
        await ledger.seal();
        await ledger.append({ event: 'token.denied', decision: 'deny', sponsor: 'ada+20@example.org/é/😀' });
      });
      after(() => ledger.close());

      it('writes the history of a task to a file that only its owner can read, and that verifies without any setting', async () => {
        const file = path(`${kind.engine}-task.json`);
        const refused = await bundle('--task', task, '--out', file);
        expect([refused.code, existsSync(file)]).to.deep.equal([1, false]);
        expect(refused.err).to.match(/^mandate: No known key signed checkpoint 2: .* --recorded-keys\.\n$/);
        const brought = `mandate: Signed with keys that only the ledger names: ${ledger.thumbprints()[1]}. Compare them with a key set that you kept, before a policy names them.\n`;
        const made = await bundle('--task', task, '--recorded-keys', '--out', file);
        expect(made).to.include({ code: 0, err: brought });
        const [wrote, ofTask, ofLog, next] = made.out.split('\n');
        expect(wrote).to.equal(`Wrote ${file}: 4 records in 1 checkpoint (task_id ${task}).`);
        expect(ofTask).to.match(/^It has the start of the task \(record \d+\) and its end \(record \d+\)\.$/);
        expect(ofLog).to.equal(`Its checkpoints are in the log ${ORIGIN}, of size 3, with 2 cosignatures.`);
        expect(next).to.match(
          /^It has personal data\. It is verified offline with mandate audit-verify --bundle .* --policy FILE\.$/,
        );
        expect(statSync(file).mode & 0o777).to.equal(0o600);
        expect(eventsOf(readFileSync(file, 'utf8'))).to.deep.equal(TASK);
        const { code, out, err } = await verify('--bundle', file);
        expect({ code, err }).to.deep.equal({ code: 0, err: '' });
        expect(out).to.match(
          /^Consistent, signed with keys that the bundle itself brings: 4 records in 1 checkpoint \(task_id task_/,
        );
        expect(out).not.to.match(/intact/i);
        expect(out).to.match(/It has the start of the task \(record \d+\) and its end \(record \d+\)\./);
        expect(out).to.include(`in the log ${ORIGIN}, of size 3, with 2 cosignatures.`);
        expect(out).to.include('Compare the keys that verified it by hand').and.to.include(ledger.thumbprints()[1]);
        for (const { key, thumbprint } of [ledger.log, ...ledger.witnesses]) {
          expect(out).to.include(`${key.name}: ${thumbprint}`);
        }
      });

      it('names the records that it leaves out, because they are not sealed or not in the log, and exits with 3', async () => {
        // With the key set that was kept, no key of the bundle is from the ledger alone.
        const keys = path(`${kind.engine}-keys.json`);
        writeFileSync(keys, ledger.jwks());
        const sponsor = await bundle('--sponsor', 'ada+20@example.org/é/😀', '--jwks', keys);
        expect(sponsor).to.include({ code: 3 });
        expect(sponsor.err).to.match(
          /^mandate: Wrote the bundle to standard output: 4 records in 1 checkpoint \(sponsor .*\n(?:mandate: .*\n)*mandate: Left out, because they are not sealed yet: 1\. Try again after the next checkpoint \(Service:Audit:Checkpoint:Interval\)\.\n.* has 4 records, and lacks some\.\n$/,
        );
        const agent = await bundle('--agent', 'agent-2', '--from', '2026-01-01', '--jwks', keys);
        expect(agent.err).to.match(
          /\nmandate: Left out, because the log does not contain their checkpoints yet: 2\.\n/,
        );
        expect(eventsOf(agent.out)).to.have.lengthOf(4 * 3);
        expect(contentOf(agent.out).completeness).to.deep.include({ not_logged: 2, not_sealed: 0, started: null });
        const without = await bundle('--agent', 'agent-2', '--without-log', '--jwks', keys);
        expect(without.code).to.equal(0);
        expect(without.err).to.match(
          /^mandate: Wrote the bundle to standard output: .*\nmandate: It has no transparency log: /,
        );
        expect(without.err.split('\n')).to.have.lengthOf(4);
        expect(eventsOf(without.out)).to.have.lengthOf(4 * 3 + 2);
        for (const { out } of [sponsor, agent, without]) {
          writeFileSync(path('part.json'), out);
          expect((await verify('--bundle', path('part.json'))).code).to.equal(0);
        }
      });

      it('makes no bundle and no file if no record can be proved', async () => {
        const file = path('none.json');
        const made = await bundle('--task', unfinished, '--recorded-keys', '--out', file);
        expect(made).to.include({ code: 1, out: '' });
        expect(made.err).to.match(/^mandate: No record that can be proved matches: /);
        expect(existsSync(file)).to.equal(false);
      });

      it('never writes over an existing file, and names a file that cannot be written', async () => {
        const file = path('kept.json');
        writeFileSync(file, 'kept');
        const sentence = 'mandate: --out names a file that exists already.\n';
        expect(await bundle('--task', task, '--out', file)).to.deep.equal({ code: 1, out: '', err: sentence });
        expect(readFileSync(file, 'utf8')).to.equal('kept');
        const nowhere = await bundle('--task', task, '--out', path('no-folder/a'));
        expect(nowhere).to.deep.equal({
          code: 1,
          out: '',
          err: 'mandate: --out names a file that cannot be written.\n',
        });
      });
    });
  }

  describe('and its verification', () => {
    let ledger: Evidence;
    let file: string;

    before(async () => {
      ledger = await evidence(sqliteFile);
      const task = await ledger.task(10);
      await ledger.publish();
      file = path('verified.json');
      expect((await bundleOf(ledger, '--task', task, '--out', file)).code).to.equal(0);
    });
    after(() => ledger.close());

    it('exits with 3 for an altered bundle and names the line, and with 1 for a missing file', async () => {
      const altered = path('altered.json');
      const text = readFileSync(file, 'utf8');
      writeFileSync(altered, text.replace('scope_widened', 'scope_widenee'));
      expect(await verify('--bundle', altered)).to.deep.equal({
        code: 3,
        err: '',
        out: 'The bundle is not intact.\nLine 8: Record 7 is not the one that checkpoint 1 sealed there.\n',
      });
      const { fault } = JSON.parse((await verify('--bundle', altered, '--json')).out);
      expect(fault).to.include({ kind: 'root_mismatch', line: 8 });
      writeFileSync(altered, text.slice(0, -1));
      expect((await verify('--bundle', altered)).out).to.match(
        /^The bundle is not intact\.\nLine \d+: The bundle is cut off\.\n$/,
      );
      for (const other of ['', '\n', 'x'.repeat(3_000_000)]) {
        writeFileSync(altered, other);
        expect((await verify('--bundle', altered)).code).to.equal(3);
      }
      const sentence = 'mandate: --bundle names a file that cannot be read.\n';
      for (const name of [path('missing'), folder]) {
        expect(await verify('--bundle', name)).to.deep.equal({ code: 1, out: '', err: sentence });
      }
    });

    it('exits with 1 if the reader closes the pipe: no verifier accepts the text', async () => {
      const { child, ended } = startCommand(['audit-bundle', '--from', '2026-01-01'], ledger.settings());
      child.stdout?.destroy();
      const { code, err } = await ended;
      expect({ code, err }).to.deep.equal({
        code: 1,
        err: 'mandate: Standard output was closed, or could not be written.\n',
      });
    });
  });

  it('makes evidence that verifies after the month was archived and the database dropped', async () => {
    const ledger = await evidence(postgres);
    const task = await ledger.task(10);
    const file = path('old.json');
    try {
      await ledger.publish();
      for (let rotation = 0; rotation < 2; rotation += 1) {
        await ledger.rotate();
        await ledger.task(20 + rotation);
        await ledger.publish();
      }
      expect((await bundleOf(ledger, '--task', task, '--recorded-keys', '--out', file)).code).to.equal(0);
      writeFileSync(path('all-keys.json'), ledger.jwks());
      const line = ['audit-archive', '--before', '2026-10', '--to', folder, '--jwks', path('all-keys.json')];
      const { checkpoints } = ledger.storage;
      const archived = await whileSealing(
        async () => (await checkpoints.unsealed()) && ledger.seal(),
        () => runMandate(line, ledger.settings()),
      );
      expect(archived).to.include({ code: 0, err: '' });
      const late = await bundleOf(ledger, '--sponsor', 'ada+10@example.org/é/😀');
      expect(late.err).to.match(/^mandate: No record that can be proved matches: /);
    } finally {
      await ledger.close();
    }
    const { code, out } = await verify('--bundle', file);
    expect(code).to.equal(0);
    expect(out).to.include('It has the start of the task (record ').and.to.include(ledger.thumbprints()[0]);
  });
});
