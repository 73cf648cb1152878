/** Members of SCIM messages: names match in any case (RFC 7643 §2.1). Names that differ only in case are a fault. */

import type { Json, JsonObject } from '../tokens/strict-json.ts';
import { type ScimFault, scimFault } from './scim-fault.ts';
import { sameName } from './user-attribute.ts';

/** A member whose value is `undefined` is absent. */
export type Member = { readonly kind: 'member'; readonly value: Json | undefined } | ScimFault;

export function memberInAnyCase(object: JsonObject, name: string): Member {
  const found = Object.entries(object).filter(([key]) => sameName(key, name));
  return found.length > 1 ? repeated(name) : { kind: 'member', value: found[0]?.[1] };
}

export function repeated(name: string): ScimFault {
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
