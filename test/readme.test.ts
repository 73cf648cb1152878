/** The commands and paths that the README names exist. */

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readSettings } from '../composition/settings/read-settings.ts';
import { endsPeople } from './support/ends-people.ts';

const at = (path: string) => new URL(`../${path}`, import.meta.url);
const readme = readFileSync(at('README.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { scripts: Record<string, string> };

describe('the README', () => {
  it('names only commands that package.json has', () => {
    const commands = [...readme.matchAll(/npm (?:run )?([a-z:]+)(?= |`|\n|$)/g)].map((match) => match[1]);
    expect(commands).to.include.members(['quickstart', 'test', 'test:long', 'bench']);
    for (const command of commands)
      if (!['ci', 'install'].includes(String(command))) expect(scripts).to.have.property(String(command));
  });

  it('starts a service with valid settings, which notices that the identity provider disabled a person', () => {
    const settings = [...readme.matchAll(/^export (Service__\w+)=(\S+)/gm)].map(([, name, value = '']) => [
      name,
      value.replace('…', 'a'.repeat(32)),
    ]);
    const result = readSettings({ environment: Object.fromEntries(settings), overrides: [] });
    expect(result).to.deep.include({ kind: 'valid', unknown: [] });
    if (result.kind === 'valid') expect(endsPeople(result.settings)).to.equal(true);
  });

  it('names only paths that exist', () => {
    const linked = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map((match) => String(match[1]));
    const quoted = [...readme.matchAll(/`((?:domain|application|adapters|composition|test|docs)\/[\w./-]+)`/g)];
    for (const path of [...linked, ...quoted.map((match) => String(match[1]))])
      expect(existsSync(at(path)), path).to.equal(true);
  });
});
