/**
 * The keys that `GET /log/keys` names (supplement "Trust in the ledger"): the configured ones, and former keys of
 * checkpoints whose use this service sealed itself. An owner of the database can write any row into the table of keys, and
 * any record before it is sealed, so neither proves anything alone. A former key of checkpoints is named only if
 *
 * - the row is sound: its thumbprint is that of its public key;
 * - the key signed a checkpoint, and a checkpoint by a believed key follows its last one and seals a record that names
 *   the key (domain/ledger/recorded-keys.ts has the rule);
 * - the record rebuilds the root of that checkpoint, and links lead from both checkpoints to the newest known one.
 *
 * No former key of the log is named: nothing that a believed key signed shows that the service used it.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { checkpointKeys } from '../../domain/ledger/checkpoint-keys.ts';
import { believedBefore, type KeyNaming, namedKey } from '../../domain/ledger/recorded-keys.ts';
import { ecKeyOf, thumbprintOf } from '../../domain/log/bundle.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { formatVerifierKey } from '../../domain/log/verifier-key.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { type BlockMemory, proveStored } from '../ledger/prove.ts';
import type { SealedTrees } from '../ledger/sealed-trees.ts';
import { isSameCheckpoint, type TrustedChain } from '../ledger/trusted-chain.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerifier, NoteSigner, SigningKeys } from '../ports/keys.ts';
import type { Ledger, LedgerPosition } from '../ports/ledger.ts';
import type { Clock, Hash } from '../ports/runtime.ts';
import type { TransparencyLog } from '../ports/transparency-log.ts';

interface KeyListing {
  readonly log: Pick<TransparencyLog, 'keys' | 'signers'>;
  readonly ledger: Pick<Ledger, 'page'>;
  readonly checkpoints: Pick<Checkpoints, 'sealing' | 'records'>;
  readonly trees: SealedTrees;
  readonly chain: Pick<TrustedChain, 'state' | 'linked'>;
  readonly signingKeys: Pick<SigningKeys, 'published'>;
  readonly signer: Pick<NoteSigner, 'key'>;
  readonly verifierOf: (keys: ReturnType<SigningKeys['published']>) => CheckpointVerifier;
  readonly hash: Hash;
  readonly clock: Clock;
}

/** A row whose key could not be believed is judged again after this time: its record may be sealed meanwhile. */
const JUDGED_AGAIN_SECONDS = 60;
const PAGE_SIZE = 100;

export function listedKeys(service: KeyListing): () => Promise<readonly LogKey[]> {
  const believed = new Set<string>();
  const judgedAt = new Map<string, Instant>();

  /** Former keys stay former, so a believed key stays believed. */
  function isDue(row: LogKey): boolean {
    const at = judgedAt.get(rowName(row));
    const age = at === undefined ? undefined : secondsBetween(at, service.clock.now());
    return age === undefined || age < 0 || age >= JUDGED_AGAIN_SECONDS;
  }

  return async () => {
    const rows = await service.log.keys();
    const former = rows.filter((row) => !isConfigured(service, row));
    const isTrusted = service.chain.state().distrust === undefined;
    const open = former.filter((row) => !believed.has(rowName(row)) && isDue(row));
    if (isTrusted && open.length > 0) {
      for (const row of await believedRows(service, former)) believed.add(rowName(row));
      for (const row of open) judgedAt.set(rowName(row), service.clock.now());
    }
    return rows.filter((row) => !former.includes(row) || (isTrusted && believed.has(rowName(row))));
  };
}

function rowName({ use, kid, thumbprint, publicKey }: LogKey): string {
  return JSON.stringify([use, kid, thumbprint, publicKey]);
}

function isConfigured({ signingKeys, signer, hash }: KeyListing, row: LogKey): boolean {
  if (row.use === 'log') return row.publicKey === formatVerifierKey(signer.key);
  const key = soundKey(hash, row);
  return signingKeys.published().keys.some(({ kid, x, y }) => kid === row.kid && x === key?.x && y === key?.y);
}

/** The key of checkpoints in a row; `undefined` if the row is not sound. */
function soundKey(hash: Hash, { kid, thumbprint, publicKey }: LogKey) {
  const [usable] = checkpointKeys([parseStrictJson(publicKey) ?? null]);
  const key = usable && ecKeyOf({ ...usable.jwk });
  return key !== undefined && usable?.jwk.kid === kid && thumbprintOf(hash, key) === thumbprint
    ? { ...usable.jwk, ...key }
    : undefined;
}

