/**
 * The keys that `GET /log/keys` names (supplement "Trust in the ledger"): the configured ones, and former ones whose use
 * this service sealed itself. An owner of the database can write any row into the table of keys, so a row alone proves
 * nothing. A former key is named only if
 *
 * - the row is sound: its thumbprint is that of its public key;
 * - a key of checkpoints signed one, and a checkpoint by a believed key follows its last one and seals a record that names
 *   the key (domain/ledger/recorded-keys.ts has the rule);
 * - a key of the log is named by such a record.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { checkpointKeys } from '../../domain/ledger/checkpoint-keys.ts';
import { believedBefore, type KeyNaming, namedKey } from '../../domain/ledger/recorded-keys.ts';
import { ecKeyOf, thumbprintOf } from '../../domain/log/bundle.ts';
import { encodeBase64, formatVerifierKey, parseVerifierKey } from '../../domain/log/verifier-key.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { TrustedChain } from '../ledger/trusted-chain.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerifier, NoteSigner, SigningKeys } from '../ports/keys.ts';
import type { Ledger, LedgerPosition } from '../ports/ledger.ts';
import type { Clock, Hash } from '../ports/runtime.ts';
import type { LogKey, TransparencyLog } from '../ports/transparency-log.ts';

export interface KeyListing {
  readonly log: Pick<TransparencyLog, 'keys' | 'signers'>;
  readonly ledger: Pick<Ledger, 'page'>;
  readonly checkpoints: Pick<Checkpoints, 'sealing' | 'page'>;
  readonly chain: Pick<TrustedChain, 'state'>;
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

function isSoundLogKey(hash: Hash, { kid, thumbprint, publicKey }: LogKey): boolean {
  const key = parseVerifierKey(hash, publicKey);
  if (key === undefined || kid !== `${key.name}+${key.keyId}`) return false;
  const x = encodeBase64(key.publicKey).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return thumbprintOf(hash, { crv: 'Ed25519', kty: 'OKP', x }) === thumbprint;
}

interface FormerKey {
  readonly row: LogKey;
  readonly verifier: CheckpointVerifier;
}

async function believedRows(service: KeyListing, former: readonly LogKey[]): Promise<readonly LogKey[]> {
  const { log, hash, signingKeys, verifierOf } = service;
  const keys = former.flatMap((row): readonly FormerKey[] => {
    const key = row.use === 'checkpoint' ? soundKey(hash, row) : undefined;
    return key === undefined ? [] : [{ row, verifier: verifierOf({ keys: [key] }) }];
  });
  const logKeys = former.filter((row) => row.use === 'log' && isSoundLogKey(hash, row));
  if (keys.length + logKeys.length === 0) return [];
  const own = verifierOf(signingKeys.published());
  const named = { checkpoint: await namings(service, 'checkpoint', own, keys), log: [] as readonly KeyNaming[] };
  if (logKeys.length > 0) named.log = await namings(service, 'log', own, keys);
  const believedCheckpointKeys = believedBefore(named.checkpoint);
  const uses = await log.signers(0);
  const ofCheckpoints = await Promise.all(
    keys.map(async ({ row, verifier }) => {
      const lastId = uses.find(({ kid }) => kid === row.kid)?.lastId;
      if (lastId === undefined || lastId >= (believedCheckpointKeys.get(row.thumbprint) ?? 0)) return [];
      const [last] = await service.checkpoints.page(lastId - 1, 1);
      return last !== undefined && (await isSigned(verifier, last)) ? [row] : [];
    }),
  );
  // A record that names a key of the log counts if a believed key sealed it.
  const ofLog = logKeys.filter(({ thumbprint }) =>
    named.log.some(
      ({ checkpointId, signer, ...naming }) =>
        naming.thumbprint === thumbprint &&
        (signer === undefined || checkpointId < (believedCheckpointKeys.get(signer) ?? 0)),
    ),
  );
  return [...ofCheckpoints.flat(), ...ofLog];
}

/** The sealed records that name keys of this use, if a configured or a former key sealed them. */
async function namings(
  { ledger, checkpoints, clock }: KeyListing,
  use: LogKey['use'],
  own: CheckpointVerifier,
  former: readonly FormerKey[],
): Promise<readonly KeyNaming[]> {
  const found: KeyNaming[] = [];
  for (const event of ['key.activated', 'key.retired'] as const) {
    let after: LedgerPosition | undefined;
    do {
      const page = await ledger.page({ event, after, limit: PAGE_SIZE, now: clock.now() });
      for (const record of page.records) {
        const thumbprint = namedKey(record, use);
        const sealing = await checkpoints.sealing(record.seq);
        if (thumbprint === undefined || sealing.kind === 'not_sealed') continue;
        const signer = await signerOf(sealing.checkpoint, own, former);
        if (signer !== undefined) {
          found.push({ thumbprint, checkpointId: sealing.checkpoint.checkpointId, signer: signer.thumbprint });
        }
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
