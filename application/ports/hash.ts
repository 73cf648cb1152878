/** SHA-256 of bytes, as records and checkpoints are hashed with it. */
export type { Hash } from '../../domain/ledger/merkle-tree.ts';
