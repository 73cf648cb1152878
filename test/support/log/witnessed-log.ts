/** A growing log, and the witnesses that a test starts and asks. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { newNoteKey, readNoteSigner, verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { httpWitnesses } from '../../../adapters/outbound/http-witnesses.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { logGrowing } from '../../../application/log/grow-log.ts';
import { logWitnessing, type Witnessing } from '../../../application/log/witnessing.ts';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import type { LogWitness } from '../../../application/ports/log-witnesses.ts';
import { ED25519, formatVerifierKey, parseVerifierKey } from '../../../domain/log/verifier-key.ts';
import { capturedLog } from '../captured-log.ts';
import { chainOf } from '../ledger/chain.ts';
import { type LedgerFixture, ledgerFixture } from '../ledger-fixture.ts';
import { agreeing, movedClock } from '../moved-clock.ts';
import { openThreadless, type ThreadlessSqlite } from '../threadless-sqlite.ts';
import { type ServedWitness, servedWitness } from './served-witness.ts';
import { cosignedAt } from './written-log.ts';

const ORIGIN = 'mandate.test/ledger';
/** Far more than a request takes. A witness that never answers is waited for this long. */
export const PATIENCE_MS = 2_000;

/** What is used of a storage. */
type Storage = Pick<ThreadlessSqlite, 'transparencyLog' | 'checkpoints'>;

interface Logged {
  fixture: LedgerFixture;
  folder: string;
  signer: NoteSigner;
}

export function witnessedLogForEachTest() {
  const logged = {} as Logged;
  const all: ServedWitness[] = [];
  const opened: ThreadlessSqlite[] = [];
  const clock = movedClock();

  before(async () => {
    const pem = newNoteKey().reveal();
    const read = await readNoteSigner(pem, { hash: sha256Bytes, name: ORIGIN, type: ED25519 });
    if (read.kind !== 'read') throw new Error(read.problem);
    logged.signer = read.signer;
  });
  beforeEach(async () => {
    logged.fixture = await ledgerFixture();
    logged.folder = mkdtempSync(join(tmpdir(), 'mandate-witnessing-'));
    log.lines.length = 0;
  });
  afterEach(async () => {
    for (const witness of all.splice(0)) await witness.close();
    for (const storage of opened.splice(0)) await storage.close();
    await logged.fixture.close();
    rmSync(logged.folder, { recursive: true, force: true });
  });

  const witnesses = async (count: number): Promise<readonly ServedWitness[]> => {
    const made: ServedWitness[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const witness = await servedWitness(`witness.test/${all.length}`, clock);
      witness.watch(formatVerifierKey(logged.signer.key));
      all.push(witness);
      made.push(witness);
    }
    return made;
  };
  const asPort = ({ url, vkey }: Pick<ServedWitness, 'url' | 'vkey'>): LogWitness => {
    const key = parseVerifierKey(sha256Bytes, vkey);
    if (key === undefined) throw new Error(vkey);
    return { url, key };
  };
  const grow = (storage: Storage = logged.fixture.storage) =>
    logGrowing({
      log: storage.transparencyLog,
      checkpoints: storage.checkpoints,
      chain: chainOf(storage.checkpoints),
      signer: logged.signer,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      hasWitnesses: true,
    })();
  /** Seals this many checkpoints, and adds them to the log. */
  const grown = async (count: number) => {
    for (let nth = 0; nth < count; nth += 1) await logged.fixture.sealed(1);
    expect((await grow()).kind).to.equal('current');
  };
  const log = capturedLog();
  const serviceOf = (
    asked: readonly Pick<ServedWitness, 'url' | 'vkey'>[],
    changes: Partial<Witnessing> = {},
    storage: Storage = logged.fixture.storage,
  ): Witnessing => ({
    transparencyLog: storage.transparencyLog,
    witnesses: asked.map(asPort),
    quorum: 1,
    clock,
    log,
    sharedTime: agreeing(clock),
    ask: httpWitnesses(httpNetwork(), PATIENCE_MS),
    verify: verifyEd25519,
    hash: sha256Bytes,
    ...changes,
  });
  /** One pass of a process that has just started. */
  const witnessed = (...service: Parameters<typeof serviceOf>) => logWitnessing(serviceOf(...service))();
  const stateOf = async (storage: Storage = logged.fixture.storage) => {
    const state = await storage.transparencyLog.state();
    if (state === undefined) throw new Error('the log has not begun');
    return state;
  };
  const problems = async (storage: Storage = logged.fixture.storage) =>
    (await storage.transparencyLog.problems()).map(({ witness, kind, detail }) => [witness, kind, detail]);
  /** The witnesses whose cosignatures of its text the published note has. */
  const published = async (storage: Storage = logged.fixture.storage) => {
    const { note = '', size } = (await stateOf(storage)).published ?? {};
    const [text = '', signatures = ''] = note.split('\n\n');
    const [, ...cosignatures] = signatures.split(/(?<=\n)/);
    const names = cosignatures.map((line) => {
      const witness = all.find(({ vkey }) => line.startsWith(`— ${vkey.split('+')[0]} `));
      if (witness === undefined) throw new Error(line);
      expect(cosignedAt(line, witness.vkey, `${text}\n`)).to.be.greaterThan(0);
      return line.split(' ')[1];
    });
    return { size, names };
  };
  /** A copy of the database, as a backup is. */
  const copied = async () => {
    const path = join(logged.folder, `${opened.length}.sqlite`);
    logged.fixture.withoutTriggers.exec(`vacuum into '${path}'`);
    const storage = await openThreadless(path);
    opened.push(storage);
    return { storage, path };
  };

  return Object.assign(logged, {
    all,
    clock,
    log,
    witnesses,
    grow,
    grown,
    serviceOf,
    witnessed,
    stateOf,
    problems,
    published,
    copied,
  });
}
