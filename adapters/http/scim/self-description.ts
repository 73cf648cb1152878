/**
 * The description that a SCIM service provider gives of itself (RFC 7643 §5 to §7; specification "/scim/v2"): its limits,
 * its one resource type, and the attributes that it stores.
 */

import { type PersonAttribute, USER_SCHEMA } from '../../../domain/signals/user-attribute.ts';
import { MAX_PAGE_OF_USERS } from './requests.ts';

const NOT_SUPPORTED = { supported: false } as const;

export function serviceProviderConfig(baseUrl: string): Record<string, unknown> {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_PAGE_OF_USERS },
    changePassword: NOT_SUPPORTED,
    sort: NOT_SUPPORTED,
    etag: NOT_SUPPORTED,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A fixed bearer token in the Authorization header (RFC 6750).',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${baseUrl}/ServiceProviderConfig` },
  };
}

export function userResourceType(baseUrl: string): Record<string, unknown> {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'User',
    name: 'User',
    description: 'A person that agents may act for.',
    endpoint: '/Users',
    schema: USER_SCHEMA,
    meta: { resourceType: 'ResourceType', location: `${baseUrl}/ResourceTypes/User` },
  };
}

/** Lists `externalId` because this service may require it, although the schemas of RFC 7643 omit it. */
export function userSchema(baseUrl: string, person: PersonAttribute): Record<string, unknown> {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: USER_SCHEMA,
    name: 'User',
    description: 'What is kept of a user; every other attribute is accepted and dropped.',
    attributes: [
      attribute('userName', 'string', 'The name of the user at their provider.', {
        required: true,
        caseExact: false,
        uniqueness: 'server',
      }),
      attribute('externalId', 'string', 'The identifier of the user at their provider.', {
        required: person === 'externalId',
        caseExact: true,
        uniqueness: 'none',
      }),
      attribute('active', 'boolean', 'Whether agents may act for this person.', { required: false }),
    ],
    meta: { resourceType: 'Schema', location: `${baseUrl}/Schemas/${USER_SCHEMA}` },
  };
}

function attribute(name: string, type: 'string' | 'boolean', description: string, more: Record<string, unknown>) {
  return { name, type, multiValued: false, description, mutability: 'readWrite', returned: 'default', ...more };
}
