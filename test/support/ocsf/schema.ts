/**
 * The part of the published schema of OCSF 1.9.0 that the service's events use: the attributes of the classes
 * Authentication and API Activity with the profile `ai_operation`, and of their objects. `faultsOf` compares an event
 * with the schema.
 */

interface Attribute {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings' | 'any' | ObjectName | `${ObjectName}[]`;
  readonly required?: true;
  /** The caption of each value. */
  readonly captions?: Readonly<Record<number, string>>;
  /** The attribute that holds the caption of the value. */
  readonly sibling?: string;
}

interface Definition {
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly atLeastOne?: readonly string[];
}

type ObjectName =
  | ('metadata' | 'product' | 'user' | 'actor' | 'session' | 'service' | 'api' | 'network_endpoint')
  | ('resource_details' | 'ai_agent' | 'delegation');

const string: Attribute = { type: 'string' };
const integer: Attribute = { type: 'integer' };
const required = (attribute: Attribute): Attribute => ({ ...attribute, required: true });
const coded = (sibling: string, captions: Readonly<Record<number, string>>): Attribute => {
  return { type: 'integer', sibling, captions: { 0: 'Unknown', ...captions } };
};

const objects: Readonly<Record<ObjectName, Definition>> = {
  metadata: {
    attributes: {
      version: required(string),
      product: required({ type: 'product' }),
      profiles: { type: 'strings' },
      event_code: string,
      original_event_uid: string,
      correlation_uid: string,
      sequence: integer,
      uid: string,
    },
  },
  product: { attributes: { name: required(string), vendor_name: string, version: string, uid: string } },
  user: {
    attributes: {
      uid: string,
      name: string,
      type: string,
      type_id: coded('type', { 1: 'User', 2: 'Admin', 3: 'System', 4: 'Service', 99: 'Other' }),
    },
    atLeastOne: ['account', 'name', 'uid'],
  },
  actor: { attributes: { user: { type: 'user' }, session: { type: 'session' } }, atLeastOne: ['user', 'session'] },
  session: { attributes: { uid: string, issuer: string, created_time: integer, expiration_time: integer } },
  service: { attributes: { uid: string, name: string, version: string }, atLeastOne: ['name', 'uid'] },
  api: { attributes: { operation: required(string), service: { type: 'service' }, version: string } },
  network_endpoint: { attributes: { name: string, ip: string, uid: string }, atLeastOne: ['name', 'ip', 'uid'] },
  resource_details: {
    attributes: {
      uid: string,
      name: string,
      type: string,
      role: string,
      role_id: coded('role', { 1: 'Target', 2: 'Actor', 3: 'Affected', 4: 'Related', 99: 'Other' }),
    },
    atLeastOne: ['name', 'uid'],
  },
  ai_agent: { attributes: { uid: required(string), instance_uid: string, name: string, version: string } },
  // The later attributes `scopes`, `audience` and `expiration_time` are not in 1.9.0.
  delegation: { attributes: { uid: required(string), parent_uid: string, created_time: integer, issuer_uid: string } },
};

const base: Readonly<Record<string, Attribute>> = {
  metadata: required({ type: 'metadata' }),
  time: required(integer),
  count: integer,
  message: string,
  type_uid: required(integer),
  type_name: string,
  activity_name: string,
  severity: string,
  status: string,
  status_code: string,
  status_detail: string,
  raw_data: string,
  unmapped: { type: 'any' },
  severity_id: required(
    coded('severity', {
      1: 'Informational',
      2: 'Low',
      3: 'Medium',
      4: 'High',
      5: 'Critical',
      6: 'Fatal',
      99: 'Other',
    }),
  ),
  status_id: coded('status', { 1: 'Success', 2: 'Failure', 99: 'Other' }),
  // Attributes of the profile `ai_operation`.
  ai_agent: { type: 'ai_agent' },
  delegation: { type: 'delegation' },
  category_name: string,
  class_name: string,
};

