/** Compares docs/operating.md with the metrics and settings. A renamed metric, label or reason would break alerts. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { serviceDefinitions } from '../../adapters/telemetry/service-metrics.ts';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../composition/settings/given-settings.ts';
import { isMetric, metricsIn, unknownNames } from '../support/metric-names.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const definitions = serviceDefinitions;

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
      definitions.map(({ name, labelNames = [], help }) => [
        name,
        labelNames.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    );
  });

  it('names only existing metrics', () => {
    const named = metricsIn(page).filter((name) => name !== 'up');
    expect(named.length).to.be.greaterThan(40);
    expect(named.filter((name) => !isMetric(name))).to.deep.equal([]);
  });

  it('has alerts only on existing metrics and label values', () => {
    const alerts = [...section('Alerts worth having').matchAll(/^\| \w+ \| `([^`]+)`.*\|.*\|.*\|$/gm)].map(
      ([, expression = '']) => expression.replaceAll('\\|', '|'),
    );
    expect(alerts.length).to.be.greaterThan(15);
    expect(alerts.flatMap(unknownNames)).to.deep.equal([]);
  });

  it('names only existing settings', () => {
    const named = [...page.matchAll(/`(Service:[A-Za-z0-9:]+[A-Za-z0-9])(?=[`:…])/g)].map(([, key = '']) => key);
    expect(named.length).to.be.greaterThan(10);
    const isKnown = (key: string) =>
      catalogueKeyOf(key) !== undefined || Object.keys(catalogue).some((known) => known.startsWith(`${key}:`));
    expect(named.filter((key) => !isKnown(key))).to.deep.equal([]);
  });

  it('links only to headings of the page', () => {
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, anchor] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).to.include(anchor);
  });
});
