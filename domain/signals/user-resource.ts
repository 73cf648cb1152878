/**
 * Reads the stored attributes of a user that a client sent, whole or as the value of a pathless operation (RFC 7643
 * §4.1; decisions "SCIM"). Everything else, passwords included, is dropped.
 */

import { isJsonObject, type Json, type JsonObject } from '../tokens/strict-json.ts';
import { type ScimFault, scimFault } from './scim-fault.ts';
import { repeated, schemaFault } from './scim-message.ts';
import { type Assignment, type PersonAttribute, readAssignment, targetOf, USER_SCHEMA } from './user-attribute.ts';

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
  const read = new Map<string, Assignment>();
  for (const [name, value] of Object.entries(members).flatMap(ofTheSchema)) {
    const target = targetOf(name);
    if (target === 'other' || value === undefined) continue;
    if (target === 'unreadable' || target === 'whole') return scimFault('invalidSyntax', NO_PARTS);
    if (read.has(target)) return repeated(target);
    const assignment = readAssignment(target, value, person);
    if ('code' in assignment) return assignment;
    read.set(target, assignment);
  }
  return { kind: 'read', assignments: [...read.values()] };
}

export const NO_PARTS = 'userName, externalId and active have no parts, and stand alone in a name or path.';

function ofTheSchema([name, value]: [string, Json | undefined]): [string, Json | undefined][] {
  return targetOf(name) === 'whole' && isJsonObject(value) ? Object.entries(value) : [[name, value]];
}
