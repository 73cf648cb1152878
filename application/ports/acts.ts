/** Queries of the acts of operators. All methods may throw StorageUnavailable. */

import type { Compared } from '../../domain/ledger/compared.ts';
import type { StoredAct } from '../../domain/operators/operator-act.ts';

export interface ActsQuestion {
  /** Acts whose own record has this number, or whose records span it. */
  readonly seq?: number | undefined;
  /** The `sub` of the operator. */
  readonly subject?: string | undefined;
  /** Only acts whose record has a lower number. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The acts of operators. */
export interface OperatorActs {
  /** Newest first. Those that differ from their records are to be shown without their reasons (`shownAct`). */
  list(question: ActsQuestion): Promise<readonly Compared<StoredAct>[]>;
}
