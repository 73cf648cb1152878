/**
 * What docs/configuration.md says about settings that exclude or need each other. The sentences have these forms, in a
 * row of the table; names are those of settings beside the row's own:
 *
 * - "Refused without `A` and `B`", "Refused with `A`", "Refused unless `A` is an https URL"
 * - "Required with `A`", "required on `postgres`", "refused under `signals`"; several are joined by "and" and commas
 * - "Either this or `A`"; this and the forms above also after "Under `poll`,"
 * - "It needs `A` and `B`", "`true` needs `A`"
 */

import { keyAt } from '../../../composition/settings/given-settings.ts';
import type { Texts } from './sources.ts';

type Obligation = 'refused' | 'required';

export interface Statement {
  /** The setting that is refused or required. */
  readonly key: string;
  readonly obligation: Obligation;
  /** The settings that the condition reads. */
  readonly names: readonly string[];
  holds(texts: Texts): boolean;
}

/** The engines and modes that sentences name, with the setting and its default. */
const MODES: Readonly<Record<string, { readonly key: string; readonly byDefault: string }>> = {
  postgres: { key: 'Service:Database:Provider', byDefault: 'postgres' },
  sqlite: { key: 'Service:Database:Provider', byDefault: 'postgres' },
  poll: { key: 'Service:UpstreamIdp:SponsorCheck:Mode', byDefault: 'poll' },
  signals: { key: 'Service:UpstreamIdp:SponsorCheck:Mode', byDefault: 'poll' },
};

const LIST = '`[^`]+`(?:(?: and|,) `[^`]+`)*';
const CONDITIONS = new RegExp(`\\b(without|unless|with|on|under) (${LIST})`, 'g');
const SENTENCE = new RegExp(
  `(?:Under \`(\\w+)\`, )?\\b(refused|required) ((?:(?:and |, )?(?:without|unless|with|on|under) ${LIST}(?: is an https URL)?(?=[ .,;])[ ]?)+)`,
  'gi',
);

/** The page's table: the key of each row, with its meaning. */
export function statedMeanings(page: string): ReadonlyMap<string, string> {
  const rows = [...page.matchAll(/^\| `([^`]+)` \|.*\| (.*) \|$/gm)];
  return new Map(rows.map(([, key = '', meaning = '']) => [keyAt(key, 0, 'audience'), meaning]));
}

export function statements(meanings: ReadonlyMap<string, string>): readonly Statement[] {
  const keys = [...meanings.keys()];
  return [...meanings].flatMap(([key, meaning]) => statementsOf(key, meaning, keys));
}

function statementsOf(key: string, meaning: string, keys: readonly string[]): readonly Statement[] {
  const named = (list = '') => [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const resolved = (list = '') => named(list).map((name) => resolve(name, key, keys));
  const found: Statement[] = [];
  const add = (of: string, obligation: Obligation, names: readonly string[], holds: Statement['holds']) =>
    found.push({ key: of, obligation, names, holds });

  for (const [, mode, verb = '', conditions = ''] of meaning.matchAll(SENTENCE)) {
    const obligation = verb.toLowerCase() as Obligation;
    for (const [, preposition = '', list = ''] of conditions.matchAll(CONDITIONS)) {
      const [first = ''] = named(list);
      const setting = MODES[first]?.key;
      if (setting !== undefined) {
        add(key, obligation, [setting], (texts) => named(list).some((each) => isIn(texts, each)));
        continue;
      }
      const names = resolved(list);
      const isAny = (texts: Texts) => names.some((name) => isSet(texts, name));
      add(key, obligation, names, (texts) => isIn(texts, mode) && isAny(texts) === (preposition === 'with'));
    }
  }
  // "Required with `A`, refused without."
  const [, again] = /Required with (`[^`]+`), refused without\./.exec(meaning) ?? [];
  for (const name of resolved(again)) add(key, 'refused', [name], (texts) => !isSet(texts, name));

  const [, mode, other] = /(?:Under `(\w+)`, either|Either) this or (`[^`]+`)/.exec(meaning) ?? [];
  for (const name of resolved(other)) {
    add(key, 'refused', [name], (texts) => isIn(texts, mode) && isSet(texts, name));
    add(key, 'required', [name], (texts) => isIn(texts, mode) && !isSet(texts, name));
  }

  for (const [, subject, list] of meaning.matchAll(new RegExp(`(It|\`true\`) needs (${LIST})`, 'g'))) {
    const needs = (texts: Texts) => (subject === 'It' ? isSet(texts, key) : texts[key] === 'true');
    for (const name of resolved(list)) add(name, 'required', [key], needs);
  }
  return found;
}

/** Whether the engine or mode is the chosen one. @param mode `undefined` for any */
function isIn(texts: Texts, mode: string | undefined): boolean {
  if (mode === undefined) return true;
  const { key, byDefault } = MODES[mode] ?? { key: '', byDefault: '' };
  return (texts[key] || byDefault) === mode;
}

export function isSet(texts: Texts, key: string): boolean {
  return (texts[key] ?? '') !== '';
}

/** `Audience` in the row of `Service:Me:Pause` is `Service:Me:Audience`. @throws if no row has such a key */
function resolve(name: string, key: string, keys: readonly string[]): string {
  const parts = key.split(':').slice(0, -1);
  for (let length = parts.length; length >= 0; length--) {
    const candidate = [...parts.slice(0, length), name].join(':');
    if (keys.includes(candidate)) return candidate;
  }
  throw new Error(`docs/configuration.md, ${key}: no setting has the name ${name}`);
}
