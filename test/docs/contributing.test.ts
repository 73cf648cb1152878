/** The README and CONTRIBUTING name only commands that exist, and CONTRIBUTING says what each folder holds. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const text = (path: string) => readFileSync(at(path), 'utf8');
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };

/** The names of the folders in a folder. */
const foldersIn = (path: string) =>
  readdirSync(at(`${path}/`), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

describe('The README and CONTRIBUTING', () => {
  it('name only commands that package.json has', () => {
    const commands = [...`${text('README.md')}${text('CONTRIBUTING.md')}`.matchAll(/(?<=^|`)npm (?:run )?([a-z:]+)/gm)];
    const names = commands.map(([, name = '']) => name);
    expect(names).to.include.members(['quickstart', 'test', 'test:long', 'bench']);
    for (const name of names) expect(scripts).to.have.property(name);
  });
});

describe('CONTRIBUTING', () => {
  const [, inside = ''] = text('CONTRIBUTING.md').split('\n| Folder | Holds |\n');
  const [table = ''] = inside.split('\n\n');
  const rows = new Map(
    [...table.matchAll(/^\| `([\w/-]+)` \| (.*) \|$/gm)].map(([, path = '', holds = '']) => [path, holds]),
  );

  it('has a row for each folder of adapters', () => {
    expect([...rows.keys()]).to.include.members(foldersIn('adapters').map((name) => `adapters/${name}`));
  });

  it('says in the row of a folder which folders it has', () => {
    expect([...rows.keys()]).to.include.members(['domain', 'application', 'composition', 'scripts', 'test']);
    const code = ['domain', 'application', 'adapters', 'composition', 'scripts'];
    for (const [path, holds] of rows) {
      const folders = foldersIn(path).filter((name) => path !== 'test' || !code.includes(name));
      const named = [...holds.matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
      expect(named, path).to.include.members(folders);
    }
  });
});