interface FormerKey {
  readonly row: LogKey;
  readonly verifier: CheckpointVerifier;
}

async function believedRows(service: KeyListing, former: readonly LogKey[]): Promise<readonly LogKey[]> {
  const { log, chain, hash, signingKeys, verifierOf } = service;
  const keys = former.flatMap((row): readonly FormerKey[] => {
    const key = row.use === 'checkpoint' ? soundKey(hash, row) : undefined;
    return key === undefined ? [] : [{ row, verifier: verifierOf({ keys: [key] }) }];
  });
  if (keys.length === 0) return [];
  // 1. Find the records that name the keys, and the checkpoints that they signed last. Only checkpoints of the chain
  // count.
  const named = await provenNamings(service, new Set(keys.map(({ row }) => row.thumbprint)));
  const uses = await log.signers(0);
  const lastOf = ({ row }: FormerKey) => uses.find(({ kid }) => kid === row.kid)?.lastId ?? 0;
  const linked = await chain.linked([...named.map(({ by }) => by.checkpointId), ...keys.map(lastOf).filter(Boolean)]);
  // 2. Which of the checkpoints that seal these records a believed key signed.
  const own = verifierOf(signingKeys.published());
  const namings: KeyNaming[] = [];
  for (const { thumbprint, by } of named) {
    const { checkpointId } = by;
    const signer = isSameCheckpoint(by, linked.get(checkpointId)) ? await signerOf(by, own, keys) : undefined;
    if (signer !== undefined) namings.push({ thumbprint, checkpointId, signer: signer.thumbprint });
  }
  const before = believedBefore(namings);
  // 3. Which keys signed one before.
  const rows = await Promise.all(
    keys.map(async (key) => {
      const last = linked.get(lastOf(key));
      if (last === undefined || last.checkpointId >= (before.get(key.row.thumbprint) ?? 0)) return [];
      return (await isSigned(key.verifier, last)) ? [key.row] : [];
    }),
  );
  return rows.flat();
}

interface ProvenNaming {
  readonly thumbprint: string;
  /** The checkpoint that seals the record. */
  readonly by: Checkpoint;
}

/** The records that name one of the keys, and that rebuild the root of their checkpoint. */
async function provenNamings(
  { ledger, checkpoints, trees, hash, clock }: KeyListing,
  thumbprints: ReadonlySet<string>,
): Promise<readonly ProvenNaming[]> {
  const found: ProvenNaming[] = [];
  const memory: BlockMemory = {};
  for (const event of ['key.activated', 'key.retired'] as const) {
    let after: LedgerPosition | undefined;
    do {
      const page = await ledger.page({ event, after, limit: PAGE_SIZE, now: clock.now() });
      for (const record of page.records) {
        const thumbprint = namedKey(record);
        if (thumbprint === undefined || !thumbprints.has(thumbprint)) continue;
        const outcome = await proveStored({ checkpoints, trees, hash }, record.seq, memory);
        // Reads the proven record: the record of the page may have been changed since.
        const proven = outcome.kind === 'proof' && memory.last?.records.find(({ seq }) => seq === record.seq);
        if (proven && namedKey(proven) === thumbprint) found.push({ thumbprint, by: outcome.proof.checkpoint });
      }
      after = page.next;
    } while (after !== undefined);
  }
  return found;
}

/** Without a thumbprint: a configured key. `undefined`: another one. */
async function signerOf(
  checkpoint: Checkpoint,
  own: CheckpointVerifier,
  former: readonly FormerKey[],
): Promise<{ readonly thumbprint: string | undefined } | undefined> {
  if (await isSigned(own, checkpoint)) return { thumbprint: undefined };
  for (const { row, verifier } of former) {
    if (await isSigned(verifier, checkpoint)) return { thumbprint: row.thumbprint };
  }
  return undefined;
}

async function isSigned(verifier: CheckpointVerifier, checkpoint: Checkpoint): Promise<boolean> {
  const { kid, signature } = checkpoint;
  return (await verifier.verify(kid, canonicalCheckpoint(checkpoint), signature)) === 'verified';
}
