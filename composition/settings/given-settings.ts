/**
 * The operator's settings as text, from the environment and the command line (specification "Configuration rules": `:`
 * reads `__` in a variable, empty means unset, command-line arguments override), and from files if the operator names a
 * folder.
 */

import { nearest } from '../../adapters/platform/nearest.ts';
import { readSettingFiles, type SettingFiles } from '../../adapters/platform/setting-files.ts';
import { catalogue, removedSettings } from './catalogue.ts';
import type { CatalogueKey } from './settings.ts';
import { type SettingError, variableOf } from './startup-error.ts';

export interface SettingSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The files of the folder `SETTINGS_FOLDER`; absent if that is not set. */
  readonly files?: SettingFiles | undefined;
  /** Arguments of the command line, in order: `--Service:Issuer=…` has the key `Service:Issuer`. */
  readonly overrides: readonly { readonly key: string; readonly value: string }[];
}

/** An unknown setting. It is ignored, with a warning. */
export interface UnknownSetting {
  /** The variable or the argument, as it was written. */
  readonly name: string;
  /** The setting that was probably meant, in the same notation. */
  readonly meant: string | undefined;
}

export interface GivenSettings {
  text(key: string): string | undefined;
  /** The numbers of the list's items that have any setting, in ascending order. */
  numbers(list: string): readonly number[];
  /** The given names of a setting whose key ends with `<name>`, in ascending order. @param map the part before it */
  names(map: string): readonly string[];
  readonly errors: readonly SettingError[];
  readonly unknown: readonly UnknownSetting[];
  /** Whether no setting below `Service` is given. `HOST` and `PORT` may be meant for another program. */
  readonly isEmpty: boolean;
}

interface Given {
  readonly value: string;
  /** The variable or the argument, as it was written. */
  readonly name: string;
  readonly meant: () => string | undefined;
}

/** The setting that names the folder. No file in the folder can set it. */
export const SETTINGS_FOLDER = 'Service:Secrets:Path';

/** The sources of a process, with the files of the folder that its arguments or its environment name. */
export function settingSources(sources: Omit<SettingSources, 'files'>): SettingSources {
  const folder = givenSettings(sources).text(SETTINGS_FOLDER);
  return folder === undefined ? sources : { ...sources, files: readSettingFiles(folder) };
}

export function givenSettings(sources: SettingSources): GivenSettings {
  const errors: SettingError[] = [];
  const given = new Map<string, Given>();

  const take = (name: string, value: string) => {
    const key = name.replaceAll('__', ':');
    const meant = () => mapped(meantBy(key), variableOf);
    // A variable spells `:` as `__`. A name with a colon is unknown: it is stored under a key that no setting has.
    given.set(name.includes(':') ? `${name} ` : key, { value, name, meant });
  };
  for (const [name, value] of Object.entries(sources.environment)) {
    if (value === undefined || value === '' || !(isPlainKey(name) || LOOKS_LIKE_OURS.test(name))) continue;
    take(name, value);
  }
  const { files } = sources;
  if (files?.kind === 'unusable') {
    errors.push({ key: SETTINGS_FOLDER, problem: files.problem, accepted: catalogue[SETTINGS_FOLDER].type.accepts });
  } else {
    // Each file of this folder can only be meant for this service, whatever its name.
    for (const [name, content] of files?.contents ?? []) {
      const key = name.replaceAll('__', ':');
      if ('problem' in content && catalogueKeyOf(key) !== undefined) {
        errors.push({ key, problem: content.problem, accepted: 'a file with its value' });
      } else if (content.text !== '') {
        if (given.has(key))
          errors.push({ key, problem: 'is given as a variable and as a file', accepted: 'one of the two' });
        take(name, content.text ?? '');
      }
    }
  }

  const overridden = new Set<string>();
  for (const { key, value } of sources.overrides) {
    if (overridden.has(key)) {
      errors.push({ key, problem: 'is given more than once on the command line', accepted: 'one value' });
    }
    overridden.add(key);
    // An empty argument unsets the value from the environment.
    given.delete(key);
    if (value === '') continue;
    given.set(key, { value, name: `--${key}`, meant: () => mapped(meantBy(key), (meant) => `--${meant}`) });
  }

  const texts = new Map<string, string>();
  const unknown: UnknownSetting[] = [];
  for (const [key, { value, name, meant }] of given) {
    const removed = Object.hasOwn(removedSettings, key) ? removedSettings[key] : undefined;
    if (catalogueKeyOf(key) !== undefined) {
      texts.set(key, value);
    } else if (removed !== undefined) {
      errors.push({ key, problem: 'has been removed', accepted: `leaving it unset: ${removed}` });
    } else {
      unknown.push({ name, meant: meant() });
    }
  }

  return {
    text: (key) => texts.get(key),
    numbers: (list) => numbersIn(texts.keys(), list),
    names: (map) => namesIn(texts.keys(), map),
    errors,
    unknown,
    isEmpty: [...given.keys()].every(isPlainKey),
  };
}

