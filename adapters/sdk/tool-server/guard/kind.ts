/**
 * The kinds of values in the guard's file. A kind says once how a value is checked, its JSON Schema, and what the guard reads.
 * The checks of single values are those of the library's options. A fault has the line of the value and its path,
 * `routes[0].scope`.
 */

import { isJsonObject, type Json, type JsonObject } from '../../../../domain/tokens/strict-json.ts';
import { anything, type Check, memberName, optionsOf } from '../../arguments.ts';

export interface Kind<Value> {
  readonly check: PlacedCheck;
  readonly schema: JsonObject;
  readonly isOptional?: true;
  /** @param written has passed the check; `undefined` for an optional value that is absent */
  read(written: Json | undefined): Value;
}

/** A kind for each member. The field of a member has its name in snake case. */
export type Kinds<Values> = { readonly [Name in keyof Values]-?: Kind<Values[Name]> };

export type Path = readonly (string | number)[];
type Report = (path: Path, clause: string) => void;
/** @param report takes a clause, which begins with the path of its value and quotes no value */
type PlacedCheck = (value: Json | undefined, path: Path, report: Report) => void;

/** A single value, which is read as written. */
export function single<Value extends Json>(check: Check, schema: JsonObject): Kind<Value> {
  return {
    check(value, path, report) {
      for (const clause of check(value, subjectOf(value, path))) report(path, clause);
    },
    schema,
    read: (written) => written as Value,
  };
}

/** The beginning of a clause about the value. The place of a member that is missing is that of its mapping. */
function subjectOf(value: Json | undefined, path: Path): string {
  return value === undefined ? `${nameOf(path)} is missing: it` : nameOf(path);
}

/** A member that may be absent. @param preset the value that is read then, as it would be written */
export function optionally<Value>(kind: Kind<Value>): Kind<Value | undefined>;
export function optionally<Value>(kind: Kind<Value>, preset: Json): Kind<Value>;
export function optionally<Value>(kind: Kind<Value>, preset?: Json): Kind<Value | undefined> {
  return {
    check(value, path, report) {
      if (value !== undefined) kind.check(value, path, report);
    },
    // An empty list or mapping is the same as none.
    schema: preset === undefined || typeof preset === 'object' ? kind.schema : { ...kind.schema, default: preset },
    isOptional: true,
    read: (written = preset) => (written === undefined ? undefined : kind.read(written)),
  };
}

/** A mapping with these members, and no others. An optional one that is absent is absent from what is read. */
export function section<Values>(kinds: Kinds<Values>): Kind<Values> {
  const members = Object.entries<Kind<unknown>>(kinds).map(([name, kind]) => ({ name, field: fieldOf(name), kind }));
  const accepted = members.map(({ field }) => field);
  const names = optionsOf(Object.fromEntries(accepted.map((name) => [name, anything])));
  return {
    check: mapping(`a mapping (accepted: ${accepted.join(', ')})`, (value, path, report) => {
      for (const name of Object.keys(value)) {
        // One member at a time, so that each unknown one is reported at its own line.
        for (const clause of names({ [name]: value[name] ?? null }, nameOf(path))) report([...path, name], clause);
      }
      for (const { field, kind } of members) {
        kind.check(Object.hasOwn(value, field) ? value[field] : undefined, [...path, field], report);
      }
    }),
    schema: {
      type: 'object',
      additionalProperties: false,
      required: members.filter(({ kind }) => !kind.isOptional).map(({ field }) => field),
      properties: Object.fromEntries(members.map(({ field, kind }) => [field, kind.schema])),
    },
    read(written) {
      const values = members.map(({ name, field, kind }) => [name, kind.read((written as JsonObject)[field])] as const);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values;
    },
  };
}

/** The name of a member in the file. */
export function fieldOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A mapping of at least one member, whose names are the file's own. @param rules what its JSON Schema says besides */
export function named<Value>(kind: Kind<Value>, rules: JsonObject = {}): Kind<Readonly<Record<string, Value>>> {
  return {
    check: mapping('a mapping of names', (value, path, report) => {
      if (Object.keys(value).length === 0) report(path, `${nameOf(path)} must have at least one member`);
      for (const [name, member] of Object.entries(value)) kind.check(member, [...path, name], report);
    }),
    schema: { type: 'object', minProperties: 1, ...rules, additionalProperties: kind.schema },
    read: (written) =>
      Object.fromEntries(Object.entries(written as JsonObject).map(([name, value]) => [name, kind.read(value)])),
  };
}

export function list<Value>(kind: Kind<Value>): Kind<readonly Value[]> {
  return {
    check(value, path, report) {
      if (!Array.isArray(value)) report(path, `${nameOf(path)} must be a list`);
      else for (const [at, entry] of value.entries()) kind.check(entry, [...path, at], report);
    },
    schema: { type: 'array', items: kind.schema },
    read: (written) => (written as readonly Json[]).map((entry) => kind.read(entry)),
  };
}

/** The same kind, and what the guard makes of what is read. */
export function mapped<Value, Made>(kind: Kind<Value>, make: (value: Value) => Made): Kind<Made> {
  return { ...kind, read: (written) => make(kind.read(written)) };
}

/** @param form what the value must be */
function mapping(form: string, check: (value: JsonObject, path: Path, report: Report) => void): PlacedCheck {
  return (value, path, report) => {
    if (isJsonObject(value)) check(value, path, report);
    else report(path, `${subjectOf(value, path)} must be ${form}`);
  };
}

/** The path as the library's checks write it: a name that could be a secret is left out. */
export function nameOf(path: Path): string {
  return path.reduce<string>((name, step) => {
    return typeof step === 'number' ? `${name}[${step}]` : memberName(name, step);
  }, '');
}
