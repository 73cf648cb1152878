/** What `audit-archive` refuses, also while another run uses the directory. */

import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { exportFolder } from '../../../adapters/platform/export-folder.ts';
import { openPostgresArchives } from '../../../adapters/storage/postgres/archives.ts';
import { type Archiving, archive } from '../../../application/ledger/archive.ts';
import { ExportUnusable } from '../../../application/ports/exports.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { describeStop } from '../../../domain/ledger/archiving.ts';
import type { Month } from '../../../domain/ledger/time-range.ts';
import { capturedLog } from '../../support/captured-log.ts';
import type { OutsideConnection } from '../../support/databases.ts';
import { append, fullEntry, seal } from '../../support/ledger/fill.ts';
import type { Archives } from './archives.ts';
import { FILES, type Fixture, monthOf, NOW, partitions, SEPTEMBER, THIS_MONTH } from './archives.ts';

/** The owner of the tables can disable the triggers. */
async function tamper(owner: OutsideConnection, statement: string): Promise<void> {
  await owner.sql(`
    grant update, delete on ledger to current_user;
    alter table ledger disable trigger user;
    ${statement};
    alter table ledger enable trigger user`);
}

export function testRefusals(suite: Archives): void {
  const { emptyScene, fixture, keep, expectAllArchived } = suite;

  describe('refuses', () => {
    let kept: Fixture | undefined;
    /** For refusals that leave the ledger as it is, which each refusal expects. */
    async function unchanged(): Promise<Fixture> {
      kept ??= keep(await fixture());
      return kept;
    }

    async function refusal(made: Fixture, before: Month, changes: Partial<Archiving> = {}) {
      const partitionsBefore = await partitions(made.owner);
      const { stop } = await archive(before, { ...made.archiving, ...changes });
      expect(await partitions(made.owner)).to.deep.equal(partitionsBefore);
      return stop;
    }

    it('a cutoff later than the current month', async () => {
      expect(await refusal(await unchanged(), monthOf('2026-12'))).to.include({ kind: 'after_current_month' });
    });

    for (const ahead of [31, -31]) {
      it(`any month while the database's clock is ${ahead} seconds ahead`, async () => {
        const made = await unchanged();
        const time = plusSeconds(NOW, ahead);
        const stop = await refusal(made, THIS_MONTH, {
          archives: { ...made.archiving.archives, databaseTime: async () => time },
        });
        expect(stop).to.deep.equal({ kind: 'clocks_disagree', ahead });
        expect(stop && describeStop(stop)).to.equal(
          `The database's clock is 31 seconds ${ahead > 0 ? 'ahead of' : 'behind'} this machine's. No month is removed until both agree: have both machines keep their time by NTP.`,
        );
      });
    }

    it('a month whose record is not sealed in time, and archives it once the record is sealed', async () => {
      const { key } = suite;
      const made = await fixture();
      const stop = await refusal(made, THIS_MONTH, { untilSealed: async (isSealed) => isSealed() });
      expect(stop).to.deep.equal({ kind: 'record_not_sealed', month: '2026-09' });
      const [record] = await made.storage.checkpoints.archivings();
      expect(record?.checkpoint).to.equal(undefined);
      await seal(made.storage, key.signer, NOW);
      await refusal(made, monthOf('2026-10'), {
        archives: { ...made.archiving.archives, remove: async () => 'locked' },
      });
      expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
      expect((await made.storage.checkpoints.archivings())[1]).to.deep.equal({ ...record, checkpoint: 5 });
      await expectAllArchived(made);
    });

    it('a month whose record would leave with it, or is not sealed', async () => {
      const made = await fixture();
      const { archives } = made.archiving;
      const range = { firstCheckpoint: 1, lastCheckpoint: 2, firstSeq: 1, lastSeq: 20 };
      const before = await archives.exported();
      const held = await partitions(made.owner);
      await archives.record(fullEntry(0, NOW));
      await archives.record({ at: NOW, event: 'audit.archived', decision: 'allow' });
      for (const recordedAs of [1, 4, 20, 27, 29, 30, 31]) {
        const departure = { month: monthOf('2026-09'), at: NOW, before, range, recordedAs };
        expect(await archives.remove(departure), String(recordedAs)).to.equal('unrecorded');
      }
      expect(await partitions(made.owner)).to.deep.equal(held);
    });

    it('a month with an altered record', async () => {
      const made = await fixture();
      await tamper(made.owner, "update ledger set sponsor = 'eve' where seq = 4");
      expect(await refusal(made, THIS_MONTH)).to.deep.include({
        kind: 'not_intact',
        fault: { kind: 'root_mismatch', checkpointId: 1 },
      });
      expect(readdirSync(made.directory)).to.deep.equal([]);
    });

    it('a month of which a record was deleted from the checkpoint that ledger_archives names', async () => {
      const made = await fixture();
      await tamper(made.owner, 'delete from ledger where seq = 11');
      const row = (month: string, before: string) =>
        made.owner.sql(
          `insert into ledger_archives
              (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
            select '${month}', '${before}', now(), 1, 2, 1, last_seq from checkpoints where checkpoint_id = 2`,
        );
      await row('2020-01', '2020-02-01Z');
      expect(await refusal(made, THIS_MONTH)).to.deep.include({
        kind: 'not_intact',
        fault: { kind: 'tree_size', checkpointId: 2, sealed: 10, held: 9 },
      });
      await row('2020-02', '2026-10-01Z');
      expect(await refusal(made, THIS_MONTH)).to.have.property('kind', 'not_intact');
    });

    it('a month if ledger_archives lists, as exported with another month, whole checkpoints of the month', async () => {
      const { key } = suite;
      const made = await emptyScene();
      await append(made.storage, 4, SEPTEMBER);
      await seal(made.storage, key.signer, SEPTEMBER);
      await append(made.storage, 4, SEPTEMBER, 4);
      await seal(made.storage, key.signer, SEPTEMBER);
      await made.owner.sql(
        `insert into ledger_archives
            (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
          select '2020-01', '2020-02-01Z', now(), 1, 2, 1, max(last_seq) from checkpoints`,
      );
      expect(await refusal(made, THIS_MONTH)).to.deep.equal({ kind: 'not_exported', month: '2026-09' });
      expect(readdirSync(made.directory)).to.deep.equal([]);
    });

    it('a run while another audit-archive runs', async () => {
      const made = await unchanged();
      const other = await openPostgresArchives(
        made.database.settings['Service:Database:MigrationConnectionString'] ?? '',
        capturedLog(),
      );
      const answer = await other.archives.exclusively(() => refusal(made, THIS_MONTH));
      expect(answer).to.deep.equal({ answer: { kind: 'busy' } });
      await other.close();
    });

    it('a month with records that the sink has not received yet', async () => {
      const made = await fixture();
      await made.owner.sql('update outbox_queueing set queueing = true; insert into outbox values (3, now(), 2)');
      expect(await refusal(made, THIS_MONTH)).to.deep.equal({ kind: 'undelivered', month: '2026-09' });
      expect(readdirSync(made.directory)).to.deep.equal([]);
    });

    it('a directory that does not exist, and a file in place of a directory', async () => {
      const made = await unchanged();
      for (const [path, problem] of [
        [join(made.directory, 'none'), 'missing'],
        [join(made.directory, 'file'), 'not_a_directory'],
      ] as const) {
        writeFileSync(join(made.directory, 'file'), '');
        const error = await archive(THIS_MONTH, { ...made.archiving, folder: exportFolder(path) }).catch((e) => e);
        expect(error).to.be.instanceOf(ExportUnusable).with.property('problem', problem);
      }
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
    });
  });

  describe('while another run uses the directory', () => {
    it('publishes nothing and keeps the month if the verified draft was replaced', async () => {
      const made = await fixture();
      const { folder } = made.archiving;
      const draft: typeof folder.draft = async (month, lines) => {
        const written = await folder.draft(month, lines);
        const publish: typeof written.publish = async () => {
          const path = join(made.directory, 'another');
          writeFileSync(path, 'the export of another database');
          renameSync(path, written.location);
          return written.publish();
        };
        return { ...written, publish };
      };
      const error = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } }).catch((e) => e);
      expect(error).to.be.instanceOf(ExportUnusable).with.property('problem', 'replaced');
      expect(readdirSync(made.directory)).not.to.include(FILES[0]);
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
      expect(await made.owner.sql("select 1 from ledger where event = 'audit.archived' and seq > 28")).to.deep.equal(
        [],
      );
    });
  });
}
