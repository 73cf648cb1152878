/** What `mandate doctor` prints: a line for each check, or one JSON array for a program. */

import type { FindingStatus, NamedFinding } from '../../application/doctor/finding.ts';

/** The exit code when a check failed. */
export const CHECK_FAILED = 3;

const STATUSES: readonly FindingStatus[] = ['ok', 'warning', 'failed', 'skipped'];
const STATUS_WIDTH = Math.max(...STATUSES.map((status) => status.length));

/** With its line feed. */
export function renderFindings(findings: readonly NamedFinding[], json: boolean): string {
  if (json) {
    const presented = findings.map(({ check, status, sentence, remedy }) => ({
      check,
      status,
      sentence,
      remedy: remedy ?? null,
    }));
    return `${JSON.stringify(presented)}\n`;
  }
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, sentence, remedy }) =>
    [status.padEnd(STATUS_WIDTH), check.padEnd(width), remedy === undefined ? sentence : `${sentence} ${remedy}`].join(
      '  ',
    ),
  );
  return `${[...lines, totals(findings)].join('\n')}\n`;
}

function totals(findings: readonly NamedFinding[]): string {
  const counted = STATUSES.flatMap((status) => {
    const count = findings.filter((finding) => finding.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${counted.join(', ')}.`;
}
