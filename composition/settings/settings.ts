/** The types that follow from the catalogue. */

import type { catalogue } from './catalogue.ts';
import type { Setting } from './setting.ts';

type Catalogue = typeof catalogue;

/** A key of the catalogue, with `N` for the number of a list's item. */
export type CatalogueKey = keyof Catalogue;

type ListField = Extract<CatalogueKey, `${string}:N:${string}`>;

/** A list's own key: the part before the `N`. */
export type ListKey = ListField extends `${infer List}:N:${string}` ? List : never;

/** A key in the operator's notation. */
export type SettingKey =
  | Exclude<CatalogueKey, ListField>
  | (ListField extends `${infer List}:N:${infer Field}` ? `${List}:${number}:${Field}` : never);

type ValueOf<S> = S extends Setting<infer Value, infer P> ? (P extends 'optional' ? Value | undefined : Value) : never;

type ListItem<List extends ListKey> = {
  /** The item's number in the key. */
  readonly index: number;
} & {
  readonly [Key in ListField as Key extends `${List}:N:${infer Field}` ? Field : never]: ValueOf<Catalogue[Key]>;
};

/** All settings by key; lists as items in the order of their numbers. Durations are in seconds. */
export type Settings = {
  readonly [Key in Exclude<CatalogueKey, ListField>]: ValueOf<Catalogue[Key]>;
} & {
  readonly [List in ListKey]: readonly ListItem<List>[];
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
export type ComputedKey = {
  [Key in CatalogueKey]: Catalogue[Key] extends Setting<unknown, 'computed'> ? Key : never;
}[CatalogueKey];
