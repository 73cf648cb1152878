/** Appends and seals records with a value in every field. */

import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { sealLedger } from '../../../application/ledger/seal.ts';
import type { CheckpointSigner } from '../../../application/ports/keys.ts';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { type LedgerEntry, ledgerEvents } from '../../../domain/ledger/record.ts';
import { agentIdOf } from '../domain-fixtures.ts';
import type { Storage } from '../storage.ts';
import { chainOf } from './chain.ts';

const ULID = '01M31S7W68TMK7WDX8YKPSYT';

/** @param index makes entries differ from each other */
export function fullEntry(index: number, at: Instant): LedgerEntry {
  return {
    at,
    event: ledgerEvents[index % ledgerEvents.length] ?? 'token.issued',
    taskId: makeTaskId(`${ULID}${String(index % 90).padStart(2, '0')}`),
    agentId: agentIdOf(`agent-${index}`),
    sponsor: `ada+${index}@example.org/é/😀`,
    audience: `https://jira.example/${index}`,
    scope: `jira:read jira:${index}`,
    jti: makeTokenId(`${ULID}${String(index % 90).padStart(2, '0')}`),
    delegationDepth: 1 + (index % 3),
    decision: index % 4 === 0 ? 'deny' : 'allow',
    reason: `reason\t"<&${index}\\N`,
    count: 2 + index,
    detail: `line\n${index}\r\u0001\u007f\u0085`,
  };
}

/** Appends records, each a microsecond after the previous one. */
export async function append(storage: Storage, count: number, from: Instant, first = 0): Promise<void> {
  for (let index = first; index < first + count; index += 1) {
    await storage.ledger.append(fullEntry(index, instantFromMicros(from + index)));
  }
}

export async function seal(
  { checkpoints }: Pick<Storage, 'checkpoints'>,
  signer: CheckpointSigner,
  at: Instant,
): Promise<Checkpoint> {
  const outcome = await sealLedger({
    checkpoints,
    chain: chainOf(checkpoints),
    signer,
    hash: sha256Bytes,
    turn: eventLoopTurn,
    clock: { now: () => at },
  });
  if (outcome.kind !== 'sealed') throw new Error(`not sealed: ${outcome.kind}`);
  return outcome.checkpoint;
}