/** One line for the log. */
export function describeUnknownSetting({ name, meant }: UnknownSetting): string {
  return `${name} is not a setting of this service and is ignored.${meant === undefined ? '' : ` Did you mean ${meant}?`}`;
}

/** A variable with such a name can only be meant for this service. All other variables are ignored. */
const LOOKS_LIKE_OURS = /^service(__|:)/i;

/** `HOST`, `PORT` and their kind. */
function isPlainKey(name: string): boolean {
  return isCatalogueKey(name) && !name.includes(':');
}

function meantBy(key: string): string | undefined {
  // A list number in its only valid spelling, without leading zeros.
  const number = Number(/:(\d{1,3})(?=:|$)/.exec(key)?.[1] ?? '0');
  const candidates = Object.keys(catalogue).filter((candidate) => !isPlainKey(candidate));
  const [, typed = '', name = ''] = NAMED_KEY.exec(key) ?? [];
  // A long name would make up for any difference before it.
  const mayBeMeant = (declared: string) =>
    !declared.endsWith(NAME) || nearest(typed, [declared.slice(0, -NAME.length)], 1).length > 0;
  const [meant] = nearest(
    key,
    candidates.filter(mayBeMeant).map((candidate) => keyAt(candidate, number, name)),
    1,
  );
  return meant;
}

function mapped(text: string | undefined, change: (text: string) => string): string | undefined {
  return text === undefined ? undefined : change(text);
}

function numbersIn(keys: Iterable<string>, list: string): readonly number[] {
  const numbers = new Set<number>();
  for (const key of keys) {
    const [, prefix, number] = LIST_KEY.exec(key) ?? [];
    if (prefix === list) numbers.add(Number(number));
  }
  return [...numbers].sort((a, b) => a - b);
}

function namesIn(keys: Iterable<string>, map: string): readonly string[] {
  const start = `${map}:`;
  return [...keys].flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : [])).sort();
}

/** `Service:Signing:Keys:12:Path`: list, number and field. Numbers have one spelling, so that each item has one name. */
const LIST_KEY = /^(.+):(0|[1-9]\d{0,2}):([^:]+)$/;

/** `Service:Authorize:ProviderParameters:audience`. A name of a parameter has these characters (RFC 6749 §8.2). */
const NAMED_KEY = /^(.+):([-._A-Za-z0-9]{1,64})$/;
const [NUMBER, NAME] = [':N:', ':<name>'];

function isCatalogueKey(key: string): key is CatalogueKey {
  return Object.hasOwn(catalogue, key);
}

/** The catalogue's key, with `N` for a number and `<name>` for a name; `undefined` for an unknown setting. */
export function catalogueKeyOf(key: string): CatalogueKey | undefined {
  if (key.includes(NUMBER) || key.endsWith(NAME)) return undefined;
  const declared = [key, key.replace(LIST_KEY, `$1${NUMBER}$3`), key.replace(NAMED_KEY, `$1${NAME}`)];
  return declared.find(isCatalogueKey);
}

/** A key that an operator can give: the catalogue's, with a number for `N` and a name for `<name>`. */
export function keyAt(declared: string, number: number, name: string): string {
  return declared.replace(NUMBER, `:${number}:`).replace(NAME, `:${name}`);
}
