/** A bundle of a task as a maker writes it who does not verify it before. */

import { readCheckpointVerifier } from '../../../adapters/jose/checkpoint-signatures.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { runningDigest } from '../../../adapters/sdk/audit/bundle.ts';
import { makeBundle } from '../../../application/log/make-bundle.ts';
import { knownKeys } from '../../../composition/commands/audit-sources.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Evidence } from './evidence.ts';

export async function uncheckedBundle({ storage, jwks, now }: Evidence, taskId: TaskId): Promise<string> {
  const { keys } = JSON.parse(jwks());
  const verifier = readCheckpointVerifier({ keys });
  if (verifier === undefined) throw new Error('no keys');
  const { ledger, checkpoints, approvals } = storage;
  const making = { ledger, checkpoints, approvals, verifier, hash: sha256Bytes, digest: runningDigest };
  const parts: string[] = [];
  const made = { ...making, clock: { now }, turn: eventLoopTurn, keys: knownKeys(keys), log: undefined };
  for await (const part of makeBundle(made, { taskId })) parts.push(part);
  // The generator returns the last part: the digest.
  return parts.join('');
}
