/** `mandate audit-archive` archives months of a real Postgres (specification "Ledger and seal"). */

import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { exportFolder, storedExport } from '../../adapters/platform/export-folder.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type OpenedArchives, openPostgresArchives } from '../../adapters/storage/postgres/archives.ts';
import { LIMITS } from '../../adapters/storage/postgres/limits.ts';
import { type ArchivedMonth, type Archiving, archive } from '../../application/ledger/archive.ts';
import { verifyLedger } from '../../application/ledger/verify.ts';
import { verifyExport } from '../../application/ledger/verify-export.ts';
import { ExportUnusable, type OpenExport } from '../../application/ports/exports.ts';
import { type Instant, instantFromMillis, plusSeconds } from '../../domain/instant.ts';
import { parseRecord } from '../../domain/ledger/archive-format.ts';
import { describeStop } from '../../domain/ledger/archiving.ts';
import { formatMark } from '../../domain/ledger/checkpoint.ts';
import { type Month, parseMonth } from '../../domain/ledger/time-range.ts';
import { capturedLog } from '../support/captured-log.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, type FreshDatabase, freshDatabase, type OutsideConnection } from '../support/databases.ts';
import { append, fullEntry, seal } from '../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { byLength } from '../support/length.ts';
import type { Storage } from '../support/storage.ts';

/** The test database has partitions for September to November 2026. */
const SEPTEMBER = at('2026-09-17T10:00:00Z');
const OCTOBER = at('2026-10-01T00:00:00Z');
const NOVEMBER = at('2026-11-01T00:00:00Z');
const NOW = at('2026-11-15T12:00:00Z');
const THIS_MONTH = monthOf('2026-11');
/** The times at which runs are killed, relative to the duration of a run that archives nothing. */
const KILLED_AT = byLength({ short: [0.9, 1.1], full: [0.6, 0.8, 0.9, 1, 1.1, 1.2] });
const FILES = ['audit-2026-09.service-archive.gz', 'audit-2026-10.service-archive.gz'];

function at(text: string): Instant {
  return instantFromMillis(Date.parse(text));
}

function monthOf(text: string): Month {
  const month = parseMonth(text);
  if (month === undefined) throw new Error(text);
  return month;
}

interface Fixture {
  readonly database: FreshDatabase;
  readonly storage: Storage;
  readonly owner: OutsideConnection;
  readonly opened: OpenedArchives;
  readonly directory: string;
  readonly archiving: Archiving;
  readonly archived: ArchivedMonth[];
  close(): Promise<void>;
}

