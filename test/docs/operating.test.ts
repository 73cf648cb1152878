/** Compares docs/operating.md with the metrics and settings: renaming a metric, a label or a reason breaks alerts. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { processMetrics, serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { outcomes, surfaces } from '../../application/ports/telemetry.ts';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../composition/settings/given-settings.ts';
import { denialReasons } from '../../domain/denial.ts';
import { ledgerEvents } from '../../domain/ledger/record.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const definitions = serviceDefinitions;

/** The values of each label that an alert may select. */
const LABEL_VALUES: Readonly<Record<string, readonly string[]>> = {
  surface: surfaces,
  outcome: outcomes,
  event: ledgerEvents,
  reason: [...denialReasons, 'missing_api_key', 'invalid_api_key'],
  pool: ['serving', 'stopping', 'draining', 'readiness', 'thread'],
  state: ['used', 'free', 'most', 'waiting', 'failing', 'active', 'published', 'wanted', 'answered'],
  job: ['mandate'],
  owner: ['identity_provider', 'transmitter'],
};

function section(title: string): string {
  const from = page.indexOf(`\n## ${title}\n`);
  const to = page.indexOf('\n## ', from + 1);
  if (from === -1) throw new Error(`the page has no section ${title}`);
  return page.slice(from, to === -1 ? undefined : to);
}

describe('docs/operating.md', () => {
  it('lists every metric with its labels and its HELP text', () => {
    const rows = [...section('Metrics').matchAll(/^\| `(mandate_\w+)` \| (.*?) \| (.*) \|$/gm)].map(
      ([, name, labels, help]) => [name, labels, help],
    );
    expect(rows).to.deep.equal(
      definitions.map(({ name, labelNames, help }) => [
        name,
        labelNames.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    );
  });

  it('names only existing metrics', () => {
    const known = new Set([
      ...definitions.map(({ name }) => String(name)),
      ...processMetrics()
        .getMetricsAsArray()
        .map(({ name }) => name),
    ]);
    const named = [...page.matchAll(/\b(?:mandate|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) => name);
    expect(named.length).to.be.greaterThan(40);
    const isKnown = (name: string) => known.has(name) || known.has(name.replace(/_(bucket|count|sum)$/, ''));
    expect(named.filter((name) => !isKnown(name))).to.deep.equal([]);
  });

  it('has alerts only on existing label values', () => {
    const alerts = [...section('Alerts worth having').matchAll(/^\| `([^`]+)`.*\|.*\|.*\|$/gm)].map(
      ([, expression = '']) => expression.replaceAll('\\|', '|'),
    );
    expect(alerts.length).to.be.greaterThan(15);
    for (const expression of alerts) {
      for (const [, label = '', values = ''] of expression.matchAll(/[{,](\w+)(?:=~|!=|=)"([^"]*)"/g)) {
        expect(LABEL_VALUES[label], `${label} in ${expression}`).to.include.members(values.split('|'));
      }
    }
  });

  it('names only existing settings', () => {
    const named = [...page.matchAll(/`(Service:[A-Za-z0-9:]+[A-Za-z0-9])(?=[`:…])/g)].map(([, key = '']) => key);
    expect(named.length).to.be.greaterThan(10);
    const isKnown = (key: string) =>
      catalogueKeyOf(key) !== undefined || Object.keys(catalogue).some((known) => known.startsWith(`${key}:`));
    expect(named.filter((key) => !isKnown(key))).to.deep.equal([]);
  });

  it('links only to its existing headings', () => {
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, anchor] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).to.include(anchor);
  });
});
