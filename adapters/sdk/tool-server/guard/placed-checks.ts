/**
 * Checks the guard's file field by field. The checks of single values are those of the library's options. A fault has the
 * line of the value and its path, `routes[0].scope`.
 */

import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../../domain/tokens/strict-json.ts';
import { type Check, memberName, optionsOf } from '../../arguments.ts';

export interface FileFault {
  readonly line: number;
  /** Begins with the path, and quotes no value of the file. */
  readonly clause: string;
}

export type Path = readonly (string | number)[];
/** @param report takes a clause, and the path of its value */
export type PlacedCheck = (value: Json | undefined, path: Path, report: (path: Path, clause: string) => void) => void;

/** A check of a single value. */
export function single(check: Check): PlacedCheck {
  return (value, path, report) => {
    for (const clause of check(value, subjectOf(value, path))) report(path, clause);
  };
}

/** The beginning of a clause about the value. The place of a member that is missing is that of its mapping. */
function subjectOf(value: Json | undefined, path: Path): string {
  return value === undefined ? `${nameOf(path)} is missing: it` : nameOf(path);
}

/** A member that may be absent. */
export function optionally(check: PlacedCheck): PlacedCheck {
  return (value, path, report) => {
    if (value !== undefined) check(value, path, report);
  };
}

/** A mapping with these members, and no others. */
export function section(members: Readonly<Record<string, PlacedCheck>>): PlacedCheck {
  const accepted = Object.keys(members);
  const names = optionsOf(Object.fromEntries(accepted.map((name) => [name, () => []])));
  return mapping(`a mapping (accepted: ${accepted.join(', ')})`, (value, path, report) => {
    for (const name of Object.keys(value)) {
      // One member at a time, so that each unknown one is reported at its own line.
      for (const clause of names({ [name]: value[name] ?? null }, nameOf(path))) report([...path, name], clause);
    }
    for (const [name, check] of Object.entries(members)) {
      check(Object.hasOwn(value, name) ? value[name] : undefined, [...path, name], report);
    }
  });
}

/** A mapping of at least one member, whose names are the file's own. */
export function named(check: PlacedCheck): PlacedCheck {
  return mapping('a mapping of names', (value, path, report) => {
    if (Object.keys(value).length === 0) report(path, `${nameOf(path)} must have at least one member`);
    for (const [name, member] of Object.entries(value)) check(member, [...path, name], report);
  });
}

export function list(check: PlacedCheck): PlacedCheck {
  return (value, path, report) => {
    if (!Array.isArray(value)) report(path, `${nameOf(path)} must be a list`);
    else for (const [at, entry] of value.entries()) check(entry, [...path, at], report);
  };
}

/** All faults of a document, by line. The reader has reported its unreadable fields already. */
export function faultsOf(
  check: PlacedCheck,
  { fields, unread, lineOf }: Pick<PlacedMapping, 'fields' | 'unread' | 'lineOf'>,
): readonly FileFault[] {
  const faults: FileFault[] = [];
  const whole = Object.fromEntries([...fields].map(([name, { value }]) => [name, value]));
  check(whole, [], (path, clause) => {
    if (!unread.has(String(path[0]))) faults.push({ line: lineOf(path), clause });
  });
  return faults.sort((one, other) => one.line - other.line);
}

/** @param form what the value must be */
function mapping(
  form: string,
  check: (value: JsonObject, path: Path, report: (path: Path, clause: string) => void) => void,
): PlacedCheck {
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
