/** A ledger with a transparency log and witnesses, from which evidence bundles are made. Its keys can be rotated. */

import { generateKeyPairSync } from 'node:crypto';
import { readNoteSigner } from '../../../adapters/jose/log-key.ts';
import { jwkThumbprint, newSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { logGrowing } from '../../../application/log/grow-log.ts';
import { recordKeys } from '../../../application/log/record-keys.ts';
import type { CheckpointSigner, NoteSigner, SigningKeys } from '../../../application/ports/keys.ts';
import { makeTaskId, makeTokenId, type TaskId } from '../../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { cosignedText, encodeCosignature } from '../../../domain/log/cosignature.ts';
import { formatSignatureLine, parseNote } from '../../../domain/log/note.ts';
import { COSIGNATURE, ED25519, formatVerifierKey, type SignatureType } from '../../../domain/log/verifier-key.ts';
import type { FreshDatabase, TestDatabase } from '../databases.ts';
import { agentIdOf } from '../domain-fixtures.ts';
import { chainOf } from '../ledger/chain.ts';
import { seal } from '../ledger/fill.ts';
import type { Storage } from '../storage.ts';

export const ORIGIN = 'mandate.example/ledger';
const START = instantFromSeconds(1_790_000_000);
const ULID = '01M31S7W68TMK7WDX8YKPSYT';

export interface Evidence {
  readonly database: FreshDatabase;
  readonly storage: Storage;
  readonly log: NoteSigner;
  readonly witnesses: readonly NoteSigner[];
  /** Settings with which `audit-bundle` runs. They name only the newest signing key. */
  settings(): Readonly<Record<string, string>>;
  /** All keys that signed checkpoints, as a key set. */
  jwks(): string;
  /** The RFC 7638 thumbprint of each key that signed checkpoints, oldest first. */
  thumbprints(): readonly string[];
  now(): Instant;
  /** Adds records of a task, among others: issued, refreshed, denied, revoked. `parts` leaves out the later ones. */
  task(number: number, parts?: number): Promise<TaskId>;
  append(entry: Partial<LedgerEntry>): Promise<void>;
  seal(): Promise<void>;
  /** The key that signs checkpoints now. */
  signer(): CheckpointSigner;
  /** Seals, lets the log grow, and has the witnesses cosign. */
  publish(): Promise<void>;
  /** Another key signs checkpoints from now on. The former ones are not in the settings. */
  rotate(): Promise<void>;
  /** The key with this number signs checkpoints from now on, and no record says so. */
  signWith(number: number): Promise<void>;
  close(): Promise<void>;
}

const ed25519Pem = () => generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

export async function noteSigner(name: string, type: SignatureType, pem = ed25519Pem()): Promise<NoteSigner> {
  const read = await readNoteSigner(pem, { hash: sha256Bytes, name, type });
  if (read.kind !== 'read') throw new Error(read.problem);
  return read.signer;
}

/** The line of a witness's cosignature. */
export function cosign({ key, sign }: NoteSigner, text: string, seconds: number): string {
  const signature = encodeCosignature({ seconds, signature: sign(Buffer.from(cosignedText(seconds, text))) });
  return formatSignatureLine({ name: key.name, keyId: key.keyId, signature });
}

/** @param witnessNames none: the notes have the signature of the log only */
export async function evidence(
  kind: TestDatabase,
  { witnessNames = ['first.example', 'second.example'], hasLog = true } = {},
): Promise<Evidence> {
  const database = await kind.fresh();
  let now = START;
  const clock = { now: () => now };
  const storage = await database.open({ clock });
  const logPem = ed25519Pem();
  const log = await noteSigner(ORIGIN, ED25519, logPem);
  const witnesses = await Promise.all(witnessNames.map((name) => noteSigner(name, COSIGNATURE)));
  const { transparencyLog: stored, checkpoints } = storage;
  const grow = logGrowing({
    log: stored,
    checkpoints,
    chain: chainOf(checkpoints),
    signer: log,
    hash: sha256Bytes,
    turn: eventLoopTurn,
    hasWitnesses: false,
  });
  const used: Awaited<ReturnType<typeof newSigningKey>>[] = [];
  const thumbprints: string[] = [];
  let keys: SigningKeys;

  async function signWith(number: number): Promise<void> {
    const all = used.map(({ key }) => key);
    const chosen = await signingKeys(all, all[number]?.keyId);
    if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
    keys = chosen.signingKeys;
  }

  async function rotate(): Promise<void> {
    const made = await newSigningKey();
    used.push(made);
    await signWith(used.length - 1);
    thumbprints.push(await jwkThumbprint(made.key.publicJwk));
    if (!hasLog) return;
    const { size: logged = 0 } = (await stored.state()) ?? {};
    const recording = { decisions: storage, log: stored, signingKeys: keys, signer: log, clock, logged };
    await recordKeys({ ...recording, thumbprint: jwkThumbprint });
  }

  const made: Evidence = {
    database,
    storage,
    log,
    witnesses,
    rotate,
    signWith,
    settings: () => ({
      ...database.settings,
      'Service:Signing:Keys:0:Pem': used.at(-1)?.pem.reveal() ?? '',
      ...(hasLog ? { 'Service:Audit:Log:Key:Pem': logPem, ...witnessSettings(witnesses) } : {}),
    }),
    jwks: () => JSON.stringify({ keys: used.map(({ key }) => key.publicJwk) }),
    thumbprints: () => thumbprints,
    now: () => now,
    async append(entry) {
      now = plusSeconds(now, 0.001003);
      await storage.ledger.append({ at: now, event: 'token.issued', decision: 'allow', ...entry });
    },
    async task(number, parts = 4) {
      const taskId = makeTaskId(`${ULID}${String(number).padStart(2, '0')}`);
      const about = { taskId, agentId: agentIdOf(`agent-${number % 3}`), sponsor: `ada+${number}@example.org/é/😀` };
      const token = { audience: 'https://jira.example', scope: 'jira:read', delegationDepth: 1 };
      const entries: readonly Partial<LedgerEntry>[] = [
        { ...about, ...token, jti: makeTokenId(`${ULID}${String(number).padStart(2, '0')}`) },
        { ...about, ...token, event: 'token.refreshed', count: 2 + number },
        { ...about, event: 'token.denied', decision: 'deny', reason: 'scope_widened' },
        { ...about, ...token, event: 'task.revoked', reason: 'operator_kill_switch' },
      ];
      for (const entry of entries.slice(0, parts)) {
        await made.append(entry);
        await made.append({ event: 'admin.denied', decision: 'deny', reason: 'invalid_api_key' });
      }
      return taskId;
    },
    signer: () => keys.checkpoints,
    async seal() {
      await seal(storage, keys.checkpoints, now);
    },
    async publish() {
      await made.seal();
      if (!hasLog) return;
      const outcome = await grow();
      if (outcome.kind !== 'current') throw new Error(outcome.kind);
      const { note = '' } = (await stored.state()) ?? {};
      const text = parseNote(note)?.text ?? '';
      const lines = witnesses.map((witness, at) => cosign(witness, text, Math.floor(now / 1e6) + at));
      await stored.publish(ORIGIN, { size: outcome.size, note: `${note}${lines.join('')}` });
    },
    async close() {
      await storage.close();
      await database.drop();
    },
  };
  await rotate();
  return made;
}

function witnessSettings(witnesses: readonly NoteSigner[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    witnesses.flatMap(({ key }, at) => [
      [`Service:Audit:Log:Witnesses:${at}:Url`, `https://${key.name}`],
      [`Service:Audit:Log:Witnesses:${at}:VKey`, formatVerifierKey(key)],
    ]),
  );
}
