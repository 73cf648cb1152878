/** The types that follow from the catalogue, and the defaults that are computed. */

import { availableParallelism } from 'node:os';
import type { catalogue } from './catalogue.ts';
import type { Setting } from './setting.ts';

type Catalogue = typeof catalogue;

/** A key of the catalogue, with `N` for the number of a list's item. */
export type CatalogueKey = keyof Catalogue;

type ListField = Extract<CatalogueKey, `${string}:N:${string}`>;

type NamedField = Extract<CatalogueKey, `${string}:<name>`>;

/** A list's own key: the part before the `N`. */
export type ListKey = ListField extends `${infer List}:N:${string}` ? List : never;

/** The part before the `<name>`. */
export type MapKey = NamedField extends `${infer Map}:<name>` ? Map : never;

/** A key in the operator's notation. */
export type SettingKey =
  | Exclude<CatalogueKey, ListField | NamedField>
  | `${MapKey}:${string}`
  | (ListField extends `${infer List}:N:${infer Field}` ? `${List}:${number}:${Field}` : never);

type ValueOf<S> = S extends Setting<infer Value, infer P> ? (P extends 'optional' ? Value | undefined : Value) : never;

type ListItem<List extends ListKey> = {
  /** The item's number in the key. */
  readonly index: number;
} & {
  readonly [Key in ListField as Key extends `${List}:N:${infer Field}` ? Field : never]: ValueOf<Catalogue[Key]>;
};

/**
 * All settings by key; lists as items in the order of their numbers; settings with a `<name>` as one object of their names.
 * Durations are in seconds.
 */
export type Settings = {
  readonly [Key in Exclude<CatalogueKey, ListField | NamedField>]: ValueOf<Catalogue[Key]>;
} & {
  readonly [List in ListKey]: readonly ListItem<List>[];
} & {
  readonly [Map in MapKey]: Readonly<Record<string, NonNullable<ValueOf<Catalogue[`${Map}:<name>`]>>>>;
};

/** Prefixes such as `Service:Database` and `Service:Audit:Partitions`. */
export type SectionName = keyof Settings extends infer Key
  ? Key extends `${infer Root}:${infer Section}:${infer Rest}`
    ? `${Root}:${Section}` | (Rest extends `${infer Part}:${string}` ? `${Root}:${Section}:${Part}` : never)
    : never
  : never;

/** The settings below one part of the catalogue. */
export type SettingsSection<Name extends SectionName> = {
  readonly [Key in keyof Settings as Key extends `${Name}:${string}` ? Key : never]: Settings[Key];
};

/** The settings with a computed default. */
type ComputedKey = {
  [Key in CatalogueKey]: Catalogue[Key] extends Setting<unknown, 'computed'> ? Key : never;
}[CatalogueKey];

/** Supplement "Names and identifiers": `NODE_ENV=development`; anything else is not a development host. */
export function isDevelopmentHost(settings: Pick<Settings, 'NODE_ENV'>): boolean {
  return settings.NODE_ENV === 'development';
}

interface ComputedDefault<Value> {
  /**
   * The settings that the default is computed from, after plain defaults are applied. If one is unreadable, the default
   * is not computed.
   */
  readonly from: readonly (keyof Settings)[];
  compute(settings: Settings): Value;
}

/** Specification "Overload". */
const CONCURRENCY_PER_CORE = 16;
const QUEUED_PER_TURN = 4;

/** Defaults that depend on other settings or on the machine: one for each setting the catalogue calls `computed`. */
export const computedDefaults: { readonly [Key in ComputedKey]: ComputedDefault<Settings[Key]> } = {
  HOST: {
    from: ['NODE_ENV'],
    compute: (settings) => (isDevelopmentHost(settings) ? '127.0.0.1' : '0.0.0.0'),
  },
  'Service:Audit:Log:Origin': {
    from: ['Service:Issuer'],
    compute: (settings) => {
      const { host, pathname } = new URL(settings['Service:Issuer']);
      return `${host}${pathname.replace(/\/+$/, '')}/ledger`;
    },
  },
  'Service:Overload:ConcurrencyLimit': {
    from: [],
    compute: () => CONCURRENCY_PER_CORE * availableParallelism(),
  },
  'Service:Overload:QueueLimit': {
    from: ['Service:Overload:ConcurrencyLimit'],
    compute: (settings) => QUEUED_PER_TURN * settings['Service:Overload:ConcurrencyLimit'],
  },
};
