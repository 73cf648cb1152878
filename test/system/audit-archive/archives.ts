import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { exportFolder, storedExport } from '../../../adapters/platform/export-folder.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { type OpenedArchives, openPostgresArchives } from '../../../adapters/storage/postgres/archives.ts';
import type { ArchivedMonth, Archiving } from '../../../application/ledger/archive.ts';
import { verifyLedger } from '../../../application/ledger/verify.ts';
import { verifyExport } from '../../../application/ledger/verify-export.ts';
import { type Instant, instantFromMillis } from '../../../domain/instant.ts';
import { parseRecord } from '../../../domain/ledger/archive-format.ts';
import { type Month, parseMonth } from '../../../domain/ledger/time-range.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { connectOutside, type FreshDatabase, freshDatabase, type OutsideConnection } from '../../support/databases.ts';
import { append, seal } from '../../support/ledger/fill.ts';
import { whileSealing as beside, sealRest } from '../../support/ledger/sealing-beside.ts';
import { makeSealingKey, type SealingKey } from '../../support/ledger/sealing-key.ts';
import type { Storage } from '../../support/storage.ts';

/** The test database has partitions for September to November 2026. */
export const SEPTEMBER = at('2026-09-17T10:00:00Z');

export const OCTOBER = at('2026-10-01T00:00:00Z');

export const NOVEMBER = at('2026-11-01T00:00:00Z');

export const NOW = at('2026-11-15T12:00:00Z');

export const THIS_MONTH = monthOf('2026-11');

export const FILES = ['audit-2026-09.service-archive.gz', 'audit-2026-10.service-archive.gz'];

function at(text: string): Instant {
  return instantFromMillis(Date.parse(text));
}

export function monthOf(text: string): Month {
  const month = parseMonth(text);
  if (month === undefined) throw new Error(text);
  return month;
}

export interface Fixture {
  readonly database: FreshDatabase;
  readonly storage: Storage;
  readonly owner: OutsideConnection;
  readonly opened: OpenedArchives;
  readonly directory: string;
  readonly archiving: Archiving;
  readonly archived: ArchivedMonth[];
  close(): Promise<void>;
}

export async function partitions(owner: OutsideConnection): Promise<readonly unknown[]> {
  const rows = await owner.sql(
    "select c.relname from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'ledger'::regclass order by 1",
  );
  return rows.map(({ relname }) => relname);
}

/** The ledgers are closed after each test of the surrounding suite, except those that are kept. */
export function archivesOfSuite() {
  let key: SealingKey;
  const open: Fixture[] = [];
  const lasting: Fixture[] = [];

  before(async () => {
    key = await makeSealingKey();
  });

  afterEach(async () => {
    for (const fixture of open.splice(0)) await fixture.close();
  });

  after(async () => {
    for (const fixture of lasting.splice(0)) await fixture.close();
  });

  /** Keeps a ledger for several tests that do not change it. */
  function keep(made: Fixture): Fixture {
    lasting.push(...open.splice(open.indexOf(made), 1));
    return made;
  }

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
      async untilSealed(isSealed) {
        if (!(await isSealed())) await sealRest(storage, key.signer, NOW);
        return isSealed();
      },
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

  const whileSealing = <Answer>({ storage }: Fixture, work: () => Promise<Answer>) =>
    beside(() => sealRest(storage, key.signer, NOW), work);

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
    const recorded = (await storage.checkpoints.archivings()).filter(({ seq }) => seq > 28).length;
    expect(outcome.counts).to.include({ archived: 3, records: 3 + recorded, unsealed: 0 });
  }

  return {
    get key() {
      return key;
    },
    emptyScene,
    fixture,
    keep,
    whileSealing,
    ageDrafts,
    expectAllArchived,
  };
}

export type Archives = ReturnType<typeof archivesOfSuite>;
