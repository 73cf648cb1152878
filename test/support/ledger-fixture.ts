/** A ledger on a SQLite file, with the use cases that seal, prove and verify it. */

import { checkpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { generateSigningKey } from '../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../adapters/jose/signing-keys.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type Handle, openHandle } from '../../adapters/storage/sqlite/handle.ts';
import { findArchivedPart } from '../../application/ledger/find-archived-part.ts';
import { type ProofOutcome, proveRecord } from '../../application/ledger/prove.ts';
import { type LedgerSealing, type SealOutcome, sealLedger } from '../../application/ledger/seal.ts';
import { sealedTrees, type TreeReading } from '../../application/ledger/sealed-trees.ts';
import { type LedgerVerification, type VerificationOutcome, verifyLedger } from '../../application/ledger/verify.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { sqliteFile } from './databases.ts';
import { NOON } from './domain-fixtures.ts';
import { chainOf } from './ledger/chain.ts';
import { openThreadless, type ThreadlessSqlite } from './threadless-sqlite.ts';

/** A root of no tree. */
export const OTHER_ROOT = 'ab'.repeat(32);

export interface LedgerFixture {
  /** Until `restart`. */
  readonly storage: ThreadlessSqlite;
  /** Opens the storage anew, as a restarted process does, which has forgotten what it saw. */
  restart(): Promise<void>;
  readonly keys: SigningKeys;
  /** A clock that only `advance` moves. */
  readonly clock: { now(): Instant; advance(seconds: number): void };
  /** Appends records that differ. Together they have a value in every field. */
  append(count: number): Promise<void>;
  /** Takes sequence numbers without a record, as rolled-back appends do. */
  skipNumbers(count: number): void;
  seal(changes?: Partial<LedgerSealing>): Promise<SealOutcome>;
  /** Appends records and seals them. */
  sealed(count: number): Promise<Checkpoint>;
  verify(changes?: Partial<LedgerVerification>): Promise<VerificationOutcome>;
  /** Makes a prover with an empty cache. */
  prover(changes?: Partial<TreeReading>): (seq: number) => Promise<ProofOutcome>;
  /** An SQL connection to the file. Its triggers are removed, so that a test can change records. */
  readonly withoutTriggers: Handle;
  close(): Promise<void>;
}

export async function ledgerFixture(): Promise<LedgerFixture> {
  const database = await sqliteFile.fresh();
  const path = database.settings['Service:Database:Path'] ?? '';
  let storage = await openThreadless(path);
  const keys = await newKeys();
  const withoutTriggers = openHandle(path);
  for (const name of withoutTriggers.prepare("select name from sqlite_master where type = 'trigger'").pluck().all()) {
    withoutTriggers.exec(`drop trigger ${name}`);
  }
  let now: number = NOON;
  let appended = 0;
  const clock = {
    now: () => instantFromMicros(now),
    advance(seconds: number) {
      now += seconds * 1_000_000;
    },
  };
  const verifier = checkpointVerifier(keys.published());
  const dependencies = { hash: sha256Bytes, clock, turn: eventLoopTurn };
  const insert = withoutTriggers.prepare(
    `insert into ledger (ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason,
      count, detail) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const fixture: LedgerFixture = {
    get storage() {
      return storage;
    },
    async restart() {
      await storage.close();
      storage = await openThreadless(path);
    },
    keys,
    clock,
    withoutTriggers,
    // Appends by SQL, because the storage port would take minutes for a large ledger.
    append: async (count) => {
      withoutTriggers.exec('begin');
      for (let written = 0; written < count; written += 1) insert.run(entryRow(appended++));
      withoutTriggers.exec('commit');
    },
    skipNumbers(count) {
      withoutTriggers.prepare("update sqlite_sequence set seq = seq + ? where name = 'ledger'").run(count);
    },
    seal: (changes) => {
      const { checkpoints } = storage;
      const chain = chainOf(checkpoints);
      return sealLedger({ ...dependencies, checkpoints, chain, signer: keys.checkpoints, ...changes });
    },
    async sealed(count) {
      await fixture.append(count);
      const outcome = await fixture.seal();
      if (outcome.kind !== 'sealed') throw new Error(outcome.kind);
      return outcome.checkpoint;
    },
    verify: (changes) => verifyLedger({ ...dependencies, ledger: storage.checkpoints, verifier, ...changes }),
    prover(changes) {
      const { checkpoints } = storage;
      const trees = sealedTrees({ ...dependencies, checkpoints, verifier, ...changes });
      const service = { checkpoints: { ...checkpoints, ...changes?.checkpoints }, trees, hash: sha256Bytes };
      const archivedPart = findArchivedPart({ ...service, verifier });
      return (seq) => proveRecord({ ...service, archivedPart }, seq);
    },
    async close() {
      withoutTriggers.close();
      await storage.close();
      await database.drop();
    },
  };
  return fixture;
}

/** Seals checkpoints of 3, 4, 5 … records, each with a gap of two numbers in the middle. */
export async function sealSome(fixture: LedgerFixture, count: number): Promise<readonly Checkpoint[]> {
  const sealed: Checkpoint[] = [];
  for (let size = 3; size < 3 + count; size += 1) {
    await fixture.append(2);
    fixture.skipNumbers(2);
    sealed.push(await fixture.sealed(size - 2));
  }
  return sealed;
}

export const faultOf = (outcome: VerificationOutcome) => (outcome.kind === 'broken' ? outcome.fault : undefined);

export async function newKeys(): Promise<SigningKeys> {
  const chosen = await signingKeys([await generateSigningKey()], undefined);
  if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
  return chosen.signingKeys;
}

function entryRow(number: number): readonly (string | number | bigint | null)[] {
  const at = BigInt(NOON + number * 1_001_003);
  const task = `task_${number}`;
  if (number % 5 === 3) {
    return [at, 'token.denied', null, null, null, null, null, null, null, 'deny', 'invalid_request', 4 + number, null];
  }
  const audience = `https://café.example/q?a=1&b=${number}+'<😀>'`;
  const detail = number % 7 === 2 ? `partition ${number}\n"so"` : null;
  const scope = 'jira:read jira:comment';
  return [
    at,
    'token.issued',
    task,
    'jira-triage',
    'ada',
    audience,
    scope,
    `tok_${number}`,
    1,
    'allow',
    null,
    null,
    detail,
  ];
}
