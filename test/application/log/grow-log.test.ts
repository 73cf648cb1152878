/** The log refuses to sign a tree that contradicts one that it signed. */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { readNoteSigner } from '../../../adapters/jose/log-key.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { BATCH } from '../../../application/log/chain-tail.ts';
import { type GrowOutcome, logGrowing } from '../../../application/log/grow-log.ts';
import { proveInLog } from '../../../application/log/prove-in-log.ts';
import type { LogGrowth, TransparencyLog } from '../../../application/ports/transparency-log.ts';
import { ED25519 } from '../../../domain/log/verifier-key.ts';
import { chainOf } from '../../support/ledger/chain.ts';
import { type LedgerFixture, ledgerFixture } from '../../support/ledger-fixture.ts';
import { pemOf } from '../../support/transparency-log.ts';

const ORIGIN = 'mandate.example/ledger';
const PEM = pemOf(generateKeyPairSync('ed25519').privateKey);

describe('The transparency log', () => {
  let fixture: LedgerFixture;
  let log: TransparencyLog;
  beforeEach(async () => {
    fixture = await ledgerFixture();
    log = fixture.storage.transparencyLog;
  });
  afterEach(() => fixture.close());

  /** A process with the key of the log. */
  async function process(
    changes: Partial<TransparencyLog> = {},
    name = ORIGIN,
    beforeExamined = async () => {},
  ): Promise<() => Promise<GrowOutcome>> {
    const read = await readNoteSigner(PEM, { hash: sha256Bytes, name, type: ED25519 });
    if (read.kind !== 'read') throw new Error(read.problem);
    const { checkpoints } = fixture.storage;
    const trusted = chainOf(checkpoints);
    const chain = { ...trusted, examine: () => beforeExamined().then(trusted.examine) };
    const grow = logGrowing({
      log: { ...log, ...changes },
      checkpoints,
      chain,
      signer: read.signer,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      hasWitnesses: false,
    });
    return () => grow();
  }

  const seal = async (count: number) => {
    for (let nth = 0; nth < count; nth += 1) await fixture.sealed(1);
  };
  const sql = (text: string) => fixture.withoutTriggers.exec(text);

  async function expectHalt(grow: () => Promise<GrowOutcome>, reason: RegExp): Promise<void> {
    const outcome = await grow();
    expect(outcome.kind === 'halted' ? outcome.reason : outcome.kind).to.match(reason);
    const { note, size } = (await log.state()) ?? {};
    await seal(1);
    expect((await grow()).kind).to.equal('halted');
    expect((await (await process())()).kind, 'a later process').to.equal('halted');
    expect(await log.state()).to.deep.include({ note, size });
  }

  it('adds all checkpoints, however many passes it takes, and signs nothing if there is none', async () => {
    const grow = await process();
    expect(await grow()).to.deep.equal({ kind: 'current', size: 0 });
    const empty = await log.state();
    expect(await grow()).to.deep.equal({ kind: 'current', size: 0 });
    expect(await log.state()).to.deep.equal(empty);
    await seal(BATCH + 1);
    expect(await grow()).to.deep.equal({ kind: 'current', size: BATCH + 1 });
    expect(await (await process())()).to.deep.equal({ kind: 'current', size: BATCH + 1 });
  }).timeout(120_000);

  it('halts if the database went back in time while the process ran', async () => {
    const grow = await process();
    await seal(2);
    await grow();
    const { published } = { ...(await log.state()) };
    await seal(1);
    await grow();
    sql('create table copy as select * from log_state');
    await seal(2);
    await grow();
    sql('delete from log_state; insert into log_state select * from copy');
    expect((await log.state())?.published?.size).to.equal(3);
    await expectHalt(grow, /^The database went back in time: its log has 3 leaves, and a log of 5 was signed\.$/);
    // Readers have seen five leaves: they do not get a note of three, which was not the last one, again.
    expect((await log.state())?.published).to.deep.equal(published);
  });

  it('halts if its tiles changed, or are missing', async () => {
    for (const change of ["update log_tiles set hashes = 'A' || substr(hashes, 2)", 'delete from log_tiles']) {
      await fixture.close();
      fixture = await ledgerFixture();
      log = fixture.storage.transparencyLog;
      const grow = await process();
      await seal(2);
      await grow();
      sql(change);
      await expectHalt(grow, /^The stored tiles no longer have the root that was signed\.$/);
    }
  });

  const changes: readonly (readonly [string, string, RegExp])[] = [
    [
      'was changed',
      "update checkpoints set kid = 'x' where checkpoint_id = 2",
      /^Checkpoint 2 is not the one that was/,
    ],
    ['is missing in the middle', 'delete from checkpoints where checkpoint_id = 2', /^Checkpoint 2 is missing\.$/],
    [
      'is missing at the end',
      'delete from checkpoints where checkpoint_id = 3',
      /^Checkpoint 3 is missing, and is in the log\.$/,
    ],
  ];
  for (const [what, change, reason] of changes) {
    it(`halts if a checkpoint of the last tile ${what}`, async () => {
      const grow = await process();
      await seal(3);
      await grow();
      sql(change);
      await expectHalt(grow, reason);
    });
  }

  it('halts if a new checkpoint is not the next one', async () => {
    const grow = await process();
    await seal(1);
    await grow();
    await seal(2);
    sql('delete from checkpoints where checkpoint_id = 2');
    await expectHalt(grow, /^Checkpoint 2 is missing\.$/);
  });

  it('halts if a new checkpoint is not the one that this process examined', async () => {
    // A holder of the real key can sign it, and put the true one back: every signature of these is believed.
    const grow = await process({}, ORIGIN, async () => sql('update checkpoints set closed_at = closed_at - 1000'));
    await seal(1);
    sql('update checkpoints set closed_at = closed_at + 1000');
    await expectHalt(grow, /^Checkpoint 1 was replaced while the log grew\.$/);
  });

  it('halts if a checkpoint of a later batch is replaced after the first batch was added', async () => {
    let growths = 0;
    const grow = await process({
      grow: async (growth: LogGrowth) => {
        const outcome = await log.grow(growth);
        growths += 1;
        // The second batch ends with it, so the batch alone has no link that contradicts it.
        if (growths === 1) sql('update checkpoints set closed_at = closed_at + 1000 where checkpoint_id = 1024');
        return outcome;
      },
    });
    await seal(1030);
    await expectHalt(grow, /^Checkpoint 1024 was replaced while the log grew\.$/);
    expect(growths).to.equal(1);
  }).timeout(120_000);

  it('halts if the last checkpoint of a full tile was changed, and a new one follows it', async () => {
    await seal(256);
    await (await process())();
    sql("update checkpoints set signature = 'other' where checkpoint_id = 256");
    await seal(1);
    await expectHalt(await process(), /^Checkpoint 256 is not the one that was logged\.$/);
  }).timeout(60_000);

  it('signs nothing under another name, until that name is adopted with the same tree', async () => {
    await seal(2);
    await (await process())();
    const before = await log.state();
    const renamed = await process({}, 'other.example');
    expect(await renamed()).to.deep.equal({ kind: 'other_origin', stored: ORIGIN });
    expect(await log.state()).to.deep.equal(before);
    await log.adoptOrigin('other.example');
    expect(await renamed()).to.deep.equal({ kind: 'current', size: 2 });
    const after = await log.state();
    expect([after?.size, after?.root]).to.deep.equal([before?.size, before?.root]);
    expect(after?.note).to.match(/^other\.example\n2\n/);
    expect(await (await process())()).to.deep.equal({ kind: 'other_origin', stored: 'other.example' });
  });

  it('stores no tree after another process stored one', async () => {
    let other = async () => {};
    const slow = await process({
      grow: async (growth: LogGrowth) => {
        await other();
        return log.grow(growth);
      },
    });
    await seal(2);
    other = async () => {
      other = async () => {};
      await (await process())();
    };
    expect((await slow()).kind).to.equal('overtaken');
    expect((await log.state())?.size).to.equal(2);
  });

  it('gives no proof with a path that does not lead to the root of the note', async () => {
    await seal(3);
    await (await process())();
    const published = (await log.state())?.published;
    const [, second] = await fixture.storage.checkpoints.page(0, 3);
    if (second === undefined) throw new Error('no checkpoint');
    const service = { log, hash: sha256Bytes };
    expect((await proveInLog(service, second, published)).kind).to.equal('proof');
    expect((await proveInLog(service, { ...second, kid: 'x' }, published)).kind).to.equal('broken');
    expect((await proveInLog(service, { ...second, checkpointId: 4 }, published)).kind).to.equal('not_logged');
    sql('delete from log_tiles');
    expect((await proveInLog(service, second, published)).kind).to.equal('broken');
  });
});
