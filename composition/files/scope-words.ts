/** Reads the file of `Service:Me:ScopeDescriptions`: what each scope is called on the page `/me`. */

import { readFile } from 'node:fs/promises';
import { languages } from '../../adapters/http/browser/language.ts';
import type { ScopeWords } from '../../adapters/http/browser/scope-words.ts';
import { isScopeToken } from '../../domain/scope.ts';
import type { Json } from '../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../domain/tokens/strict-utf8.ts';
import { isBlank } from '../../domain/visible.ts';
import { describeSettingError, StartupError } from '../settings/startup-error.ts';

const SETTING = 'Service:Me:ScopeDescriptions';
const ACCEPTED = `a YAML or JSON file that maps each scope to a sentence, or to one for each of ${languages.join(', ')}`;
/** Longer text would not fit on a line of the page. */
const LONGEST_SENTENCE = 200;

/** @throws StartupError if the file cannot be used */
export async function loadScopeWords(path: string): Promise<ScopeWords> {
  const refused = (problem: string) =>
    new StartupError([describeSettingError({ key: SETTING, problem, accepted: ACCEPTED })]);
  const bytes = await readFile(path).catch(() => {
    throw refused('names a file that cannot be read');
  });
  const { readYaml } = await import('../../adapters/cli/yaml/yaml-documents.ts');
  // The reader of YAML ignores a byte order mark.
  const text = readUtf8(bytes);
  if (text === undefined) throw refused('names a file that is not UTF-8');
  const { mappings, problems } = readYaml(text);
  const [mapping, ...others] = mappings;
  const fields = [...(mapping?.fields ?? [])];
  const wrong = [
    ...problems.map(({ line }) => line),
    ...others.map(({ line }) => line),
    ...fields.filter(([scope, { value }]) => !isScopeToken(scope) || !isWording(value)).map(([, { line }]) => line),
  ];
  if (wrong.length > 0) throw refused(`names a file with an error in line ${Math.min(...wrong)}`);
  if (mapping === undefined) throw refused('names an empty file');
  return new Map(fields.map(([scope, { value }]) => [scope, value])) as ScopeWords;
}

function isWording(value: Json): boolean {
  if (typeof value === 'string') return isSentence(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([name, words]) => isLanguage(name) && isSentence(words));
}

const isLanguage = (name: string) => languages.some((language) => language === name);
const isSentence = (value: unknown) => typeof value === 'string' && !isBlank(value) && value.length <= LONGEST_SENTENCE;
