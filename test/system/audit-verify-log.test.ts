/** `mandate audit-verify` compares the ledger with its transparency log, and with a note that an auditor brings. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ED25519, formatVerifierKey } from '../../domain/log/verifier-key.ts';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength, type OutsideConnection } from '../support/databases.ts';
import { type Evidence, evidence, noteSigner, ORIGIN } from '../support/log/evidence.ts';
import { writtenLog } from '../support/log/written-log.ts';
import { startLoopback } from '../support/loopback.ts';

const SIZE = 3;

for (const kind of databasesByLength) {
  describe(`audit-verify of a ledger with a transparency log on ${kind.name}`, function () {
    this.timeout(60_000);
    let ledger: Evidence;
    let outside: OutsideConnection;
    let folder: string;
    let older: string;
    let newest: string;
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const verify = (...more: readonly string[]) => runMandate(['audit-verify', ...more], ledger.settings());
    const published = async () => (await ledger.storage.transparencyLog.state())?.published?.note ?? '';
    const demands = () => ({
      log_keys: [formatVerifierKey(ledger.log.key)],
      witnesses: ledger.witnesses.map(({ key }) => formatVerifierKey(key)),
      quorum: 2,
    });
    const policyFile = (policy: object = demands()) => file('policy.json', JSON.stringify(policy));
    const faultOf = async (...more: readonly string[]) => {
      const { code, out } = await verify('--json', ...more);
      expect(code).to.equal(3);
      return JSON.parse(out).fault;
    };

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'mandate-log-'));
      ledger = await evidence(kind);
      for (let number = 10; number < 10 + SIZE; number += 1) {
        await ledger.task(number);
        await ledger.publish();
        if (number === 11) older = await published();
      }
      newest = await published();
      const opened = await ledger.database.outside?.('owner');
      if (opened === undefined) throw new Error('no connection');
      outside = opened;
      for (const table of ['log_state', 'log_tiles']) {
        await outside.sql(`create table ${table}_kept as select * from ${table}`);
      }
    });
    after(async () => {
      await outside.close();
      await ledger.close();
      rmSync(folder, { recursive: true });
    });

    it('says which checkpoints the log in the same database has', async () => {
      const { code, out, err } = await verify();
      expect([code, err]).to.deep.equal([0, '']);
      expect(out).to.match(/^The seal is intact: 3 checkpoints and \d+ records verified\.\n/);
      expect(out).to.include(`\nThe log in the database, ${ORIGIN}, agrees with the first 3 of 3 checkpoints.\n`);
      expect(JSON.parse((await verify('--json')).out)).to.deep.include({
        intact: true,
        log: { origin: ORIGIN, size: 3 },
      });
    });

    it('compares the whole ledger with an older note, and with the note that the log shows at its address', async () => {
      const kept = await verify('--note', file('older.note', older));
      expect(kept.code).to.equal(0);
      expect(kept.out).to.include(`The note of ${ORIGIN} agrees with the first 2 of 3 checkpoints.\n`);
      expect(kept.out).to.include('No policy names keys for the note, so its signatures were not verified.');
      const asked: string[] = [];
      const server = await startLoopback((request, response) => {
        asked.push(request.path);
        response.end(newest);
      });
      try {
        const shown = await verify('--log', `${server.url}/log/`, '--policy', policyFile());
        expect(shown.code).to.equal(0);
        expect(shown.out).to.include('agrees with the first 3 of 3 checkpoints.\nIt meets the policy.');
        for (const { key, thumbprint } of [ledger.log, ...ledger.witnesses]) {
          expect(shown.out).to.include(`${key.name}: ${thumbprint}`);
        }
        expect(shown.out.trimEnd().split('\n').at(-1)).to.match(/^3:[0-9a-f]{64}$/);
        expect(asked).to.deep.equal(['/log/checkpoint']);
      } finally {
        await server.close();
      }
    });

    it('requires that the published note and the checkpoints meet a policy', async () => {
      const all = { ...demands(), checkpoint_keys: ledger.thumbprints() };
      const met = JSON.parse((await verify('--policy', policyFile(all), '--json')).out);
      expect(met).to.deep.include({ intact: true, policy: 'met' });
      expect(met.keys.map(({ use }: { use: string }) => use)).to.deep.equal([
        'checkpoint',
        'log',
        'witness',
        'witness',
      ]);
      const stranger = await noteSigner(ORIGIN, ED25519);
      for (const [policy, sentence] of [
        [
          {
            ...demands(),
            witnesses: demands().witnesses.slice(0, 1),
            quorum: 1,
            checkpoint_keys: [stranger.thumbprint],
          },
          `The key ${ledger.thumbprints()[0]} signed checkpoint 1, and is not one of the checkpoint_keys of the policy.`,
        ],
        [
          { log_keys: [formatVerifierKey(stranger.key)] },
          'The key that signed the note of the log is not one of the log_keys of the policy.',
        ],
      ] as const) {
        const { code, out } = await verify('--policy', policyFile(policy));
        expect({ code, out }).to.deep.equal({
          code: 3,
          out: `The ledger agrees with itself, but does not meet the policy.\n${sentence}\n`,
        });
        expect(JSON.parse((await verify('--policy', policyFile(policy), '--json')).out)).to.deep.equal({
          intact: null,
          policy: 'not_met',
          sentence,
        });
      }
      // The log signed it, and only one witness cosigned it.
      const [text = '', lines = ''] = older.split('\n\n');
      const [own = '', first = ''] = lines.split(/(?<=\n)/);
      const one = await verify('--note', file('one.note', `${text}\n\n${own}${first}`), '--policy', policyFile());
      expect(one.out).to.include('The policy demands 2 of its witnesses, and 1 cosigned the note.');
    });

    it('refuses a note of another log, a changed note, and a text that is no note, and repeats none of it', async () => {
      const other = writtenLog('stranger.test/ledger');
      other.grow(2);
      const changed = newest.replace('\n3\n', '\n2\n');
      for (const [text, policy, sentence] of [
        [
          other.note(),
          [],
          `The note is not of the log of this ledger, ${ORIGIN}. If the log was renamed, give a policy with its log_keys.`,
        ],
        [
          changed,
          ['--policy', policyFile()],
          `--note names a note that was changed: The signature of ${ORIGIN} on the note does not verify.`,
        ],
        [
          'stranger.test',
          [],
          '--note names a text that is not the note of a log, which begins with its origin, its size and its root.',
        ],
      ] as const) {
        const refused = await verify('--note', file('refused.note', text), ...policy);
        expect(refused).to.deep.equal({ code: 1, out: '', err: `mandate: ${sentence}\n` });
      }
      expect((await verify('--note', join(folder, 'none'))).err).to.equal(
        'mandate: --note names a file that cannot be read.\n',
      );
    });

    for (const [title, statement, fault] of [
      ['another root', `update log_state set root = '${'0'.repeat(64)}', note = null`, { kind: 'log_root', of: 'log' }],
      ['a root that its note does not have', `update log_state set root = '${'0'.repeat(64)}'`, { kind: 'log_state' }],
      ['a published note of another size', 'update log_state set published_size = 2', { kind: 'log_state' }],
    ] as const) {
      it(`is not intact if the log in the database has ${title}`, async () => {
        await outside.sql(statement);
        try {
          expect(await faultOf()).to.deep.include(fault);
        } finally {
          for (const table of ['log_state', 'log_tiles']) {
            await outside.sql(`delete from ${table}`);
            await outside.sql(`insert into ${table} select * from ${table}_kept`);
          }
        }
        expect((await verify()).code).to.equal(0);
      });
    }
  });
}