describe('audit-archive on Postgres', function () {
  this.timeout(60_000);
  let key: SealingKey;
  const open: Fixture[] = [];
  before(async () => {
    key = await makeSealingKey();
  });
  afterEach(async () => {
    for (const fixture of open.splice(0)) await fixture.close();
  });

  async function emptyScene(): Promise<Fixture> {
    const database = await freshDatabase('postgres');
    const storage = await database.open({ clock: { now: () => NOW } });
    const owner = await connectOutside(database, 'owner');
    const connection = database.settings['Service:Database:MigrationConnectionString'] ?? '';
    const opened = await openPostgresArchives(connection, capturedLog());
    const directory = mkdtempSync(join(tmpdir(), 'mandate-archive-'));
    const archived: ArchivedMonth[] = [];
    const archiving: Archiving = {
      archives: { ...opened.archives, databaseTime: async () => NOW },
      checkpoints: opened.checkpoints,
      folder: exportFolder(directory),
      verifier: key.verifier,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      clock: { now: () => NOW },
      archived: (month) => archived.push(month),
    };
    const fixture: Fixture = {
      database,
      storage,
      owner,
      opened,
      directory,
      archiving,
      archived,
      async close() {
        await owner.close();
        await opened.close();
        await storage.close();
        await database.drop();
        rmSync(directory, { recursive: true, force: true });
      },
    };
    open.push(fixture);
    return fixture;
  }

  /** Makes four checkpoints. The second one has records of September and October. */
  async function fixture(): Promise<Fixture> {
    const made = await emptyScene();
    const { storage } = made;
    await append(storage, 10, SEPTEMBER);
    await seal(storage, key.signer, SEPTEMBER);
    await append(storage, 5, SEPTEMBER, 10);
    await append(storage, 5, OCTOBER, 15);
    await seal(storage, key.signer, OCTOBER);
    await append(storage, 5, OCTOBER, 20);
    await seal(storage, key.signer, NOVEMBER);
    await append(storage, 3, NOVEMBER, 25);
    await seal(storage, key.signer, NOVEMBER);
    return made;
  }

  /** Makes the drafts of interrupted runs two days old. */
  function ageDrafts({ directory }: Fixture): void {
    const then = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000);
    for (const name of readdirSync(directory)) {
      if (name.endsWith('.partial')) utimesSync(join(directory, name), then, then);
    }
  }

  async function expectAllArchived({ directory, storage, owner, archiving }: Fixture): Promise<void> {
    expect(readdirSync(directory)).to.deep.equal(FILES);
    const seqs: number[] = [];
    for (const file of FILES) {
      const path = join(directory, file);
      expect(await verifyExport(storedExport(path), archiving)).to.include({ kind: 'intact' });
      const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n');
      const checkpoints = Number(lines[0]?.split('\t')[3]);
      for (const line of lines.slice(1 + checkpoints)) seqs.push(parseRecord(line)?.seq ?? Number.NaN);
    }
    expect(seqs).to.deep.equal(Array.from({ length: 25 }, (_, index) => index + 1));
    expect(await partitions(owner)).not.to.include.members(['ledger_2026_09']);
    expect(await partitions(owner)).not.to.include.members(['ledger_2026_10']);
    const outcome = await verifyLedger({ ...archiving, ledger: storage.checkpoints });
    expect(outcome).to.deep.include({ kind: 'intact' });
    expect(outcome.counts).to.include({ checkpoints: 4, archived: 3, records: 3 });
  }

  it('exports and drops each month, and exports a checkpoint that spans two months with the earlier month', async () => {
    const made = await fixture();
    expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
    await expectAllArchived(made);
    expect(made.archived.map(({ month, checkpoints, records }) => [month, checkpoints, records])).to.deep.equal([
      ['2026-09', 2, 20],
      ['2026-10', 1, 5],
    ]);
  });

  it('records each export with its hash, and names the last archived record in GET /audit', async () => {
    const { archiving, archived, storage, directory } = await fixture();
    await archive(THIS_MONTH, archiving);
    const page = await storage.ledger.page({ limit: 100, now: NOW });
    expect(page.archivedBefore).to.equal(NOVEMBER);
    const said = page.records.filter(({ event }) => event === 'audit.archived').slice(-2);
    expect(said.map(({ decision }) => decision)).to.deep.equal(['allow', 'allow']);
    expect(said.map(({ detail }) => JSON.parse(detail ?? ''))).to.deep.equal([
      {
        partition: 'ledger_2026_09',
        checkpoints: { first: 1, last: 2 },
        sequence: { first: 1, last: 20 },
        export: join(directory, FILES[0] ?? ''),
        sha256: archived[0]?.sha256,
      },
      {
        partition: 'ledger_2026_10',
        checkpoints: { first: 3, last: 3 },
        sequence: { first: 21, last: 25 },
        export: join(directory, FILES[1] ?? ''),
        sha256: archived[1]?.sha256,
      },
    ]);
    expect(await storage.checkpoints.sealing(3)).to.include({ kind: 'archived' });
    expect(await storage.checkpoints.sealing(27)).to.include({ kind: 'sealed' });
  });

  it('exports an empty month with no checkpoint and drops it', async () => {
    const { archiving, directory, storage, owner } = await emptyScene();
    await append(storage, 3, NOVEMBER);
    await seal(storage, key.signer, NOVEMBER);
    expect(await archive(monthOf('2026-10'), archiving)).to.deep.equal({ months: 1, stop: undefined });
    expect(gunzipSync(readFileSync(join(directory, FILES[0] ?? ''))).toString()).to.equal(
      'service-archive\t1\t2026-09\t0\t0\n',
    );
    expect(await partitions(owner)).not.to.include('ledger_2026_09');
    expect((await verifyLedger({ ...archiving, ledger: storage.checkpoints })).kind).to.equal('intact');
  });

  it("exports no record twice if the earlier month's export already has the checkpoints of a month", async () => {
    const { archiving, archived, storage } = await emptyScene();
    await append(storage, 3, SEPTEMBER);
    await append(storage, 3, OCTOBER, 3);
    await append(storage, 3, NOVEMBER, 6);
    await seal(storage, key.signer, NOVEMBER);
    expect(await archive(THIS_MONTH, archiving)).to.deep.equal({ months: 2, stop: undefined });
    expect(archived.map(({ checkpoints, records }) => [checkpoints, records])).to.deep.equal([
      [1, 9],
      [0, 0],
    ]);
    const outcome = await verifyLedger({ ...archiving, ledger: storage.checkpoints });
    expect(outcome.kind).to.equal('intact');
    // The records of November stay until November is archived.
    expect((await storage.ledger.page({ limit: 100, now: NOW })).records.map(({ seq }) => seq)).to.include.members([
      7, 8, 9,
    ]);
  });

  describe('after an interruption', () => {
    type Step = 'prepare' | 'find' | 'draft' | 'publish' | 'sha256' | 'remove' | 'exported';
    class Interrupted extends Error {}

    /** Lets call number `nth` of a step fail, before or after it has its effect. */
    function interrupted(archiving: Archiving, step: Step, when: 'before' | 'after', nth: number): Archiving {
      let calls = 0;
      const wrap =
        <Given extends unknown[], Answer>(name: Step, work: (...given: Given) => Promise<Answer>) =>
        async (...given: Given): Promise<Answer> => {
          const fails = name === step && ++calls === nth;
          if (fails && when === 'before') throw new Interrupted();
          const answer = await work(...given);
          if (!fails) return answer;
          // The end of a process closes its files.
          if (typeof answer === 'object' && answer !== null && 'close' in answer)
            await (answer as unknown as OpenExport).close();
          throw new Interrupted();
        };
      const { folder, archives } = archiving;
      return {
        ...archiving,
        folder: {
          prepare: wrap('prepare', folder.prepare),
          find: wrap('find', folder.find),
          draft: wrap('draft', async (month, lines) => {
            const draft = await folder.draft(month, lines);
            return { ...draft, publish: wrap('publish', draft.publish) };
          }),
          withdraw: folder.withdraw,
        },
        archives: {
          exclusively: archives.exclusively,
          databaseTime: archives.databaseTime,
          heldBefore: archives.heldBefore,
          exported: wrap('exported', archives.exported),
          remove: wrap('remove', archives.remove),
        },
      };
    }

    for (const step of ['prepare', 'find', 'draft', 'publish', 'remove', 'exported'] as const) {
      for (const when of ['before', 'after'] as const) {
        it(`archives every record once if earlier runs failed ${when} the step "${step}"`, async () => {
          const made = await fixture();
          for (const nth of [1, 2]) {
            const run = interrupted(made.archiving, step, when, nth);
            await archive(THIS_MONTH, run).then(
              ({ stop }) => expect(stop).to.equal(undefined),
              (error) => expect(error).to.be.instanceOf(Interrupted),
            );
            const there = await made.owner.sql('select count(*)::integer as held from ledger where seq <= 20');
            const left = await partitions(made.owner);
            // Five records of the second checkpoint are in October.
            const expected = left.includes('ledger_2026_09') ? 20 : left.includes('ledger_2026_10') ? 5 : 0;
            expect(there[0]?.held).to.equal(expected);
          }
          ageDrafts(made);
          const last = await archive(THIS_MONTH, made.archiving);
          expect(last.stop && describeStop(last.stop)).to.equal(undefined);
          await expectAllArchived(made);
          const events = await made.owner.sql("select detail from ledger where event = 'audit.archived' and seq > 28");
          expect(events).to.have.length(2);
        });
      }
    }

    it('archives every record once, whenever earlier runs were killed', async function () {
      this.timeout(120_000);
      const made = await fixture();
      const settings = { ...made.database.settings, 'Service:Signing:Keys:0:Pem': key.pem };
      const line = ['audit-archive', '--before', '2026-11', '--to', made.directory];
      // How long a run takes to start depends on the machine.
      const began = performance.now();
      await runMandate(['audit-archive', '--before', '2026-01', '--to', made.directory], settings);
      const usual = performance.now() - began;
      for (const share of KILLED_AT) {
        const { child, ended } = startCommand(line, settings);
        const timer = setTimeout(() => child.kill('SIGKILL'), usual * share);
        await ended;
        clearTimeout(timer);
      }
      ageDrafts(made);
      // Postgres may not have closed the session of the last killed run yet.
      let end = await runMandate(line, settings);
      for (let tries = 0; end.err.includes('Another audit-archive') && tries < 20; tries += 1) {
        end = await runMandate(line, settings);
      }
      expect(end.code, end.err).to.equal(0);
      await expectAllArchived(made);
    });
  });

  describe('if a file with the name of the export exists', () => {
    async function standing(): Promise<{ made: Fixture; path: string; text: string }> {
      const made = await fixture();
      const { archiving } = made;
      const dying = { ...archiving.archives, remove: () => Promise.reject(new Error('gone')) };
      await archive(THIS_MONTH, { ...archiving, archives: dying }).catch(() => undefined);
      const path = join(made.directory, FILES[0] ?? '');
      return { made, path, text: gunzipSync(readFileSync(path)).toString() };
    }

    const alterations: readonly (readonly [string, (text: string) => Buffer])[] = [
      ['is truncated', (text) => gzipSync(text).subarray(0, -20)],
      ['is not compressed', (text) => Buffer.from(text)],
      ['is empty', () => Buffer.alloc(0)],
      ['lacks a record', (text) => gzipSync(`${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`)],
      ['has an altered record', (text) => gzipSync(text.replace('agent-7', 'agent-8'))],
      [
        'has a timestamp that was altered below the millisecond, which no seal covers',
        (text) => gzipSync(text.replace(/\d(Z\t[a-z]+\.)/, '9$1')),
      ],
      ['is of another month', (text) => gzipSync(text.replace('2026-09', '2026-08'))],
      ['has no checkpoint', () => gzipSync('service-archive\t1\t2026-09\t0\t0\n')],
      ['has bytes after its end', (text) => Buffer.concat([gzipSync(text), Buffer.alloc(512)])],
    ];
    for (const [title, alter] of alterations) {
      it(`refuses an existing file that ${title}, names its path and drops no partition`, async () => {
        const { made, path, text } = await standing();
        const altered = alter(text);
        writeFileSync(path, altered);
        const { months, stop } = await archive(THIS_MONTH, made.archiving);
        expect(months).to.equal(0);
        expect(stop).to.include({ kind: 'export_differs', location: path });
        expect(readFileSync(path).equals(altered), 'never overwritten').to.equal(true);
        expect(await partitions(made.owner)).to.include('ledger_2026_09');
      });
    }

    it('accepts an existing file with the same export', async () => {
      const { made, path, text } = await standing();
      // The same export, compressed in another way.
      writeFileSync(path, gzipSync(text, { level: 1 }));
      expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
      await expectAllArchived(made);
    });

    it('does not overwrite a file that another process creates during the export', async () => {
      const made = await fixture();
      const { folder } = made.archiving;
      const path = join(made.directory, FILES[0] ?? '');
      const draft: typeof folder.draft = async (month, lines) => {
        const written = await folder.draft(month, lines);
        writeFileSync(path, 'somebody else');
        return written;
      };
      const { stop } = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } });
      expect(stop).to.include({ kind: 'export_differs', location: path });
      expect(readFileSync(path, 'utf8')).to.equal('somebody else');
      expect(readdirSync(made.directory)).to.have.length(1);
    });
  });

  it('deletes an export that it cannot read back, and drops no partition', async () => {
    const made = await fixture();
    const { folder } = made.archiving;
    const draft: typeof folder.draft = async (month, lines) => {
      const written = await folder.draft(month, lines);
      writeFileSync(written.location, readFileSync(written.location).subarray(0, -30));
      return written;
    };
    const { stop } = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } });
    expect(stop?.kind).to.equal('read_back');
    expect(readdirSync(made.directory)).to.deep.equal([]);
    expect(await partitions(made.owner)).to.include('ledger_2026_09');
  });

  it('keeps a partition that gets a record during the export, and archives it in a later run', async () => {
    const made = await fixture();
    const { archives } = made.archiving;
    const remove: typeof archives.remove = async (departure) => {
      await made.storage.ledger.append(fullEntry(99, SEPTEMBER));
      return archives.remove(departure);
    };
    const { stop } = await archive(THIS_MONTH, { ...made.archiving, archives: { ...archives, remove } });
    expect(stop?.kind).to.equal('gained');
    expect(await partitions(made.owner)).to.include('ledger_2026_09');
    expect(readdirSync(made.directory)).to.deep.equal([]);
    expect((await archive(THIS_MONTH, made.archiving)).stop?.kind).to.equal('not_sealed');
    await seal(made.storage, key.signer, NOW);
    expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
    expect((await verifyLedger({ ...made.archiving, ledger: made.storage.checkpoints })).kind).to.equal('intact');
  });

  it('waits for a transaction that reads the ledger, and does not delay appends', async function () {
    // Retries, because a busy machine may exceed the time limit.
    this.retries(2);
    const made = await fixture();
    await made.owner.sql('begin; select 1 from ledger limit 1');
    // This connection has the time limits of requests.
    const requests = await made.database.open({ clock: { now: () => NOW }, limits: LIMITS });
    const { archives } = made.archiving;
    const waits = new EventEmitter();
    const remove: typeof archives.remove = (departure) => {
      waits.emit('begun');
      return archives.remove(departure);
    };
    let isReleased = false;
    const released = once(waits, 'begun').then(async () => {
      await pause(2_600);
      await made.owner.sql('commit');
      isReleased = true;
    });
    const leaving = archive(THIS_MONTH, { ...made.archiving, archives: { ...archives, remove } });
    // The archive waits at most one second for its lock. An append that waits behind it would fail after two.
    const failures: unknown[] = [];
    for (let index = 0; !isReleased; index += 1) {
      const entry = fullEntry(200 + index, NOW);
      await requests.ledger.append(entry).catch((error: unknown) => failures.push(error));
      await pause(50);
    }
    await released;
    const outcome = await leaving;
    await requests.close();
    expect(outcome).to.deep.equal({ months: 2, stop: undefined });
    expect(failures).to.deep.equal([]);
  });

  describe('refuses', () => {
    async function refusal(made: Fixture, before: Month, changes: Partial<Archiving> = {}) {
      const partitionsBefore = await partitions(made.owner);
      const { stop } = await archive(before, { ...made.archiving, ...changes });
      expect(await partitions(made.owner)).to.deep.equal(partitionsBefore);
      return stop;
    }

    it('a cutoff later than the current month', async () => {
      expect(await refusal(await fixture(), monthOf('2026-12'))).to.include({ kind: 'after_current_month' });
    });

    for (const ahead of [31, -31]) {
      it(`any month while the database's clock is ${ahead} seconds ahead`, async () => {
        const made = await fixture();
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

    it('the month that has just begun by this clock, but not by the database’s', async () => {
      const made = await fixture();
      const clock = { now: () => plusSeconds(NOVEMBER, 10) };
      const archives = { ...made.archiving.archives, databaseTime: async () => plusSeconds(NOVEMBER, -10) };
      const stop = await refusal(made, THIS_MONTH, { clock, archives });
      expect(stop).to.deep.equal({ kind: 'after_current_month', before: THIS_MONTH });
    });

    it('a month with an unsealed record', async () => {
      const made = await fixture();
      await append(made.storage, 1, SEPTEMBER, 90);
      expect(await refusal(made, THIS_MONTH)).to.deep.equal({ kind: 'not_sealed', month: '2026-09' });
    });

    it('a later month with an unsealed record, after archiving the earlier months', async () => {
      const made = await fixture();
      await append(made.storage, 1, OCTOBER, 90);
      expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({
        months: 1,
        stop: { kind: 'not_sealed', month: '2026-10' },
      });
      expect(readdirSync(made.directory)).to.deep.equal(FILES.slice(0, 1));
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
      expect(await refusal(made, THIS_MONTH)).to.deep.equal({ kind: 'not_exported', month: '2026-09' });
    });

    for (const [what, row] of [
      ['whole checkpoints of the month', '1, 2, 1, max(last_seq)'],
      ['one checkpoint, whose records are all still there', '1, 1, 1, min(last_seq)'],
      ['checkpoints without their numbers', '1, max(1), null, null'],
      ['numbers without their checkpoints', 'null, null, 1, max(last_seq)'],
    ]) {
      it(`a month of which ledger_archives lists as exported with another month: ${what}`, async () => {
        const made = await emptyScene();
        await append(made.storage, 4, SEPTEMBER);
        await seal(made.storage, key.signer, SEPTEMBER);
        await append(made.storage, 4, SEPTEMBER, 4);
        await seal(made.storage, key.signer, SEPTEMBER);
        await made.owner.sql(
          `insert into ledger_archives
              (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
            select '2020-01', '2020-02-01Z', now(), ${row} from checkpoints`,
        );
        expect(await refusal(made, THIS_MONTH)).to.deep.equal({ kind: 'not_exported', month: '2026-09' });
        expect(readdirSync(made.directory)).to.deep.equal([]);
      });
    }

    it('a run while another audit-archive runs', async () => {
      const made = await fixture();
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
      const made = await fixture();
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

  it('removes the drafts of interrupted runs, and no other file', async () => {
    const made = await fixture();
    const drafts = [`${FILES[0]}.partial`, `${FILES[0]}.0123456789abcdef.partial`];
    const others = ['audit-2026-09.service-archive.gz.partial.txt', 'notes.partial'];
    for (const name of [...drafts, ...others]) writeFileSync(join(made.directory, name), 'x');
    ageDrafts(made);
    const young = `${FILES[0]}.fedcba9876543210.partial`;
    writeFileSync(join(made.directory, young), 'of a run under way');
    mkdirSync(join(made.directory, 'folder'));
    await archive(THIS_MONTH, made.archiving);
    expect(readdirSync(made.directory)).to.have.members([...FILES, ...others, young, 'folder']);
  });

  describe('while another run uses the directory', () => {
    async function* otherLines() {
      yield ['the export of another database'];
    }

    it('publishes its own draft, not the one that the other run begins after the verification', async () => {
      const made = await fixture();
      const { folder } = made.archiving;
      const other = exportFolder(made.directory);
      const draft: typeof folder.draft = async (month, lines) => {
        const written = await folder.draft(month, lines);
        const publish: typeof written.publish = async () => {
          await other.prepare();
          await (await other.draft(month, otherLines())).close();
          return written.publish();
        };
        return { ...written, publish };
      };
      const outcome = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } });
      expect(outcome).to.deep.equal({ months: 2, stop: undefined });
      ageDrafts(made);
      await other.prepare();
      await expectAllArchived(made);
    });

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

    it('keeps the month if the verified export loses its name to another file', async () => {
      const made = await fixture();
      const { folder } = made.archiving;
      const path = join(made.directory, FILES[0] ?? '');
      const draft: typeof folder.draft = async (month, lines) => {
        const written = await folder.draft(month, lines);
        const publish: typeof written.publish = async () => {
          const published = await written.publish();
          rmSync(path);
          writeFileSync(path, 'the export of another database');
          return published;
        };
        return { ...written, publish };
      };
      const error = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } }).catch((e) => e);
      expect(error).to.be.instanceOf(ExportUnusable).with.property('problem', 'replaced');
      expect(await partitions(made.owner)).to.include('ledger_2026_09');
    });
  });

  describe('on the command line', () => {
    const settingsOf = (made: Fixture) => ({ ...made.database.settings, 'Service:Signing:Keys:0:Pem': key.pem });
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
      const first = await runMandate(lineOf(made), settingsOf(made));
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
      const { code, out, err } = await runMandate(line, settingsOf(made));
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

    it('writes exports for which audit-verify exits with 3 if a signature is altered', async () => {
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
      const end = await runMandate(line, settings);
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
});

async function partitions(owner: OutsideConnection): Promise<readonly unknown[]> {
  const rows = await owner.sql(
    "select c.relname from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'ledger'::regclass order by 1",
  );
  return rows.map(({ relname }) => relname);
}

/** The owner of the tables can disable the triggers. */
async function tamper(owner: OutsideConnection, statement: string): Promise<void> {
  await owner.sql(`
    grant update, delete on ledger to current_user;
    alter table ledger disable trigger user;
    ${statement};
    alter table ledger enable trigger user`);
}
