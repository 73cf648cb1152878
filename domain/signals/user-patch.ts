/**
 * PATCH (RFC 7644 §3.5.2; supplement "SCIM"). All operations are read into a list of assignments before any is applied,
 * so one faulty operation refuses the whole patch.
 *
 * Operations on attributes that are not stored are accepted and ignored. Operations on stored ones must be exact: an
 * oddly spelled deactivation must not be lost.
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
  type UserAttribute,
  withoutValue,
} from './user-attribute.ts';
import { type Assignments, memberInAnyCase, NO_PARTS, readMembers, schemaFault } from './user-resource.ts';

export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** Several times as many as a provider sends when every attribute of a user has changed. */
export const MAX_OPERATIONS = 100;

const OPERATIONS = ['add', 'replace', 'remove'] as const;
type OperationName = (typeof OPERATIONS)[number];

/**
 * The start of an attribute path (RFC 7644 §3.5.2 figure 7), or of a provider's own name. An empty path, or one in
 * another notation such as `/active`, could mean a stored attribute, so it is refused.
 */
const BEGINS_WITH_NAME = /^\s*[a-z$_]/i;

export function readUserPatch(body: JsonObject, person: PersonAttribute): Assignments {
  const fault = schemaFault(body, PATCH_SCHEMA);
  if (fault !== undefined) return fault;
  const operations = memberInAnyCase(body, 'Operations');
  if (operations.kind === 'invalid') return operations;
  const { value } = operations;
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_OPERATIONS) {
    return scimFault('invalidSyntax', `Operations must be an array of 1 to ${MAX_OPERATIONS} operations.`);
  }
  const assignments: Assignment[] = [];
  for (const operation of value) {
    const read = readOperation(operation, person);
    if (read.kind === 'invalid') return read;
    assignments.push(...read.assignments);
  }
  return { kind: 'read', assignments };
}

function readOperation(operation: Json, person: PersonAttribute): Assignments {
  if (!isJsonObject(operation)) return scimFault('invalidSyntax', 'An operation must be a JSON object.');
  const op = memberInAnyCase(operation, 'op');
  const path = memberInAnyCase(operation, 'path');
  const value = memberInAnyCase(operation, 'value');
  if (op.kind === 'invalid') return op;
  if (path.kind === 'invalid') return path;
  if (value.kind === 'invalid') return value;
  const name = operationName(op.value);
  if (name === undefined) return scimFault('invalidSyntax', 'op must be add, replace or remove.');
  const where = path.value ?? USER_SCHEMA;
  if (typeof where !== 'string') return scimFault('invalidSyntax', 'path must be a string.');
  if (!BEGINS_WITH_NAME.test(where)) return scimFault('invalidSyntax', 'path must name an attribute.');
  const target = targetOf(where);
  switch (target) {
    case 'whole':
      return readPathless(name, value.value, person);
    case 'other':
      return NOTHING;
    case 'unreadable':
      return scimFault('invalidSyntax', NO_PARTS);
    default:
      return one(assign(name, target, value.value, person));
  }
}

/**
 * RFC 7644 §3.5.2: without a path, or with the schema as the path, the value is an object of attributes. Its member
 * names may be paths (Okta, Entra ID).
 */
function readPathless(name: OperationName, value: Json | undefined, person: PersonAttribute): Assignments {
  if (name === 'remove') return scimFault('invalidSyntax', 'remove needs a path to an attribute.');
  if (!isJsonObject(value)) return scimFault('invalidSyntax', 'Without a path the value must be an object.');
  return readMembers(value, person);
}

/** `add` to a single-valued attribute replaces its value (RFC 7644 §3.5.2.1). */
function assign(
  name: OperationName,
  attribute: UserAttribute,
  value: Json | undefined,
  person: PersonAttribute,
): Assignment | ScimFault | undefined {
  if (name === 'remove') return withoutValue(attribute, person);
  if (value === undefined) return scimFault('invalidSyntax', `${name} needs a value.`);
  return readAssignment(attribute, value, person);
}

const NOTHING: Assignments = { kind: 'read', assignments: [] };

function one(assignment: Assignment | ScimFault | undefined): Assignments {
  if (assignment === undefined) return NOTHING;
  return 'code' in assignment ? assignment : { kind: 'read', assignments: [assignment] };
}

function operationName(op: Json | undefined): OperationName | undefined {
  return typeof op === 'string' ? OPERATIONS.find((known) => sameName(known, op)) : undefined;
}
