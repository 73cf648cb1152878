/** The command `audit-archive`. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { archive } from '../../../application/ledger/archive.ts';
import { formatMark } from '../../../domain/ledger/checkpoint.ts';
import { runMandate } from '../../support/cli-run.ts';
import { runCommand } from '../../support/command-process.ts';
import { append, seal } from '../../support/ledger/fill.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import type { Archives } from './archives.ts';
import { FILES, type Fixture, partitions, SEPTEMBER, THIS_MONTH } from './archives.ts';

export function testCommandLine(suite: Archives): void {
  const { emptyScene, fixture, whileSealing, expectAllArchived } = suite;

  describe('on the command line', () => {
    const settingsOf = (made: Fixture) => ({ ...made.database.settings, 'Service:Signing:Keys:0:Pem': suite.key.pem });
    const lineOf = (made: Fixture, ...more: readonly string[]) => [
      'audit-archive',
      '--before',
      '2026-11',
      '--to',
      made.directory,
      ...more,
    ];
    /** Archives both months. `verify` reads the exports with nothing but the published keys. */
    async function exported() {
      const { key } = suite;
      const made = await fixture();
      await archive(THIS_MONTH, made.archiving);
      const jwks = join(made.directory, 'jwks.json');
      writeFileSync(jwks, JSON.stringify(key.jwks));
      const [first = '', second = ''] = FILES.map((file) => join(made.directory, file));
      const verify = (...more: readonly string[]) => runMandate(['audit-verify', '--jwks', jwks, ...more]);
      return { made, first, second, verify, text: gunzipSync(readFileSync(first)).toString() };
    }

    it('reports the export of each month, and reports in a second run that no month is left', async () => {
      const made = await fixture();
      const first = await whileSealing(made, () => runMandate(lineOf(made), settingsOf(made)));
      expect(first.code, first.err).to.equal(0);
      expect(first.out).to.include('2026-09 has left: 2 checkpoints and 20 records are in ');
      expect(first.out).to.include('2026-10 has left: 1 checkpoint and 5 records are in ');
      expect(first.out).to.include(join(made.directory, FILES[1] ?? ''));
      const second = await runMandate(lineOf(made), settingsOf(made));
      expect(second).to.deep.equal({ code: 0, out: 'No month before 2026-11 is left in the ledger.\n', err: '' });
      await expectAllArchived(made);
    });

    it('prints a line of JSON for each month with --json, and no line if no month is left', async () => {
      const made = await fixture();
      const line = lineOf(made, '--json');
      const { code, out, err } = await whileSealing(made, () => runMandate(line, settingsOf(made)));
      expect([code, err]).to.deep.equal([0, '']);
      const [september, october, ...more] = out.split('\n');
      expect(more).to.deep.equal(['']);
      const about = (file = '') => {
        const path = join(made.directory, file);
        return { export: path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
      };
      expect([september, october].map((text) => JSON.parse(text ?? ''))).to.deep.equal([
        { month: '2026-09', checkpoints: 2, records: 20, ...about(FILES[0]) },
        { month: '2026-10', checkpoints: 1, records: 5, ...about(FILES[1]) },
      ]);
      expect(await runMandate(line, settingsOf(made))).to.deep.equal({ code: 0, out: '', err: '' });
    });

    it('writes exports that audit-verify can verify with the published keys alone', async () => {
      const { made, first, second, verify, text } = await exported();
      const [, straddling, third] = await made.storage.checkpoints.page(0, 10);
      if (straddling === undefined || third === undefined) throw new Error('there are four checkpoints');
      expect(await verify('--archive', first)).to.deep.equal({
        code: 0,
        out: [
          'The export of 2026-09 is intact: 2 checkpoints and 20 records verified.',
          'Only its SHA-256 in the record audit.archived, or a mark, proves that nothing was cut off.',
          // Its records are of two months.
          'Warning: checkpoint 2 was closed more than 325 hours after its oldest record. Either the service did not seal for so long, or checkpoints were removed and their records sealed anew.',
          `${formatMark(straddling)}\n`,
        ].join('\n'),
        err: '',
      });
      const later = await verify('--archive', second, '--json', formatMark(third));
      const { warnings, ...report } = JSON.parse(later.out);
      expect(warnings).to.have.lengthOf(1);
      expect(warnings[0]).to.include({ kind: 'sealed_late', checkpoint_id: 3, count: 1 });
      expect(report).to.deep.equal({
        intact: true,
        month: '2026-10',
        checkpoints: 1,
        records: 5,
        first_checkpoint: 3,
        last: formatMark(third),
      });
      const unconfirmed = await verify('--archive', second, formatMark(straddling));
      expect(unconfirmed.code).to.equal(3);
      expect(unconfirmed.out).to.include('does not hold checkpoint 2, which a mark names');

      writeFileSync(first, gzipSync(text.replace('agent-7', 'agent-8')));
      const altered = await verify('--archive', first);
      expect(altered.code).to.equal(3);
      expect(altered.out).to.include('Checkpoint 1 does not match its records');
      expect(altered.out).to.match(/\nNo checkpoint was verified before that\.\n$/);
      writeFileSync(first, gzipSync(text.replace('agent-17', 'agent-18')));
      const inSecond = JSON.parse((await verify('--archive', first, '--json')).out);
      expect(inSecond).to.include({ intact: false, checkpoints: 1, records: 10 });
      expect(inSecond.verified_through).to.match(/^1:[0-9a-f]{64}$/);
      writeFileSync(first, gzipSync(text).subarray(0, -40));
      const cutOff = await verify('--archive', first);
      expect(cutOff.code).to.equal(3);
      expect(cutOff.out).to.match(/^The seal is not intact\. The export is cut off\.\n/);
      const missing = await verify('--archive', join(made.directory, 'none'));
      expect(missing.code).to.equal(1);
      expect(missing.err).to.include('is not there.');
      const keyless = await runMandate(['audit-verify', '--archive', first]);
      expect(keyless.code).to.equal(1);
      expect(keyless.err).to.include('--jwks');
    });

    it('lets audit-verify exit with 3 if a signature in an export was altered', async () => {
      const { first, verify, text } = await exported();
      for (const [id, verified] of [
        [1, 'No checkpoint was verified before that.'],
        [2, 'Verified up to checkpoint 1: 1 checkpoint and 10 records.'],
      ] as const) {
        const line = text.split('\n')[id] ?? '';
        const altered = line.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
        writeFileSync(first, gzipSync(text.replace(line, altered)));
        const { code, out, err } = await verify('--archive', first);
        expect({ code, err }).to.deep.equal({ code: 3, err: '' });
        expect(out).to.include(`Checkpoint ${id} has an invalid signature`).and.to.include(verified);
      }
    });

    it("needs only the owner's connection string and, by --jwks, the published keys", async () => {
      const { key } = suite;
      const made = await fixture();
      const jwks = join(made.directory, 'keys.json');
      const owner = made.database.settings['Service:Database:MigrationConnectionString'] ?? '';
      const settings = { 'Service:Database:Provider': 'postgres', 'Service:Database:ConnectionString': owner };
      const line = lineOf(made, '--jwks', jwks);
      const another = await makeSealingKey();
      writeFileSync(jwks, JSON.stringify(another.jwks));
      const unknown = await runMandate(line, settings);
      expect(unknown).to.include({ code: 1, out: '' });
      expect(unknown.err).to.match(/^mandate: 2026-09 was not exported, because the seal is not intact\. .*key/);
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
      writeFileSync(jwks, JSON.stringify({ keys: [...another.jwks.keys, ...key.jwks.keys] }));
      const end = await whileSealing(made, () => runMandate(line, settings));
      expect(end.code, end.err).to.equal(0);
      rmSync(jwks);
      await expectAllArchived(made);
    });

    it('refuses to run as the serving role or without keys, and names the missing setting', async () => {
      const made = await fixture();
      const serving = await runMandate(lineOf(made), {
        ...settingsOf(made),
        'Service:Database:MigrationConnectionString': made.database.settings['Service:Database:ConnectionString'] ?? '',
      });
      expect(serving).to.include({ code: 1, out: '' });
      expect(serving.err).to.match(/^mandate: Only the role that owns the ledger .*MigrationConnectionString/);
      const keyless = await runMandate(lineOf(made), made.database.settings);
      expect(keyless).to.include({ code: 1, out: '' });
      expect(keyless.err).to.equal(
        'mandate: There are no keys to verify with: give the published key set with --jwks, or the settings Service:Signing:Keys.\n',
      );
      expect(readdirSync(made.directory)).to.deep.equal([]);
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
    });

    it('takes the cutoff from Service:Audit:Retention, and exits with 2 without any cutoff', async () => {
      const made = await emptyScene();
      const line = ['audit-archive', '--to', made.directory];
      const none = await runMandate(line, settingsOf(made));
      expect(none.code).to.equal(2);
      expect(none.err).to.include('--before YYYY-MM is required, unless Service:Audit:Retention is set.');
      const kept = await runMandate(line, { ...settingsOf(made), 'Service:Audit:Retention': 'P3650D' });
      expect(kept.code, kept.err).to.equal(0);
      expect(kept.out).to.include('No month before 20');
    });

    it('exits with 1 on a full disk, removes the export and drops no partition', async () => {
      const { key } = suite;
      const made = await emptyScene();
      await append(made.storage, 600, SEPTEMBER);
      await seal(made.storage, key.signer, SEPTEMBER);
      // `ulimit -f 1` limits each file to 512 or 1,024 bytes, as a full disk would.
      const line = ['audit-archive', '--before', '2026-10', '--to', made.directory];
      const { code, out, err } = await runCommand(line, settingsOf(made), 'ulimit -f 1');
      expect(code).to.equal(1);
      expect(out).to.equal('');
      expect(err).to.include('the disk is full, or the file would be larger than is allowed.');
      expect(readdirSync(made.directory)).to.deep.equal([]);
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
    });

    it('exits with 1 for sqlite and for a cutoff after the current month', async () => {
      const sqlite = { 'Service:Database:Provider': 'sqlite', 'Service:Database:Path': '/nowhere.db' };
      const refused = await runMandate(['audit-archive', '--before', '2026-01', '--to', '/tmp'], sqlite);
      expect(refused).to.include({ code: 1, out: '' });
      expect(refused.err).to.include('audit-archive is for postgres only.');
      const made = await emptyScene();
      const late = await runMandate(['audit-archive', '--before', '9999-12', '--to', made.directory], settingsOf(made));
      expect(late.code).to.equal(1);
      expect(late.err).to.include('--before 9999-12 is after the current month');
    });
  });
}
