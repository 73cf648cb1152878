/** Whether the ledger, its checkpoints and every partition refuse to be changed (specification "Ledger and seal"). */

import type { GuardCondition } from '../ports/storage-condition.ts';
import { type Finding, failed, ok } from './finding.ts';
import { listed } from './listed.ts';

export function judgeGuards({ tables, missing }: GuardCondition): Finding {
  if (missing.length === 0) return ok(`All ${tables} tables of the ledger refuse to be changed.`);
  return failed(
    `The ledger can be changed: ${listed(missing.map(({ table, what }) => `${table}: ${what}`))}.`,
    'Find out who lifted the guard and run `mandate audit-verify`; then put it back as the migrations make it.',
  );
}
