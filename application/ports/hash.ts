/** SHA-256 of bytes, for records and checkpoints. */
export type { Hash } from '../../domain/ledger/merkle-tree.ts';
