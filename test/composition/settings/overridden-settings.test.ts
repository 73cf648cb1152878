import { expect } from 'chai';
import { readSettings, readSettingsSection } from '../../../composition/settings/read-settings.ts';
import { describeSettingError } from '../../../composition/settings/startup-error.ts';
import { environment, onSqlite, startable } from './sources.ts';

describe('A setting on the command line', () => {
  const read = (...overrides: { key: string; value: string }[]) =>
    readSettings({ environment: environment(startable), overrides });

  it('overrides the environment', () => {
    const result = read(
      { key: 'Service:Issuer', value: 'https://other.example' },
      { key: 'Service:Signing:Keys:0:Kid', value: 'winter' },
    );
    expect(result.kind).to.equal('valid');
    if (result.kind !== 'valid') return;
    expect(result.settings['Service:Issuer']).to.equal('https://other.example');
    expect(result.settings['Service:Signing:Keys'][0]).to.include({ Path: '/run/secrets/signing.pem', Kid: 'winter' });
  });

  it('unsets a variable if it is empty', () => {
    const result = read({ key: 'Service:Issuer', value: '' });
    expect(result).to.include({ kind: 'invalid' });
  });

  it('unsets a removed or unknown variable if it is empty', () => {
    const sources = { ...environment(startable), Service__Audit__Chains: '4', Service__Typo: 'x' };
    const overrides = ['Service:Audit:Chains', 'Service:Typo'].map((key) => ({ key, value: '' }));
    expect(readSettings({ environment: sources, overrides })).to.deep.include({ kind: 'valid', unknown: [] });
    const again = overrides.map(({ key }) => ({ key, value: '4' }));
    const refused = readSettings({ environment: sources, overrides: again });
    expect(refused.kind === 'invalid' && refused.errors.map(({ key }) => key)).to.deep.equal(['Service:Audit:Chains']);
    expect(refused.unknown.map(({ name }) => name)).to.deep.equal(['--Service:Typo']);
  });

  it('is refused if it is repeated', () => {
    const result = read({ key: 'Service:Issuer', value: 'https://a.example' }, { key: 'Service:Issuer', value: '' });
    expect(result.kind === 'invalid' && result.errors.map(describeSettingError)).to.deep.include(
      'Service:Issuer (Service__Issuer) is given more than once on the command line. Accepted: one value.',
    );
  });
});

describe('A section of the settings', () => {
  it('can be read although the rest of the settings is absent or invalid', () => {
    const result = readSettingsSection(
      { environment: environment(onSqlite), overrides: [{ key: 'Service:Issuer', value: 'nonsense' }] },
      'Service:Database',
    );
    expect(result.kind === 'valid' && result.settings).to.deep.equal({
      'Service:Database:Provider': 'sqlite',
      'Service:Database:ConnectionString': undefined,
      'Service:Database:MigrationConnectionString': undefined,
      'Service:Database:Path': '/var/lib/mandate.db',
    });
  });

  it('can be read in part, without the other settings of the section', () => {
    const part = (months: string) =>
      readSettingsSection(
        {
          environment: { Service__Audit__Partitions__MonthsAhead: months, Service__Audit__Chains: '4' },
          overrides: [],
        },
        'Service:Audit:Partitions',
      );
    const result = part('5');
    expect(result.kind === 'valid' && result.settings).to.deep.equal({ 'Service:Audit:Partitions:MonthsAhead': 5 });
    expect(part('13').kind).to.equal('invalid');
  });

  it('applies its own rules and no others', () => {
    const result = readSettingsSection(
      { environment: { Service__Audit__Chains: '4', Service__Typo: 'x' }, overrides: [] },
      'Service:Database',
    );
    expect(result.unknown.map(({ name }) => name)).to.deep.equal(['Service__Typo']);
    expect(result.kind === 'invalid' && result.errors.map(({ key }) => key)).to.deep.equal([
      'Service:Database:ConnectionString',
    ]);
  });
});