const classes: Readonly<Record<number, Definition>> = {
  3002: {
    attributes: {
      ...base,
      category_uid: required({
        type: 'integer',
        sibling: 'category_name',
        captions: { 3: 'Identity & Access Management' },
      }),
      class_uid: required({ type: 'integer', sibling: 'class_name', captions: { 3002: 'Authentication' } }),
      activity_id: required(
        coded('activity_name', {
          1: 'Logon',
          2: 'Logoff',
          3: 'Authentication Ticket',
          4: 'Service Ticket Request',
          5: 'Service Ticket Renew',
          6: 'Preauth',
          7: 'Account Switch',
          99: 'Other',
        }),
      ),
      user: required({ type: 'user' }),
      actor: { type: 'actor' },
      session: { type: 'session' },
      service: { type: 'service' },
      dst_endpoint: { type: 'network_endpoint' },
      src_endpoint: { type: 'network_endpoint' },
      is_remote: { type: 'boolean' },
      auth_protocol: string,
      auth_protocol_id: coded('auth_protocol', { 4: 'OpenID', 5: 'SAML', 6: 'OAUTH 2.0', 99: 'Other' }),
    },
    atLeastOne: ['service', 'dst_endpoint'],
  },
  6003: {
    attributes: {
      ...base,
      category_uid: required({ type: 'integer', sibling: 'category_name', captions: { 6: 'Application Activity' } }),
      class_uid: required({ type: 'integer', sibling: 'class_name', captions: { 6003: 'API Activity' } }),
      activity_id: required(coded('activity_name', { 1: 'Create', 2: 'Read', 3: 'Update', 4: 'Delete', 99: 'Other' })),
      actor: required({ type: 'actor' }),
      api: required({ type: 'api' }),
      resources: { type: 'resource_details[]' },
      src_endpoint: required({ type: 'network_endpoint' }),
      dst_endpoint: { type: 'network_endpoint' },
    },
  },
};

type Members = Readonly<Record<string, unknown>>;

/** The differences between an event and the schema. A valid event has none. @param event parsed JSON */
export function faultsOf(event: unknown): readonly string[] {
  if (!isMembers(event)) return ['it is not an object'];
  const definition = classes[Number(event.class_uid)];
  if (definition === undefined) return [`class ${String(event.class_uid)} is unknown`];
  const typeUid = Number(event.class_uid) * 100 + Number(event.activity_id);
  const typeName = `${String(event.class_name)}: ${String(event.activity_name)}`;
  return [
    ...faultsIn(event, definition, ''),
    ...(event.type_uid === typeUid ? [] : [`type_uid is not ${typeUid}`]),
    ...(event.type_name === typeName ? [] : [`type_name is not ${typeName}`]),
  ];
}

function faultsIn(members: Members, { attributes, atLeastOne }: Definition, path: string): readonly string[] {
  const missing = Object.entries(attributes).flatMap(([name, attribute]) =>
    attribute.required && !(name in members) ? [`${path}${name} is missing`] : [],
  );
  const constraint = atLeastOne === undefined || atLeastOne.some((name) => name in members);
  return [
    ...missing,
    ...(constraint ? [] : [`${path} has none of ${atLeastOne.join(', ')}`]),
    ...Object.entries(members).flatMap(([name, value]) => {
      const attribute = attributes[name];
      if (attribute === undefined) return [`${path}${name} is not in the schema`];
      return faultsOfValue(value, attribute, members, `${path}${name}`);
    }),
  ];
}

function faultsOfValue(value: unknown, attribute: Attribute, beside: Members, path: string): readonly string[] {
  const { type, captions, sibling = '' } = attribute;
  switch (type) {
    case 'any':
      return [];
    case 'string':
    case 'boolean':
      return typeof value === type && value !== '' ? [] : [`${path} is not a ${type}`];
    case 'integer':
      if (!Number.isInteger(value)) return [`${path} is not an integer`];
      return captions === undefined ? [] : captionFaults(Number(value), captions, beside[sibling], path);
    case 'strings':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
        ? []
        : [`${path} is no list of texts`];
    default:
      return objectFaults(value, type, path);
  }
}

/** Checks that the sibling attribute holds the caption of the value, or any text for the value 99. */
function captionFaults(
  value: number,
  captions: Readonly<Record<number, string>>,
  said: unknown,
  path: string,
): readonly string[] {
  const caption = captions[value];
  if (caption === undefined) return [`${path} has no value ${value}`];
  if (value === 99) return typeof said === 'string' && said !== caption ? [] : [`${path} is not named`];
  return said === caption ? [] : [`${path} is not named ${caption}`];
}

function objectFaults(value: unknown, type: ObjectName | `${ObjectName}[]`, path: string): readonly string[] {
  if (type.endsWith('[]')) {
    if (!Array.isArray(value) || value.length === 0) return [`${path} is no list of objects`];
    return value.flatMap((one, index) => objectFaults(one, type.slice(0, -2) as ObjectName, `${path}[${index}]`));
  }
  if (!isMembers(value)) return [`${path} is not an object`];
  return faultsIn(value, objects[type as ObjectName], `${path}.`);
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
