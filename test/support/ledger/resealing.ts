/** After altering records, an owner of the database can sign every checkpoint anew, so that the chain is whole. */

import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import type { CheckpointSigner } from '../../../application/ports/keys.ts';
import { canonicalCheckpoint, canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, checkpointHash, toHex } from '../../../domain/ledger/checkpoint.ts';
import { leafHash, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import type { Storage } from '../storage.ts';
import type { Tampering } from './tampering.ts';

/**
 * Gives the checkpoints the roots of the present records, links and signs them. Ids, ranges and times stay.
 *
 * @param from the id of the first checkpoint to sign
 * @param through the id of the last one
 */
export async function sealAnew(
  { checkpoints }: Pick<Storage, 'checkpoints'>,
  tampering: Tampering,
  signer: CheckpointSigner,
  from = 1,
  through = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  let previous: Checkpoint | undefined;
  for (const stored of await checkpoints.page(0, 1000)) {
    if (stored.checkpointId >= from && stored.checkpointId <= through) {
      const tree = treeBuilder(sha256Bytes);
      for (const record of await checkpoints.records(stored, 0, 1000)) {
        tree.add(leafHash(sha256Bytes, canonicalRecord(record)));
      }
      const { signature: _signature, ...rest } = stored;
      const unsigned = {
        ...rest,
        treeSize: tree.size,
        rootHash: toHex(tree.root()),
        kid: signer.kid,
        prevCheckpointHash: previous && checkpointHash(sha256Bytes, previous),
      };
      previous = { ...unsigned, signature: await signer.sign(canonicalCheckpoint(unsigned)) };
      const link = previous.prevCheckpointHash === undefined ? 'null' : `'${previous.prevCheckpointHash}'`;
      await tampering.sql(
        `update checkpoints set tree_size = ${previous.treeSize}, root_hash = '${previous.rootHash}',
          prev_checkpoint_hash = ${link}, kid = '${previous.kid}', signature = '${previous.signature}'
          where checkpoint_id = ${previous.checkpointId}`,
      );
    } else previous = stored;
  }
}
