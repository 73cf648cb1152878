import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeUnknownSetting, settingSources } from '../../../composition/settings/given-settings.ts';
import { readSettings, readSettingsSection } from '../../../composition/settings/read-settings.ts';
import { describeSettingError } from '../../../composition/settings/startup-error.ts';
import { runCommand } from '../../support/command-process.ts';
import { environment, startable, type Texts } from './sources.ts';

const API_KEY = 'sesame-'.repeat(6);

describe('The files of Service:Secrets:Path', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-setting-files-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const sources = (changes: Texts = {}, overrides: { key: string; value: string }[] = []) =>
    settingSources({
      environment: environment({ ...startable, 'Service:Secrets:Path': folder, ...changes }),
      overrides,
    });
  const errors = (...given: Parameters<typeof sources>) => {
    const result = readSettings(sources(...given));
    return result.kind === 'invalid' ? result.errors.map(describeSettingError) : [];
  };
  const file = (name: string, content: string) => writeFileSync(join(folder, name), content);

  it('are settings: named like the variable, without a last line break, empty means unset', () => {
    // As Kubernetes mounts a Secret: links to a hidden folder that a later version replaces.
    mkdirSync(join(folder, '..2026'));
    file('..2026/Service__Admin__ApiKey', `${API_KEY}\n`);
    symlinkSync('..2026/Service__Admin__ApiKey', join(folder, 'Service__Admin__ApiKey'));
    file('Service__Signing__Keys__0__Kid', 'spring\r\n');
    file('Service__Scim__BearerToken', '\n');
    const result = readSettings(sources());
    if (result.kind === 'invalid') throw new Error(JSON.stringify(result.errors));
    expect(result.settings['Service:Admin:ApiKey']?.reveal()).to.equal(API_KEY);
    expect(result.settings['Service:Signing:Keys'][0]).to.include({ Kid: 'spring' });
    expect(result.settings['Service:Scim:BearerToken']).to.equal(undefined);
    expect(result.unknown).to.deep.equal([]);
  });

  it('are overridden by the command line, which can also name the folder', () => {
    file('Service__UpstreamIdp__SponsorKeyClaim', 'oid');
    const here = { key: 'Service:Secrets:Path', value: folder };
    const claim = (...overrides: { key: string; value: string }[]) => {
      const result = readSettings(sources({ 'Service:Secrets:Path': '/missing' }, [here, ...overrides]));
      return result.kind === 'valid' && result.settings['Service:UpstreamIdp:SponsorKeyClaim'];
    };
    expect(claim()).to.equal('oid');
    expect(claim({ key: 'Service:UpstreamIdp:SponsorKeyClaim', value: 'upn' })).to.equal('upn');
  });

  it('are refused if the variable is set too, without their content', () => {
    file('Service__Issuer', API_KEY);
    const [said, ...others] = errors();
    expect(said).to.equal(
      'Service:Issuer (Service__Issuer) is given as a variable and as a file. Accepted: one of the two.',
    );
    expect(others.join()).not.to.contain('sesame');
  });

  it('are reported as unknown whatever their names are', () => {
    file('Service__Admin__ApiKye', API_KEY);
    file('admin-key', API_KEY);
    expect(readSettings(sources()).unknown.map(describeUnknownSetting)).to.have.members([
      'Service__Admin__ApiKye is not a setting of this service and is ignored. Did you mean Service__Admin__ApiKey?',
      'admin-key is not a setting of this service and is ignored.',
    ]);
  });

  const unusable: readonly (readonly [string, (path: string) => void, string])[] = [
    ['a folder', (path) => mkdirSync(path), 'a folder or device'],
    [
      'a file that no variable could hold',
      (path) => writeFileSync(path, 'x'.repeat(131_073)),
      'a file of more than 131072 bytes',
    ],
    [
      'a file that is not UTF-8',
      (path) => writeFileSync(path, Buffer.from('sesame\xff', 'latin1')),
      'a file that is not UTF-8',
    ],
  ];
  for (const [what, make, problem] of unusable) {
    it(`refuse a start if a setting is ${what}, and report another name as unknown`, () => {
      make(join(folder, 'Service__UpstreamIdp__SponsorKeyClaim'));
      make(join(folder, 'kubernetes.io'));
      expect(errors()).to.deep.equal([
        `Service:UpstreamIdp:SponsorKeyClaim (Service__UpstreamIdp__SponsorKeyClaim) is given as ${problem}. Accepted: a file with its value.`,
      ]);
      expect(readSettings(sources()).unknown.map(({ name }) => name)).to.deep.equal(['kubernetes.io']);
    });
  }

  it('are read without a byte order mark', () => {
    file('Service__Admin__ApiKey', `\uFEFF${API_KEY}`);
    expect(errors()).to.deep.equal([]);
  });

  it('with a control character in their names are named without it', () => {
    symlinkSync('nowhere', join(folder, 'key\u001b[31m'));
    expect(errors().join()).to.include('a file key?[31m that does not exist');
  });

  it('refuse a start if the folder or a file of it cannot be read, with all other errors, and in every section', () => {
    const missing = { 'Service:Secrets:Path': join(folder, 'nowhere') };
    const named = (problem: string) =>
      `Service:Secrets:Path (Service__Secrets__Path) names a folder ${problem}. Accepted: the path of a folder.`;
    expect(errors({ ...missing, 'Service:Issuer': 'no' })).to.deep.equal([
      named('that does not exist'),
      'Service:Issuer (Service__Issuer) is not an absolute http or https URL. Accepted: an absolute http or https URL without user information, query or fragment.',
    ]);
    const database = readSettingsSection(sources(missing), 'Service:Database');
    expect(database.kind === 'invalid' && database.errors.map(describeSettingError)).to.deep.equal([
      named('that does not exist'),
    ]);
    symlinkSync('nowhere', join(folder, 'Service__Admin__ApiKey'));
    expect(errors()).to.deep.equal([named('with a file Service__Admin__ApiKey that does not exist')]);
    file('plain', '');
    expect(errors({ 'Service:Secrets:Path': join(folder, 'plain') })).to.deep.equal([named('that cannot be read')]);
  });

  it('reach every command: migrate reads its connection from one, and prints no secret', async function () {
    this.timeout(60_000);
    file('Service__Database__ConnectionString', 'sesame');
    const { code, out, err } = await runCommand(['migrate'], {
      'Service:Secrets:Path': folder,
    });
    expect(code).to.equal(1);
    expect(err).to.match(/^mandate: Service:Database:ConnectionString \(Service__Database__ConnectionString\) /);
    expect(`${out}${err}`).not.to.contain('sesame');
  });
});
