/** Changes of a run without losses, each of which the comparisons must find. */

import type { LedgerLine, Operation, OperationKind } from '../../../scripts/faults/operations.ts';
import type { ARun } from './a-run.ts';

export type Change = (run: ARun) => void;
type Named = Partial<LedgerLine> & Pick<LedgerLine, 'event'>;

function indexOf<Item extends object>(items: readonly Item[], named: Partial<Item>): number {
  const at = items.findIndex((item) =>
    Object.entries(named).every(([key, value]) => item[key as keyof Item] === value),
  );
  if (at < 0) throw new Error(`there is no ${JSON.stringify(named)}`);
  return at;
}

export const lost =
  (named: Named): Change =>
  ({ lines }) =>
    void lines.splice(indexOf(lines, named), 1);
export const rewritten =
  (named: Named, change: Partial<LedgerLine>): Change =>
  ({ lines }) => {
    const at = indexOf(lines, named);
    lines.splice(at, 1, ...lines.slice(at, at + 1).map((line) => ({ ...line, ...change })));
  };
export const doubled =
  (named: Named): Change =>
  ({ lines }) =>
    void lines.push(...lines.slice(indexOf(lines, named)).slice(0, 1));
export const invented =
  (line: Named): Change =>
  ({ lines }) =>
    void lines.push({
      seq: 1_000,
      checkpoint: 1,
      reason: null,
      task_id: null,
      agent_id: null,
      sponsor: null,
      jti: null,
      detail: null,
      ...line,
    });
export const answered =
  (named: Partial<Operation> & { readonly kind: OperationKind }, change: Partial<Operation>): Change =>
  ({ operations }) => {
    const at = indexOf(operations, named);
    operations.splice(at, 1, ...operations.slice(at, at + 1).map((one) => ({ ...one, ...change })));
  };
export const later =
  (one: Partial<Operation> & Pick<Operation, 'kind' | 'status'>): Change =>
  ({ operations }) =>
    void operations.push({ began: 9_000, ended: 9_005, ...one });
