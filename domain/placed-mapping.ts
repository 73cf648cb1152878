/** The fields of a document that a person wrote, with their lines, so that a fault names its line. */

import type { Json } from './tokens/strict-json.ts';

export interface PlacedField {
  readonly value: Json;
  /** Counted from 1. */
  readonly line: number;
}

export interface PlacedMapping {
  /** The line on which the mapping begins. */
  readonly line: number;
  readonly fields: ReadonlyMap<string, PlacedField>;
  /** Names of fields whose values could not be read. A problem describes each. */
  readonly unread: ReadonlySet<string>;
  /**
   * The line of a value within a field: of the last step that the document has.
   *
   * @param path the field's name, then names of members and indices of entries
   */
  lineOf(path: readonly (string | number)[]): number;
}

export interface PlacedProblem {
  readonly line: number;
  readonly sentence: string;
}

export interface PlacedDocuments {
  readonly mappings: readonly PlacedMapping[];
  readonly problems: readonly PlacedProblem[];
}
