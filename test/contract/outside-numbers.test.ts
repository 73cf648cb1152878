/** Records with numbers that no checkpoint can seal, as only the owner of the database can insert them. */

import { expect } from 'chai';
import { checkpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { verifyLedger } from '../../application/ledger/verify.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { NUMBERS_BEYOND } from '../../application/ports/storage.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { describeLedgerFault } from '../../domain/ledger/log-fault.ts';
import { runCommand } from '../support/command-process.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { seal } from '../support/ledger/fill.ts';
import { startTampering, type Tampering, unkeyLedger } from '../support/ledger/tampering.ts';
import { newKeys } from '../support/ledger-fixture.ts';
import type { Storage } from '../support/storage.ts';
import { anEntry, ledgerOf } from './storage-fixtures.ts';

for (const database of databases) {
  describe(`a record of ${database.name} with a number that no checkpoint can seal`, () => {
    let fresh: FreshDatabase;
    let storage: Storage;
    let owner: OutsideConnection;
    let tampering: Tampering;
    let verify: () => Promise<unknown>;
    const open = () => fresh.open({ clock: { now: () => NOON } });
    const append = (count: number) =>
      Promise.all(Array.from({ length: count }, () => storage.ledger.append(anEntry('admin.denied'))));

    before(async () => {
      fresh = await database.fresh();
      storage = await open();
      const keys = await newKeys();
      await append(520);
      await seal(storage, keys.checkpoints, plusSeconds(NOON, 60));
      owner = await connectOutside(fresh, 'owner');
      tampering = await startTampering(owner, database.engine);
      verify = async () => {
        const verifier = checkpointVerifier(keys.published());
        const verdict = await verifyLedger({
          ledger: storage.checkpoints,
          verifier,
          hash: sha256Bytes,
          turn: eventLoopTurn,
        });
        return verdict.kind === 'broken' ? describeLedgerFault(verdict.fault) : verdict.kind;
      };
      expect(await verify()).to.equal('intact');
    });
    after(async () => {
      await owner.close();
      await storage.close();
      await fresh.drop();
    });
    afterEach(async () => {
      await tampering.undo();
      // A process that saw a record that is gone decides nothing more.
      await storage.close();
      storage = await open();
    });

    const insert = (seq: string) =>
      tampering.sql(
        `insert into ledger (seq, ts, event, sponsor, decision)
          select ${seq}, ts, 'token.issued', 'ceo', 'allow' from ledger where seq = 1`,
      );
    const said = (seq: string) => `The record with sequence number ${seq} lies outside of every checkpoint.`;

    for (const seq of [
      '-9223372036854775807',
      '-9007199254740995',
      '-5',
      '0',
      '9007199254740993',
      '9223372036854775807',
    ]) {
      it(`is found by audit-verify, with its exact number: ${seq}`, async () => {
        await insert(seq);
        expect(await verify()).to.equal(said(seq));
      });
    }

    it('is neither sealed nor read under another number, and the service says so', async () => {
      await insert('9007199254740993');
      const sealing = await storage.checkpoints.unsealed().catch((error: unknown) => String(error));
      expect(sealing).to.include('beyond 2^53 - 1');
      const { status, detail } = await storage.readiness.check();
      expect({ status, detail }).to.deep.equal({ status: 'Unhealthy', detail: NUMBERS_BEYOND });
      const { code, out } = await runCommand(['doctor'], fresh.settings);
      expect(code).to.equal(3);
      expect(out.replaceAll(/\s+/g, ' ')).to.include(NUMBERS_BEYOND);
      expect(await ledgerOf(storage).catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    });

    it('is not written: the ledger takes no number beyond the safe integers', async () => {
      const before = await ledgerOf(storage);
      const check = 'constraint ledger_number check (seq <= 9007199254740991)';
      await owner.sql(
        database.engine === 'sqlite'
          ? "update sqlite_sequence set seq = 9007199254740993 where name = 'ledger'"
          : `alter table ledger add ${check}`,
      );
      if (database.engine === 'postgres') await owner.sql("select setval('ledger_seq', 9007199254740993)");
      const failure = await append(1).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(StorageUnavailable);
      expect(await ledgerOf(storage)).to.deep.equal(before);
      expect(await storage.readiness.check()).to.deep.include({ status: 'Unhealthy' });
      expect((await storage.readiness.check()).detail).to.include('beyond 2^53 - 1');
    });

    it('or with the number of another one, at the end of a page, is found as well', async () => {
      if (database.engine === 'sqlite') await unkeyLedger(owner);
      else
        await owner.sql(
          "create table ledger_2026_08 partition of ledger for values from ('2026-08-01Z') to ('2026-09-01Z')",
        );
      const ts = database.engine === 'sqlite' ? 'ts' : "ts - interval '1 month'";
      await tampering.sql(
        `insert into ledger (seq, ts, event, sponsor, decision)
          select seq, ${ts}, 'token.issued', 'ceo', 'allow' from ledger where seq = 500`,
      );
      expect(await verify()).to.match(
        /^Two records have the sequence number 500: (?=.*admin\.denied of 2026-)(?=.*token\.issued of 2026-)/,
      );
    });
  });
}
