/**
 * The output of `agent apply`: a line for each agent when it is applied, then the totals; or one JSON object at the
 * end.
 */

import type { Applied } from '../../../application/admin/apply-declarations.ts';
import { counted } from '../verification-report.ts';
import type { FileProblem } from './file-problem.ts';

const DONE = { created: 'created', changed: 'changed', unchanged: 'unchanged', refused: 'refused' } as const;
const WOULD_BE = { ...DONE, created: 'would be created', changed: 'would be changed' } as const;

/** One line for the agent, and one for each error of the service. */
export function describeApplied({ agentId, outcome }: Applied, dryRun: boolean): readonly string[] {
  const what = (dryRun ? WOULD_BE : DONE)[outcome.kind];
  switch (outcome.kind) {
    case 'changed':
      return [`${agentId}: ${what}: ${outcome.fields.join(', ')}`];
    case 'refused':
      return [
        `${agentId}: ${what}`,
        ...outcome.errors.map(({ field, sentence }) => `  ${field === '' ? '' : `${field}: `}${sentence}`),
      ];
    case 'created':
    case 'unchanged':
      return [`${agentId}: ${what}`];
  }
}

/** The last line. @param declared the number of declared agents: fewer are applied if the command stops early */
export function describeTotals(applied: readonly Applied[], declared: number, dryRun: boolean): string {
  const words = dryRun ? WOULD_BE : DONE;
  const kinds = Object.keys(DONE) as readonly (keyof typeof DONE)[];
  const parts = kinds.flatMap((kind) => {
    const number = applied.filter(({ outcome }) => outcome.kind === kind).length;
    return number === 0 ? [] : [`${number} ${words[kind]}`];
  });
  const all = `${applied.length === declared ? '' : `${applied.length} of `}${counted(declared, 'agent')}`;
  const done = parts.length === 0 ? all : `${all}: ${parts.join(', ')}`;
  return `${done}.${dryRun ? ' Nothing was written.' : ''}`;
}

export interface ApplyReport {
  readonly dryRun: boolean;
  readonly applied: readonly Applied[];
  /** Errors of the files. If there are any, nothing was sent. */
  readonly problems: readonly FileProblem[];
  /** Why the command stopped early; `undefined` if it did not. */
  readonly failure: string | undefined;
}

/** Returns text with a trailing line feed. */
export function applyReportJson({ dryRun, applied, problems, failure }: ApplyReport): string {
  const report = {
    dry_run: dryRun,
    agents: applied.map(({ agentId, outcome }) => ({
      agent_id: agentId,
      outcome: outcome.kind,
      ...(outcome.kind === 'changed' ? { fields: outcome.fields } : {}),
      ...(outcome.kind === 'refused' ? { errors: outcome.errors } : {}),
    })),
    problems: problems.map(({ file, line, field, sentence }) => ({
      file,
      line: line ?? null,
      field: field ?? null,
      sentence,
    })),
    failure: failure ?? null,
  };
  return `${JSON.stringify(report)}\n`;
}
