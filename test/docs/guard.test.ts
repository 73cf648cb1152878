/** Compares docs/guard.md with the guard. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { guardMetrics } from '../../adapters/sdk/tool-server/guard/guard-metrics.ts';
import { identityHeaders } from '../../adapters/sdk/tool-server/guard/identity-headers.ts';
import { readGuardFile } from '../../composition/guard/read-guard-file.ts';

const page = await readFile('docs/guard.md', 'utf8');

describe('docs/guard.md', () => {
  it('lists every field of the file, with the defaults of the schema', async () => {
    const { properties } = JSON.parse(await readFile('adapters/sdk/tool-server/guard/guard.schema.json', 'utf8'));
    const rows =
      page
        .split('## The file')[1]
        ?.split('\nA **match**')[0]
        ?.match(/^\| `.*$/gm) ?? [];
    const listed = rows
      .map((row) => /^\| `(\w+)` \| (\S+)/.exec(row)?.slice(1))
      .slice(0, Object.keys(properties).length);
    expect(listed.map((cells) => cells?.[0])).to.deep.equal(Object.keys(properties));
    for (const cells of listed) {
      const { default: value } = properties[cells?.[0] ?? ''];
      if (value !== undefined) expect(cells?.[1]?.replaceAll('`', '')).to.equal(String(value));
    }
  });

  it('lists the headers and the metrics', () => {
    for (const name of Object.keys(identityHeaders(undefined))) expect(page).to.include(`| \`${name}\` |`);
    const metrics = [
      ...guardMetrics()
        .text()
        .matchAll(/^# TYPE (\S+)/gm),
    ].map(([, name]) => name);
    expect(metrics).to.have.lengthOf(2);
    for (const name of metrics) expect(page).to.include(`| \`${name}\` |`);
  });

  it('shows an example that the guard accepts', async () => {
    const example = 'docs/examples/guard/decide.yaml';
    const [, shown = ''] =
      page.match(/^<!-- from docs\/examples\/guard\/decide\.yaml -->\n```yaml\n(.*?)^```$/ms) ?? [];
    expect(await readFile(example, 'utf8')).to.include(shown);
    expect(await readGuardFile(example)).to.deep.include({ kind: 'usable', overlaps: [] });
  });
});
