/** `audit-archive` on Postgres. The parts are in `audit-archive/`. */

import { EventEmitter, once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { LIMITS } from '../../adapters/storage/postgres/limits.ts';
import { archive } from '../../application/ledger/archive.ts';
import { verifyLedger } from '../../application/ledger/verify.ts';
import { fullEntry, seal } from '../support/ledger/fill.ts';
import { archivesOfSuite, FILES, NOW, partitions, SEPTEMBER, THIS_MONTH } from './audit-archive/archives.ts';
import { testCommandLine } from './audit-archive/command-line.ts';
import { testInterruptions } from './audit-archive/interrupted.ts';
import { testRefusals } from './audit-archive/refused.ts';

describe('audit-archive on Postgres', function () {
  this.timeout(60_000);
  const suite = archivesOfSuite();
  const { fixture, ageDrafts, expectAllArchived } = suite;

  it('exports and drops each month, and exports a checkpoint that spans two months with the earlier month', async () => {
    const made = await fixture();
    expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
    await expectAllArchived(made);
    expect(made.archived.map(({ month, checkpoints, records }) => [month, checkpoints, records])).to.deep.equal([
      ['2026-09', 2, 20],
      ['2026-10', 1, 5],
    ]);
  });

  it('records each export with its hash, and all that left before, in a record that is sealed before the month leaves', async () => {
    const { archiving, archived, storage, directory } = await fixture();
    const left: unknown[] = [];
    const { archives } = archiving;
    const remove: typeof archives.remove = async (departure) => {
      left.push([departure.month, (await storage.checkpoints.sealing(departure.recordedAs)).kind]);
      return archives.remove(departure);
    };
    await archive(THIS_MONTH, { ...archiving, archives: { ...archives, remove } });
    expect(left).to.deep.equal([
      ['2026-09', 'sealed'],
      ['2026-10', 'sealed'],
    ]);
    const said = (await storage.checkpoints.archivings()).filter(({ seq }) => seq > 28).reverse();
    expect(said.map(({ decision }) => decision)).to.deep.equal(['allow', 'allow']);
    const september = {
      checkpoints: { first: 1, last: 2 },
      sequence: { first: 1, last: 20 },
      sha256: archived[0]?.sha256,
    };
    expect(said.map(({ detail }) => JSON.parse(detail ?? ''))).to.deep.equal([
      { partition: 'ledger_2026_09', ...september, export: join(directory, FILES[0] ?? ''), before: [] },
      {
        partition: 'ledger_2026_10',
        checkpoints: { first: 3, last: 3 },
        sequence: { first: 21, last: 25 },
        export: join(directory, FILES[1] ?? ''),
        sha256: archived[1]?.sha256,
        before: [{ month: '2026-09', ...september }],
      },
    ]);
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
    const { key } = suite;
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

  testInterruptions(suite);
  testRefusals(suite);
  testCommandLine(suite);
});
