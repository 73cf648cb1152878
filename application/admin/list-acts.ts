/** Lists operators' acts in pages, newest first. */

import { differenceIn } from '../../domain/ledger/compared.ts';
import { formatCursor, type PageCursor } from '../../domain/ledger/page-cursor.ts';
import { type ShownAct, shownAct } from '../../domain/operators/operator-act.ts';
import { type Reporting, reportDifferences } from '../ledger/differences.ts';
import { fingerprint } from '../ledger/query.ts';
import type { ActsQuestion, OperatorActs } from '../ports/acts.ts';
import type { Digest } from '../ports/runtime.ts';

export interface ActsRequest extends Omit<ActsQuestion, 'before'> {
  /** Where the previous page ended. */
  readonly cursor: PageCursor | undefined;
}

export type ActsAnswer =
  | {
      readonly kind: 'page';
      readonly acts: readonly ShownAct[];
      /** `undefined` on the last page. */
      readonly nextCursor: string | undefined;
    }
  /** The cursor belongs to other filters, or to another list. */
  | { readonly kind: 'foreign_cursor' };

interface ActsReading extends Reporting {
  readonly operatorActs: OperatorActs;
  readonly digest: Digest;
}

export async function listActs(
  { operatorActs, digest, ...reporting }: ActsReading,
  { seq, subject, limit, cursor }: ActsRequest,
): Promise<ActsAnswer> {
  const own = fingerprint(digest, ['acts', seq, subject]);
  if (cursor !== undefined && cursor.fingerprint !== own) return { kind: 'foreign_cursor' };
  // Read one more than the limit: it tells whether another page follows.
  const found = await operatorActs.list({ seq, subject, before: cursor?.seq, limit: limit + 1 });
  const page = found.slice(0, limit);
  const differences = await reportDifferences(reporting, page.map(differenceIn));
  const acts = page.map(({ row }, nth) => shownAct(row, differences[nth]));
  const last = found.length > limit ? acts.at(-1) : undefined;
  return { kind: 'page', acts, nextCursor: last && formatCursor({ at: last.at, seq: last.seq, fingerprint: own }) };
}
