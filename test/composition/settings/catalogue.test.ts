import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { catalogue, removedSettings } from '../../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../../composition/settings/given-settings.ts';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import type { Setting } from '../../../composition/settings/setting.ts';
import { computedDefaults } from '../../../composition/settings/settings.ts';
import { areas, settingsTable, withTables } from './settings-table.ts';

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

describe('The catalogue of settings', () => {
  it('has only defaults that the type of the setting accepts', () => {
    for (const [key, setting] of entries) {
      if (setting.presence === 'defaulted') {
        expect(setting.type.read(setting.default ?? ''), key).to.include({ kind: 'read' });
      }
    }
  });

  it('has a computed default for exactly the settings that declare one', () => {
    const computed = entries.filter(([, setting]) => setting.presence === 'computed').map(([key]) => key);
    expect(Object.keys(computedDefaults)).to.have.members(computed);
  });

  it('requires no setting of a list entry, because a list may be empty', () => {
    for (const [key, setting] of entries) {
      if (key.includes(':N:')) expect(setting.presence, key).to.equal('optional');
    }
  });

  it('has keys that differ in more than letter case, and no removed key', () => {
    const keys = entries.map(([key]) => key.toLowerCase());
    expect(new Set(keys).size).to.equal(keys.length);
    expect(Object.keys(catalogue)).not.to.include.members(Object.keys(removedSettings));
  });

  it('describes each setting in whole sentences', () => {
    for (const [key, { meaning }] of entries) expect(meaning, key).to.match(/^[A-Z`].*\.$/);
  });
});

const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

describe('The table of settings', () => {
  const lines = settingsTable().trimEnd().split('\n');
  const rowOf = (key: string) => lines.find((line) => line.startsWith(`| \`${key}\` |`));

  it('is a Markdown table with a row for each setting, in the order of the catalogue', () => {
    expect(lines.slice(0, 2)).to.deep.equal([
      '| Setting | Accepted | Default | Meaning |',
      '| --- | --- | --- | --- |',
    ]);
    expect(lines.slice(2).map((line) => line.split('`')[1])).to.deep.equal(Object.keys(catalogue));
    for (const line of lines) expect(line.split(/(?<!\\)\|/)).to.have.length(6);
  });

  it('shows required settings, unset settings and defaults', () => {
    expect(rowOf('Service:Issuer')).to.contain('| required |');
    expect(rowOf('Service:Signing:Keys:N:Path')).to.contain('| unset |');
    expect(rowOf('Service:Tokens:DefaultTaskTtl')).to.contain('| `PT30M` |');
    expect(rowOf('HOST')).to.contain('| `127.0.0.1` on a development host, else `0.0.0.0` |');
  });

  it('marks the settings that are secrets', () => {
    const secret = lines.filter((line) => line.includes('| secret: ')).map((line) => line.split('`')[1]);
    expect(secret).to.deep.equal([
      'Service:UpstreamIdp:SponsorCheck:BearerToken',
      'Service:Scim:BearerToken',
      'Service:Scim:PreviousBearerToken',
      'Service:Database:ConnectionString',
      'Service:Database:MigrationConnectionString',
      'Service:Signing:Keys:N:Pem',
      'Service:Admin:ApiKey',
      'Service:Ssf:BearerToken',
      'Service:Ssf:PreviousBearerToken',
      'Service:Approvals:Notify:BearerToken',
      'Service:Audit:Sink:BearerToken',
      'Service:Audit:Log:Key:Pem',
    ]);
  });

  it('puts each setting into one area, and has no empty area', () => {
    const keys = Object.keys(areas).flatMap((area) =>
      settingsTable(area)
        .trimEnd()
        .split('\n')
        .slice(2)
        .map((line) => line.split('`')[1]),
    );
    expect(keys).to.have.members(Object.keys(catalogue));
    for (const area of Object.keys(areas)) expect(settingsTable(area).split('\n'), area).to.have.length.greaterThan(3);
  });

  it('is part of docs/configuration.md, area by area, unchanged', () => {
    expect(withTables(page)).to.equal(page);
    const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).to.deep.equal(Object.keys(areas));
  });

  it('has an example for each area of the page with settings of that area; together the examples are valid', () => {
    const environment: Record<string, string> = {};
    for (const section of page.split(/^## /m).slice(1)) {
      const [, example = ''] = /^```sh\n(.*?)^```$/ms.exec(section) ?? [];
      const pairs = [...example.matchAll(/^(\w+)=(\S+)$/gm)];
      expect(pairs, section.split('\n')[0]).to.have.lengthOf(example.trimEnd().split('\n').length);
      for (const [, variable = '', value = ''] of pairs) {
        const key = catalogueKeyOf(variable.replaceAll('__', ':'));
        expect(section, variable).to.include(`| \`${key}\` |`);
        environment[variable] = value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => name.padEnd(32, '-'));
      }
    }
    expect(readSettings({ environment, overrides: [] })).to.deep.include({ kind: 'valid', unknown: [] });
  });
});
