/**
 * A user as a client sends it, whole or as the value of a pathless operation (RFC 7643 §4.1; decisions "SCIM"): what is
 * kept of it. Everything else, passwords included, is passed over and goes nowhere.
 */

import { isJsonObject, type Json, type JsonObject } from '../tokens/strict-json.ts';
import { type ScimFault, scimFault } from './scim-fault.ts';
import { repeated, schemaFault } from './scim-message.ts';
import { type Assignment, type PersonAttribute, readAssignment, targetOf, USER_SCHEMA } from './user-attribute.ts';

export type Assignments = { readonly kind: 'read'; readonly assignments: readonly Assignment[] } | ScimFault;

/** The body of a create or a replace. */
export function readUserResource(body: JsonObject, person: PersonAttribute): Assignments {
  return schemaFault(body, USER_SCHEMA) ?? readMembers(body, person);
}

/**
 * Names may be attributes, with the schema's URN before them or not, or that URN alone with an object of attributes.
 * One that is kept and named twice, in whatever spelling, has two values, and so none.
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
