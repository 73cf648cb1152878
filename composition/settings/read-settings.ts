/**
 * Reads the settings: all of them, or the section that a command needs. Returns the settings, or the list of all errors
 * (specification "Configuration rules").
 */

import { catalogue } from './catalogue.ts';
import {
  catalogueKeyOf,
  type GivenSettings,
  givenSettings,
  SETTINGS_FOLDER,
  type SettingSources,
  type UnknownSetting,
} from './given-settings.ts';
import { type Findings, rules } from './rules.ts';
import type { Setting } from './setting.ts';
import { computedDefaults, type SectionName, type Settings, type SettingsSection } from './settings.ts';
import type { SettingError } from './startup-error.ts';

export type SettingsResult<Result> = { readonly unknown: readonly UnknownSetting[] } & (
  | { readonly kind: 'valid'; readonly settings: Result }
  | {
      readonly kind: 'invalid';
      readonly errors: readonly SettingError[];
      /** Whether no setting below `Service` is given, known or unknown. */
      readonly nothingGiven: boolean;
    }
);

export function readSettings(sources: SettingSources): SettingsResult<Settings> {
  return readWithin(sources, () => true);
}

/**
 * Reads only the settings below `section`, with the rules about these alone: `migrate` needs a database but no issuer.
 */
export function readSettingsSection<Name extends SectionName>(
  sources: SettingSources,
  section: Name,
): SettingsResult<SettingsSection<Name>> {
  return readWithin(sources, (key) => key.startsWith(`${section}:`));
}

/** The values read so far. */
interface Draft {
  readonly given: GivenSettings;
  readonly inScope: (key: string) => boolean;
  /** The value of each key. A list is under the key of the list; unreadable values are absent. */
  readonly values: Map<string, unknown>;
  readonly errors: SettingError[];
}

function readWithin(sources: SettingSources, inScope: (key: string) => boolean): SettingsResult<Settings> {
  const given = givenSettings(sources);
  // A folder that cannot be read may be the reason why a setting of any section is missing.
  const errors = given.errors.filter(({ key }) => inScope(key) || key === SETTINGS_FOLDER);
  const draft: Draft = { given, inScope, values: new Map(), errors };
  readDeclared(draft);
  computeDefaults(draft);
  applyRules(draft);
  return draft.errors.length === 0
    ? { kind: 'valid', settings: settingsOf(draft), unknown: given.unknown }
    : { kind: 'invalid', errors: draft.errors, unknown: given.unknown, nothingGiven: given.isEmpty };
}

function readDeclared(draft: Draft): void {
  const lists = new Set<string>();
  for (const [key, setting] of entries) {
    if (!draft.inScope(key)) continue;
    const [list, field] = key.split(':N:');
    const [map, afterName] = key.split(':<name>');
    if (map !== undefined && afterName !== undefined) {
      readMap(draft, map, setting);
    } else if (list !== undefined && field !== undefined) {
      lists.add(list);
    } else if (setting.presence !== 'computed' || draft.given.text(key) !== undefined) {
      readOne(draft, key, setting, (value) => draft.values.set(key, value));
    }
  }
  for (const list of lists) readList(draft, list);
}

/** Reads the setting at `key`, or its default; stores the value or the error. */
function readOne(draft: Draft, key: string, setting: Setting, keep: (value: unknown) => void): void {
  const { type, presence } = setting;
  const text = draft.given.text(key) ?? (presence === 'defaulted' ? setting.default : undefined);
  if (text === undefined && presence === 'required') {
    draft.errors.push({ key, problem: 'is required', accepted: type.accepts });
  } else if (text === undefined) {
    keep(undefined);
  } else {
    const reading = type.read(text);
    if (reading.kind === 'read') keep(reading.value);
    else draft.errors.push({ key, problem: reading.problem, accepted: type.accepts });
  }
}

/** Unreadable fields are missing from their item: every field of a list is optional. */
function readList(draft: Draft, list: string): void {
  const start = `${list}:N:`;
  const fields = entries.filter(([key]) => key.startsWith(start));
  const items = draft.given.numbers(list).map((index) => {
    const item = new Map<string, unknown>([['index', index]]);
    for (const [key, setting] of fields) {
      const field = key.slice(start.length);
      readOne(draft, `${list}:${index}:${field}`, setting, (value) => item.set(field, value));
    }
    return Object.fromEntries(item);
  });
  draft.values.set(list, items);
}

/** A setting with a name in its key. Unreadable ones are missing. */
function readMap(draft: Draft, map: string, setting: Setting): void {
  const values = new Map<string, unknown>();
  for (const name of draft.given.names(map)) {
    readOne(draft, `${map}:${name}`, setting, (value) => values.set(name, value));
  }
  draft.values.set(map, Object.fromEntries(values));
}

function computeDefaults(draft: Draft): void {
  for (const [key, { from, compute }] of Object.entries(computedDefaults)) {
    const wanted = draft.inScope(key) && draft.given.text(key) === undefined;
    if (wanted && from.every((other) => draft.values.has(other))) draft.values.set(key, compute(settingsOf(draft)));
  }
}

function applyRules(draft: Draft): void {
  const settings = settingsOf(draft);
  const findings = findingsFor(draft);
  for (const { about, check } of rules) {
    if (about.every((key) => draft.values.has(key))) check(settings, findings);
  }
}

function findingsFor({ given, inScope, errors }: Draft): Findings {
  const wrong: Findings['wrong'] = (key, problem, accepted) => {
    if (inScope(key)) errors.push({ key, problem, accepted });
  };
  return {
    given: (key) => given.text(key) !== undefined,
    numbers: (list) => given.numbers(list),
    names: (map) => given.names(map),
    wrong,
    expect(key, when) {
      const declared = catalogueKeyOf(key);
      if (given.text(key) === undefined && declared)
        wrong(key, `is required ${when}`, catalogue[declared].type.accepts);
    },
    refuse(key, when) {
      if (given.text(key) !== undefined) wrong(key, `is set ${when}`, 'leaving it unset');
    },
  };
}

/** For each readable key in scope, the map has the value type of the catalogue's entry. */
function settingsOf(draft: Draft): Settings {
  return Object.fromEntries(draft.values) as unknown as Settings;
}

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);
