/**
 * Reads the stored attributes of a user that a client sent, whole or as the value of a pathless operation (RFC 7643
 * §4.1; supplement "SCIM"). Everything else, passwords included, is dropped.
 */

import { isJsonObject, type Json, type JsonObject } from '../tokens/strict-json.ts';
import {
  type Assignment,
  type PersonAttribute,
  readAssignment,
  type ScimFault,
  sameName,
  scimFault,
  targetOf,
  USER_SCHEMA,
} from './user-attribute.ts';

export type Assignments = { readonly kind: 'read'; readonly assignments: readonly Assignment[] } | ScimFault;

/** Reads the body of a create or a replace. */
export function readUserResource(body: JsonObject, person: PersonAttribute): Assignments {
  return schemaFault(body, USER_SCHEMA) ?? readMembers(body, person);
}

/**
 * Member names are attributes, with or without the schema's URN as a prefix, or that URN alone with an object of
 * attributes. A stored attribute that is named twice, in any spelling, is refused: its value would be ambiguous.
 */
export function readMembers(members: JsonObject, person: PersonAttribute): Assignments {
  const named = new Set<string>();
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(members).flatMap(ofTheSchema)) {
    const target = targetOf(name);
    if (target === 'other' || value === undefined) continue;
    if (target === 'unreadable' || target === 'whole') return scimFault('invalidSyntax', NO_PARTS);
    if (named.has(target)) return repeated(target);
    named.add(target);
    const assignment = readAssignment(target, value, person);
    if (assignment === undefined) continue;
    if ('code' in assignment) return assignment;
    assignments.push(assignment);
  }
  return { kind: 'read', assignments };
}

export const NO_PARTS = 'userName, externalId and active have no parts, and stand alone in a name or path.';

function ofTheSchema([name, value]: [string, Json | undefined]): [string, Json | undefined][] {
  return targetOf(name) === 'whole' && isJsonObject(value) ? Object.entries(value) : [[name, value]];
}

/** A member whose value is `undefined` is absent. */
type Member = { readonly kind: 'member'; readonly value: Json | undefined } | ScimFault;

/** Names match in any case (RFC 7643 §2.1). Names that differ only in case are a fault. */
export function memberInAnyCase(object: JsonObject, name: string): Member {
  const found = Object.entries(object).filter(([key]) => sameName(key, name));
  return found.length > 1 ? repeated(name) : { kind: 'member', value: found[0]?.[1] };
}

function repeated(name: string): ScimFault {
  return scimFault('invalidSyntax', `${name} is named twice.`);
}

/** Some clients leave `schemas` out, which is accepted. A message with only other schemas is refused (RFC 7643 §3). */
export function schemaFault(message: JsonObject, expected: string): ScimFault | undefined {
  const schemas = memberInAnyCase(message, 'schemas');
  if (schemas.kind === 'invalid') return schemas;
  const { value } = schemas;
  if (value === undefined || (Array.isArray(value) && value.some((uri) => isUri(uri, expected)))) return undefined;
  return scimFault('invalidSyntax', `schemas must name ${expected}.`);
}

function isUri(uri: Json, expected: string): boolean {
  return typeof uri === 'string' && sameName(uri, expected);
}
