/** The report of `mandate doctor`. */

import type { FindingStatus, NamedFinding } from '../../application/doctor/examine.ts';
import { visibleJson, visibleText } from '../../domain/visible.ts';

const STATUSES: readonly FindingStatus[] = ['ok', 'warning', 'failed', 'skipped'];
const STATUS_WIDTH = Math.max(...STATUSES.map((status) => status.length));

/** Renders a line for each finding and a line of totals, or one JSON array. The text ends with a line feed. */
export function renderFindings(findings: readonly NamedFinding[], json: boolean): string {
  if (json) {
    const presented = findings.map(({ check, status, sentence, remedy }) => ({
      check,
      status,
      sentence,
      remedy: remedy ?? null,
    }));
    return `${visibleJson(JSON.stringify(presented))}\n`;
  }
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, sentence, remedy }) =>
    [status.padEnd(STATUS_WIDTH), check.padEnd(width), remedy === undefined ? sentence : `${sentence} ${remedy}`].join(
      '  ',
    ),
  );
  // A sentence may name an unknown variable, a log or a witness.
  return `${[...lines.map(visibleText), totals(findings)].join('\n')}\n`;
}

function totals(findings: readonly NamedFinding[]): string {
  const counted = STATUSES.flatMap((status) => {
    const count = findings.filter((finding) => finding.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${counted.join(', ')}.`;
}
