/** Queries of the acts of operators. */

import type { ActsQuestion, OperatorActs } from '../../../application/ports/acts.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import type { StoredAct } from '../../../domain/operators/operator-act.ts';
import { storable } from '../rows/column.ts';
import { actColumns, type OperatorActRow, toStoredAct } from '../rows/operator-act-row.ts';
import { recordOfAct } from '../rows/recorded.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = ['seq', 'explains', ...actColumns].join(', ');

/**
 * While one act writes its records, fewer other acts than this begin. So the act that explains a record is one of
 * these.
 */
const BEGUN_MEANWHILE = 1000;

/** The act whose own record has this number, or the acts whose records, from `explains` to `seq`, enclose it. */
const OF_RECORD = `(
      select * from (
        select ${COLUMNS} from operator_acts where explains <= :seq order by explains desc limit ${BEGUN_MEANWHILE}
      ) begun where seq >= :seq
      union
      select ${COLUMNS} from operator_acts where seq = :seq
    ) acts`;

export const listActs: Query<ActsQuestion, readonly Compared<StoredAct>[]> = {
  plan: 'in_order',
  text(_dialect, { seq, subject, before }) {
    const conditions = [
      ...(subject === undefined ? [] : ['sub = :subject']),
      ...(before === undefined ? [] : ['seq < :before']),
    ];
    return `select found.*, ${recordOfAct('found')} from (
      select ${COLUMNS} from ${seq === undefined ? 'operator_acts' : OF_RECORD}
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by seq desc limit :limit
    ) found order by found.seq desc`;
  },
  values: ({ seq, subject, before, limit }) => ({
    seq,
    subject: subject === undefined ? undefined : storable('sub', subject),
    before,
    limit,
  }),
  read: (rows: readonly OperatorActRow[]) => rows.map(toStoredAct),
};

export function operatorActs(ask: Ask): OperatorActs {
  return { list: (question) => ask(listActs, question) };
}
