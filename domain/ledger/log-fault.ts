/** How a ledger can disagree with its transparency log, or with a note of the log that an auditor brings. */

import { describeFault, type VerificationFault } from './verification.ts';

/** The tree that disagrees: the one in the database of the ledger, or that of the auditor's note. */
type DisagreeingTree = 'log' | 'note';

export type LogFault =
  /** The size, the root and the notes that the database has for its log do not belong together. */
  | { readonly kind: 'log_state' }
  /** The log in the database has another checkpoint in this place, or none. */
  | { readonly kind: 'log_leaf'; readonly checkpointId: number }
  /** A tile above the leaves has other hashes, or is missing. */
  | { readonly kind: 'log_tile'; readonly level: number; readonly index: number }
  /** The first checkpoints do not lead to the root that was signed. */
  | { readonly kind: 'log_root'; readonly of: DisagreeingTree; readonly size: number }
  /** The tree has more checkpoints than the ledger. `newestId` is 0 if the ledger has none. */
  | { readonly kind: 'log_ahead'; readonly of: DisagreeingTree; readonly size: number; readonly newestId: number };

export type LedgerFault = VerificationFault | LogFault;

const TREES: Readonly<Record<DisagreeingTree, string>> = {
  log: 'The log in the database',
  note: 'The note of the log',
};

/** One sentence for an auditor. */
export function describeLogFault(fault: LogFault): string {
  switch (fault.kind) {
    case 'log_state':
      return 'The log in the database contradicts itself: its size, its root and its notes do not belong together.';
    case 'log_leaf':
      return `The log in the database has another checkpoint ${fault.checkpointId}: the checkpoint was replaced after it was logged, or the log was changed.`;
    case 'log_tile':
      return `The log in the database lacks hashes of its tree, or has others (tile ${fault.index} of level ${fault.level}): readers get no proofs from it.`;
    case 'log_root':
      return `${TREES[fault.of]} has another root over the first ${fault.size} checkpoints: at least one of them was replaced or altered.`;
    case 'log_ahead':
      return `${TREES[fault.of]} has ${fault.size} checkpoints, and the ledger ${fault.newestId === 0 ? 'none' : `only ${fault.newestId}`}: the end of the ledger was removed.`;
  }
}

const KINDS: Readonly<Record<LogFault['kind'], true>> = {
  log_state: true,
  log_leaf: true,
  log_tile: true,
  log_root: true,
  log_ahead: true,
};

export function isLogFault(fault: { readonly kind: string }): fault is LogFault {
  return Object.hasOwn(KINDS, fault.kind);
}

export function describeLedgerFault(fault: LedgerFault): string {
  return isLogFault(fault) ? describeLogFault(fault) : describeFault(fault);
}
