/** `mandate audit-verify` on ledgers that their owner has changed. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { LIMITS } from '../../adapters/storage/postgres/limits.ts';
import { verifyLedger } from '../../application/ledger/verify.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, formatMark } from '../../domain/ledger/checkpoint.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, seal } from '../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { seeded, startTampering, type Tampering } from '../support/ledger/tampering.ts';
import { byLength } from '../support/length.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import type { Storage } from '../support/storage.ts';

/** Fewer on Postgres, where a statement takes longer. */
const EDITS = byLength({ short: { sqlite: 200, postgres: 60 }, full: { sqlite: 1_000, postgres: 100 } });
/** The number of records of each checkpoint. */
const SIZES = [7, 1, 5, 8, 3, 6];

for (const kind of databasesByLength) {
  describe(`audit-verify on ${kind.name}`, function () {
    this.timeout(60_000);
    let key: SealingKey;
    let database: FreshDatabase;
    let storage: Storage;
    let settings: Readonly<Record<string, string>>;
    let directory: string;

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'mandate-verify-'));
      key = await makeSealingKey();
      database = await kind.fresh();
      storage = await database.open({ clock: { now: () => NOON } });
      settings = { ...database.settings, 'Service:Signing:Keys:0:Pem': key.pem };
      await append(storage, 2, NOON);
    });
    after(async () => {
      await storage.close();
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    });

    async function marks(): Promise<readonly string[]> {
      return (await storage.checkpoints.page(0, 100)).map(formatMark);
    }

    it('reports an intact seal for a ledger without checkpoints', async () => {
      const { code, out, err } = await runMandate(['audit-verify'], settings);
      expect([code, err]).to.deep.equal([0, '']);
      expect(out).to.include('The seal is intact: there is no checkpoint yet.');
    });

    describe('with sealed records', () => {
      before(async () => {
        let first = 2;
        for (const size of SIZES) {
          await append(storage, size, NOON, first);
          first += size;
          await seal(storage, key.signer, instantFromMicros(NOON + first * 1_000_000));
        }
        await append(storage, 4, NOON, first);
      });

      it('exits with 0, and prints into a pipe only the counts and the last mark', async () => {
        const { code, out, err } = await runMandate(['audit-verify'], settings);
        expect([code, err]).to.deep.equal([0, '']);
        expect(out.split('\n')).to.deep.equal([
          'The seal is intact: 6 checkpoints and 32 records verified.',
          'Not sealed yet, so not verified: 4 records.',
          (await marks()).at(-1),
          '',
        ]);
      });

      it('confirms several marks at once, and ignores invalid settings that the command does not need', async () => {
        const kept = await marks();
        const others = { 'Service:Issuer': 'ftp://nonsense', 'Service:Audit:Checkpoint:Interval': 'never' };
        const { code } = await runMandate(['audit-verify', `${kept[1]},${kept[3]}`], { ...settings, ...others });
        expect(code).to.equal(0);
      });

      it('reports the same counts with --json', async () => {
        const { out, code } = await runMandate(['audit-verify', '--json'], settings);
        expect(code).to.equal(0);
        expect(JSON.parse(out)).to.deep.equal({
          intact: true,
          checkpoints: 6,
          records: 32,
          archived_checkpoints: 0,
          unsealed_records: 4,
          last: (await marks()).at(-1),
        });
      });

      it('warns of checkpoints that were closed late, by the configured interval, and exits with 0', async () => {
        const other = await kind.fresh();
        const late = await other.open({ clock: { now: () => NOON } });
        try {
          await append(late, 2, NOON);
          await seal(late, key.signer, instantFromMicros(NOON + 9_000_000_000));
          const of = (interval?: string, ...options: readonly string[]) =>
            runMandate(['audit-verify', ...options], {
              ...other.settings,
              'Service:Signing:Keys:0:Pem': key.pem,
              'Service:Audit:Checkpoint:Interval': interval,
            });
          for (const interval of [undefined, 'PT1M', 'never']) {
            const { code, out } = await of(interval);
            expect(code).to.equal(0);
            expect(out.split('\n')[1], interval).to.match(
              /^Warning: checkpoint 1 was closed more than 2 hours after its oldest record\. /,
            );
          }
          expect(JSON.parse((await of('PT1M', '--json')).out)).to.deep.nested.include({
            intact: true,
            'warnings[0].kind': 'sealed_late',
            'warnings[0].checkpoint_id': 1,
          });
          expect((await of('PT10M')).out).not.to.include('Warning');
        } finally {
          await late.close();
          await other.drop();
        }
      });

      it('exits with 3 if a mark contradicts its checkpoint or names an absent one', async () => {
        const contradicted = await runMandate(['audit-verify', `4:${'0'.repeat(64)}`], settings);
        expect(contradicted.code).to.equal(3);
        expect(contradicted.out).to.match(/^The seal is not intact\. Checkpoint 4 has another root than the mark says/);
        // Checkpoint 4, which the mark contradicts, is not counted.
        expect(contradicted.out.split('\n').slice(1)).to.deep.equal([
          'Verified up to checkpoint 3: 3 checkpoints and 15 records.',
          `The last mark before the fault: ${(await marks())[2]}`,
          '',
        ]);
        const cut = await runMandate(['audit-verify', `7:${'0'.repeat(64)}`, '--json'], settings);
        expect(cut.code).to.equal(3);
        expect(JSON.parse(cut.out)).to.deep.nested.include({ intact: false, 'fault.kind': 'mark_unmatched' });
        expect(JSON.parse(cut.out).fault).to.include({ checkpoint_id: 7, newest_id: 6 });
        const verified = { checkpoints: 6, records: 32, archived_checkpoints: 0, verified_through: (await marks())[5] };
        expect(JSON.parse(cut.out)).to.include(verified);
      });

      it('takes the published keys from a file or a URL instead of the settings', async () => {
        const file = join(directory, 'jwks.json');
        writeFileSync(file, JSON.stringify(key.jwks));
        expect((await runMandate(['audit-verify', '--jwks', file], database.settings)).code).to.equal(0);

        const server = await startLoopback(answering(key.jwks));
        const fetched = await runMandate(['audit-verify', '--jwks', `${server.url}/`], database.settings);
        await server.close();
        expect(fetched.code, fetched.err).to.equal(0);

        const other = await makeSealingKey();
        writeFileSync(file, JSON.stringify(other.jwks));
        const stranger = await runMandate(['audit-verify', '--jwks', file], settings);
        expect(stranger.code).to.equal(3);
        expect(stranger.out).to.include('Checkpoint 1 was signed with a key that is not published.');
      });

      it('refuses a --jwks file of more than 1 MiB', async () => {
        const endless = await runMandate(['audit-verify', '--jwks', '/dev/zero'], database.settings);
        expect(endless).to.deep.include({ code: 1, err: 'mandate: --jwks names a file of more than 1048576 bytes.\n' });
      });

      it('exits with its verdict if the reader closes the pipe, and with 1 if standard output cannot be written to', async () => {
        const { child, ended } = startCommand(['audit-verify'], settings);
        child.stdout?.destroy();
        expect(await ended).to.deep.equal({ code: 0, out: '', err: '' });
        if (!existsSync('/dev/full')) return;
        expect(await runCommand(['audit-verify'], settings, 'exec > /dev/full')).to.deep.equal({
          code: 1,
          out: '',
          err: 'mandate: The report could not be written to standard output.\n',
        });
      });

      it('exits with 2 for a malformed mark, and with 1 if the database or the keys cannot be read', async () => {
        const malformed = await runMandate(['audit-verify', '5:ABC'], settings);
        expect(malformed).to.include({ code: 2, out: '' });
        expect(malformed.err).to.match(/^mandate: .*[.]/);
        const away =
          kind.engine === 'sqlite'
            ? { 'Service:Database:Path': join(directory, 'none.db') }
            : { 'Service:Database:ConnectionString': 'postgresql://nobody@127.0.0.1:9/none' };
        const unreadable = await runMandate(['audit-verify'], { ...settings, ...away });
        expect(unreadable).to.include({ code: 1, out: '' });
        expect(unreadable.err).to.include('mandate: ');
        const keyless = await runMandate(['audit-verify'], database.settings);
        expect(keyless.code).to.equal(1);
        expect(keyless.err).to.include('give the published key set with --jwks');
      });

      if (kind.engine === 'postgres') {
        it('waits longer for a slow database than requests do', async () => {
          const owner = await connectOutside(database, 'owner');
          const seconds = LIMITS.serving.statement / 1_000 + 0.5;
          const requests = await database.open({ limits: LIMITS });
          await owner.sql('alter table checkpoints rename to kept');
          await owner.sql(`create view checkpoints as select kept.* from pg_sleep(${seconds}) left join kept on true`);
          await owner.sql('grant select on checkpoints to public');
          const [verified, asked] = await Promise.all([
            runMandate(['audit-verify'], settings),
            requests.checkpoints.newest().catch((error: unknown) => error),
          ]);
          await requests.close();
          await owner.sql('drop view checkpoints');
          await owner.sql('alter table kept rename to checkpoints');
          await owner.close();
          expect(asked).to.be.instanceOf(StorageUnavailable);
          expect(verified).to.include({ code: 0, err: '' });
        });
      }

      describe('after the owner has edited the tables', () => {
        let outside: OutsideConnection;
        let tampering: Tampering;
        let sealed: readonly Checkpoint[];
        before(async () => {
          outside = await connectOutside(database, 'owner');
          sealed = await storage.checkpoints.page(0, 100);
          tampering = await startTampering(outside, kind.engine);
        });
        afterEach(() => tampering.undo());
        after(() => outside.close());

        const verify = (given: readonly Checkpoint[] = [], { checkpoints } = storage) =>
          verifyLedger({
            ledger: checkpoints,
            verifier: key.verifier,
            hash: sha256Bytes,
            turn: eventLoopTurn,
            marks: given,
          });

        const later = kind.engine === 'sqlite' ? 'ts + 1000' : "ts + interval '1 millisecond'";
        const sooner = kind.engine === 'sqlite' ? 'ts - 1000000' : "ts - interval '1 second'";
        /** For each column, SQL values other than the stored one. */
        const values: Readonly<Record<string, readonly string[]>> = {
          ts: [later, sooner],
          ...Object.fromEntries(
            ['task_id', 'agent_id', 'sponsor', 'audience', 'scope', 'jti', 'reason', 'detail'].map((column) => [
              column,
              ['null', "''", `${column} || ' '`, `upper(${column}) || 'x'`],
            ]),
          ),
          event: ["event || 's'", "''"],
          delegation_depth: ['null', 'delegation_depth + 1'],
          decision: ["case decision when 'allow' then 'deny' else 'allow' end", 'null'],
          count: ['null', 'count + 1'],
        };
        const columns = Object.keys(values);

        function sealing(seq: number): Checkpoint {
          const found = sealed.find(({ lastSeq }) => lastSeq >= seq);
          if (found === undefined) throw new Error(`nothing seals ${seq}`);
          return found;
        }

        const rest =
          'ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail';
        /** The statements of a random edit, and the first checkpoint that fails then. */
        function randomEdit(nth: number, seq: number, last: number, random: (below: number) => number) {
          const { checkpointId } = sealing(seq);
          const choice = random(10);
          if (choice < 7) {
            const column = columns[nth % columns.length] ?? '';
            const value = values[column]?.[random(values[column]?.length ?? 0)] ?? '';
            return {
              what: column,
              checkpointId,
              statements: [`update ledger set ${column} = ${value} where seq = ${seq}`],
            };
          }
          const removal = `delete from ledger where seq = ${seq}`;
          if (choice === 7) return { what: 'delete', checkpointId, statements: [removal] };
          const other = 1 + ((seq + random(last - 1)) % last);
          if (choice === 8) {
            // A copy of another record in its place, so that the count stays the same.
            const copy = `insert into ledger (seq, ${rest}) select ${seq}, ${rest} from ledger where seq = ${other}`;
            return { what: 'replace', checkpointId, statements: other === seq ? [] : [removal, copy] };
          }
          const statements = [
            `update ledger set seq = 100000 where seq = ${seq}`,
            `update ledger set seq = ${seq} where seq = ${other}`,
            `update ledger set seq = ${other} where seq = 100000`,
          ];
          return { what: 'swap', checkpointId: Math.min(checkpointId, sealing(other).checkpointId), statements };
        }

        it(`names the first failing checkpoint after each of ${EDITS[kind.engine]} random edits, and no fault after they are undone`, async function () {
          this.timeout(300_000);
          const random = seeded(20_261_121);
          const last = sealed.at(-1)?.lastSeq ?? 0;
          const seen = new Set<string>();
          for (let nth = 0; nth < EDITS[kind.engine]; nth += 1) {
            const { what, checkpointId, statements } = randomEdit(nth, 1 + random(last), last, random);
            if (statements.length === 0) continue;
            seen.add(what);
            await tampering.sql(...statements);
            const outcome = await verify();
            expect(outcome.kind, statements.join()).to.equal('broken');
            if (outcome.kind === 'broken') expect(outcome.fault, statements.join()).to.include({ checkpointId });
            await tampering.undo();
          }
          expect([...seen]).to.have.members([...columns, 'delete', 'replace', 'swap']);
          expect((await verify(sealed)).kind).to.equal('intact');
        });

        it('finds a record that was moved into a gap, or before the first record', async () => {
          await tampering.sql('delete from ledger where seq = 1', 'update ledger set seq = 0 where seq = 2');
          expect((await verify()).kind).to.equal('broken');
          await tampering.undo();
          await tampering.sql('update ledger set seq = -4 where seq = 1');
          expect((await verify()).kind).to.equal('broken');
        });

        const altered: readonly (readonly [string, string])[] = [
          ['checkpoint_id', 'checkpoint_id + 50'],
          ['first_seq', 'first_seq + 1'],
          ['last_seq', 'last_seq - 1'],
          ['tree_size', 'tree_size + 1'],
          ['root_hash', `'${'0'.repeat(64)}'`],
          ['prev_checkpoint_hash', `'${'0'.repeat(64)}'`],
          ['prev_checkpoint_hash', 'null'],
          ['closed_at', kind.engine === 'sqlite' ? 'closed_at + 1000' : "closed_at + interval '1 millisecond'"],
          ...(kind.engine === 'sqlite'
            ? ([['closed_at', '9223372036854775807']] as const)
            : ([
                ['closed_at', "'infinity'"],
                ['closed_at', "'-infinity'"],
                ['closed_at', "'0044-03-15 BC'"],
                ['closed_at', "'290000-01-01'"],
              ] as const)),
          ['kid', "'another'"],
          ['signature', `'${'0'.repeat(128)}'`],
          ['signature', 'upper(signature)'],
          ['signature', "''"],
        ];
        for (const [column, value] of altered) {
          it(`finds a checkpoint whose ${column} was changed to ${value}`, async () => {
            for (const { checkpointId } of sealed) {
              if (column === 'prev_checkpoint_hash' && value === 'null' && checkpointId === 1) continue;
              const where = `where checkpoint_id = ${checkpointId}`;
              await tampering.sql(`update checkpoints set ${column} = ${value} ${where}`);
              expect((await verify()).kind, `checkpoint ${checkpointId}`).to.equal('broken');
              await tampering.undo();
            }
          });
        }

        it('finds that a checkpoint at the beginning or in the middle was removed', async () => {
          for (const { checkpointId } of sealed.slice(0, -1)) {
            await tampering.sql(`delete from checkpoints where checkpoint_id = ${checkpointId}`);
            const outcome = await verify();
            expect(outcome).to.deep.include({
              kind: 'broken',
              fault: { kind: 'id_not_contiguous', checkpointId: checkpointId + 1, expectedId: checkpointId },
            });
            await tampering.undo();
          }
        });

        it("finds a checkpoint that was signed again, with a foreign key or the service's own key", async () => {
          const forger = await makeSealingKey();
          const third = sealed[2];
          if (third === undefined) throw new Error('no third');
          const forged = { ...third, kid: forger.signer.kid };
          for (const [changed, signer, found] of [
            [forged, forger.signer, { kind: 'unknown_key', checkpointId: 3 }],
            [third, forger.signer, { kind: 'invalid_signature', checkpointId: 3 }],
            // The signature of the service's own key is valid, but the link of the next checkpoint is not.
            [{ ...third, closedAt: NOON }, key.signer, { kind: 'link_broken', checkpointId: 4 }],
          ] as const) {
            const signature = await signer.sign(canonicalCheckpoint(changed));
            const closed =
              kind.engine === 'sqlite' ? String(changed.closedAt) : `to_timestamp(${changed.closedAt / 1e6})`;
            await tampering.sql(
              `update checkpoints set kid = '${changed.kid}', closed_at = ${closed}, signature = '${signature}' where checkpoint_id = 3`,
            );
            const outcome = await verify();
            expect(outcome.kind === 'broken' && outcome.fault).to.include(found);
            await tampering.undo();
          }
        });

        it('finds that the last checkpoint was removed, but only with a mark', async () => {
          const end = sealed.at(-2)?.lastSeq;
          await tampering.sql(
            'delete from checkpoints where checkpoint_id = 6',
            `delete from ledger where seq > ${end}`,
          );
          // As the command does. A service whose database is open would notice that its newest record is gone.
          const reopened = await database.open({ clock: { now: () => NOON } });
          expect((await verify([], reopened)).kind).to.equal('intact');
          const outcome = await verify(sealed.slice(-1), reopened);
          await reopened.close();
          expect(outcome).to.deep.include({
            kind: 'broken',
            fault: { kind: 'mark_unmatched', checkpointId: 6, newestId: 5 },
          });
        });

        it('exits with 3 and names the first of several faults', async () => {
          await tampering.sql("update ledger set sponsor = 'eve' where seq = 20", 'delete from ledger where seq = 12');
          const { code, out } = await runMandate(['audit-verify'], settings);
          expect(code).to.equal(3);
          expect(out.split('\n')).to.deep.equal([
            'The seal is not intact. Checkpoint 3 sealed 5 records, but its range holds 4: records were deleted.',
            'Verified up to checkpoint 2: 2 checkpoints and 10 records.',
            `The last mark before the fault: ${sealed.slice(1, 2).map(formatMark)}`,
            '',
          ]);
        });
      });
    });
  });
}
