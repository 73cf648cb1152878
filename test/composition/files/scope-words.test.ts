import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadScopeWords } from '../../../composition/files/scope-words.ts';
import { StartupError } from '../../../composition/settings/startup-error.ts';

describe('The file of Service:Me:ScopeDescriptions', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-scope-words-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const load = (text?: string | Uint8Array) => {
    const path = join(folder, 'scopes.yaml');
    if (text !== undefined) writeFileSync(path, text);
    return loadScopeWords(path);
  };

  it('describes scopes in one sentence or in one for each language, in YAML and in JSON', async () => {
    const words = [
      ['jira:read', 'Read your issues'],
      ['jira:comment', { en: 'Comment', de: 'Kommentieren' }],
    ];
    const yaml = 'jira:read: Read your issues\njira:comment: { en: Comment, de: Kommentieren }\n';
    expect([...(await load(yaml))]).to.deep.equal(words);
    expect([...(await load(JSON.stringify(Object.fromEntries(words))))]).to.deep.equal(words);
  });

  for (const [name, text, problem] of [
    ['is not there', undefined, 'cannot be read'],
    ['is empty', '', 'names an empty file'],
    ['is not YAML', 'a: b\nc: [', 'an error in line 2'],
    ['is not UTF-8', Buffer.from('a: \u00fc', 'latin1'), 'is not UTF-8'],
    ['repeats a scope', 'a: b\na: c', 'an error in line 2'],
    ['has a scope that cannot exist', 'a: b\n"c d": e', 'an error in line 2'],
    ['has an unknown language', 'a: { fr: b }', 'an error in line 1'],
    ['has no words', 'a: { en: "" }', 'an error in line 1'],
    ['has something else than words', 'a: b\nc: 7', 'an error in line 2'],
    ['has a sentence as long as a page', `a: ${'b'.repeat(201)}`, 'an error in line 1'],
    ['is no mapping', '- a', 'an error in line 1'],
  ] as const) {
    it(`keeps the service from starting if it ${name}`, async () => {
      const error = await load(text).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(StartupError);
      expect(String(error)).to.contain('Service:Me:ScopeDescriptions').and.contain(problem);
    });
  }
});
