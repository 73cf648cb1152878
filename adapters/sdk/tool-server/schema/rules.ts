/** The rules of a schema on a value, as the guard applies them. compiled.ts makes them, and is loaded only for a file with a schema. */

import type { Json } from '../../../../domain/tokens/strict-json.ts';

/** Of members and items, from a schema or a value. */
export type Path = readonly (string | number)[];

/** A part of a value that a rule refuses. */
export interface BrokenRule {
  /** The keyword of the schema. */
  readonly keyword: string;
  /** From the value to the part, with the names that the call has. */
  readonly path: Path;
}

/** A member whose name some readers take for one that a pattern under `patternProperties` matches. The pattern does not match it. */
export interface TakenName {
  readonly taken: Path;
}

export interface SchemaRules {
  /** Every name of a member that the schema has. */
  readonly names: ReadonlySet<string>;
  /** @returns `late` if no verdict came in time */
  decide(value: Json): 'valid' | 'late' | TakenName | BrokenRule;
}

/** @param schema without faults */
export type CompileSchema = (schema: Json) => SchemaRules;
