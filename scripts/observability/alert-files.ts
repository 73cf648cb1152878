/** Renders the alerts as rules for Prometheus, and as the table in docs/operating.md. */

import { stringify } from 'yaml';
import type { Alert } from './alerts.ts';

const HEAD = `# Alerts of Mandate for Prometheus. Generated from scripts/observability/alerts.ts: change them there.
# The rules expect that the scrape job is named "mandate". docs/observability.md says how to load them.
`;

export function rulesFile(alerts: readonly Alert[]): string {
  const rules = alerts.map(({ name, expression, holds, severity, why, first }) => ({
    alert: name,
    expr: expression,
    ...(holds === undefined ? {} : { for: holds }),
    labels: { severity },
    annotations: { summary: plain(why), first_step: plain(first) },
  }));
  // Without a line width, each expression stays on one line.
  return HEAD + stringify({ groups: [{ name: 'mandate', rules }] }, { lineWidth: 0 });
}

/** Turns Markdown into plain text: `[overload](#overload)` becomes `overload (docs/operating.md#overload)`. */
function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\(#([^)]+)\)/g, '$1 (docs/operating.md#$2)').replaceAll('`', '');
}

/** The table in Markdown, without a line feed at its end. */
export function alertTable(alerts: readonly Alert[]): string {
  const rows = alerts.map(({ name, expression, holds, why, first }) => {
    const when = `\`${expression.replaceAll('|', '\\|')}\`${holds === undefined ? '' : ` for ${holds}`}`;
    return `| ${name} | ${when} | ${why} | ${first} |`;
  });
  return ['| Alert | When | Why | First |', '|---|---|---|---|', ...rows].join('\n');
}

/** Matches the section's table, from its head to its last row. */
const TABLE = /(?<=\n## Alerts worth having\n(?:(?!\n## )[\s\S])*?\n)\|[^\n]*(?:\n\|[^\n]*)*/;

/** @returns the page with the table of these alerts @throws if the page has no table under that heading */
export function withAlertTable(page: string, alerts: readonly Alert[]): string {
  if (!TABLE.test(page)) throw new Error('The page has no table under "Alerts worth having".');
  return page.replace(TABLE, () => alertTable(alerts));
}
