/**
 * A ledger record as an event of OCSF 1.9.0, the Open Cybersecurity Schema Framework, for a SIEM. Events of tokens and
 * tasks have the class Authentication (3002), all others API Activity (6003). The profile `ai_operation` adds the agent
 * and the delegation, which is the task. docs/observability.md has the mapping as a table.
 *
 * An event has only values of its record. Where OCSF requires an object that no record has, its name is `unknown`.
 */

import { readTaken } from './delegation-records.ts';
import type { LedgerDecision, LedgerEvent, LedgerRecord } from './record.ts';

const OCSF_VERSION = '1.9.0';

/** The name of the service in its events. */
const PRODUCT = 'Mandate';
const UNKNOWN = 'unknown';

/** An `activity_id` with its caption. OCSF leaves the captions of `99` to the producer. */
interface Activity {
  readonly id: number;
  readonly name: string;
}

const LOGON = { id: 1, name: 'Logon' };
const LOGOFF = { id: 2, name: 'Logoff' };
const CREATE = { id: 1, name: 'Create' };
const UPDATE = { id: 3, name: 'Update' };
const DELETE = { id: 4, name: 'Delete' };
/** The record does not say what the refused request would have changed. */
const UNKNOWN_ACTIVITY = { id: 0, name: 'Unknown' };
const other = (name: string): Activity => ({ id: 99, name });

/** A `user` object. A `type_id` of 1 is a person, 2 an administrator, 3 a system, 0 unknown. */
interface User {
  readonly uid?: string;
  readonly name?: string;
  readonly type_id: number;
  readonly type: string;
}

const NOBODY_KNOWN: User = { name: UNKNOWN, type_id: 0, type: 'Unknown' };
/** Only the events `operator.…` say which operator. */
const OPERATOR: User = { name: 'operator', type_id: 2, type: 'Admin' };
const SERVICE: User = { name: PRODUCT, type_id: 3, type: 'System' };
const TOOL_SERVER: User = { name: 'tool_server', type_id: 3, type: 'System' };
/** The person of the record. */
const SPONSOR = 'sponsor';
const IDENTITY_PROVIDER: User = { name: 'identity_provider', type_id: 3, type: 'System' };

type Mapping = { readonly title: string; readonly activity: Activity } & (
  | {
      readonly class: 'authentication';
      /** Whether the person's agent asked for the activity. Operators and the service can end a task as well. */
      readonly isRequested: boolean;
      /** Whether an operator signs in or out at the console: `detail` names them, and there is no task. */
      readonly isOfOperator: boolean;
    }
  | { readonly class: 'api_activity'; readonly actor: User | typeof SPONSOR }
);

function requested(title: string, activity: Activity): Mapping {
  return { class: 'authentication', title, activity, isRequested: true, isOfOperator: false };
}

function ended(title: string): Mapping {
  return { class: 'authentication', title, activity: LOGOFF, isRequested: false, isOfOperator: false };
}

/** A sign-out may be the provider's. */
function session(title: string, activity: typeof LOGON | typeof LOGOFF): Mapping {
  return { class: 'authentication', title, activity, isRequested: activity === LOGON, isOfOperator: true };
}

function call(title: string, activity: Activity, actor: User | typeof SPONSOR): Mapping {
  return { class: 'api_activity', title, activity, actor };
}

/** A new ledger event does not compile without an entry here. */
const mappings: Readonly<Record<LedgerEvent, Mapping>> = {
  'token.issued': requested('Issue of a task token', LOGON),
  // Also a refused renewal or revocation: the record does not say which was asked for. A SIEM counts failed logons.
  'token.denied': requested('Request of an agent', LOGON),
  // The class defines only one renewal, that of a Kerberos ticket.
  'token.refreshed': requested('Renewal of a task token', other('Token Renewal')),
  'token.revoked': requested('Revocation of a task token', other('Token Revocation')),
  'task.revoked': ended('Revocation of a task'),
  'task.expired': ended('Expiry of a task'),
  // It follows `token.issued`, which is the logon. `detail` has a hash of the agent's words.
  'purpose.stated': requested('Purpose of a task', other('Purpose Statement')),
  // The offer is no logon. It precedes the `token.issued` of the agent that takes it up; `delegation.taken` follows that one.
  'delegation.offered': requested('Offer to another agent', other('Delegation Offer')),
  'delegation.taken': requested('Delegation of a task', other('Delegation')),
  'agent.registered': call('Registration of an agent', CREATE, OPERATOR),
  'agent.updated': call('Change of an agent', UPDATE, OPERATOR),
  'agent.deleted': call('Removal of an agent', DELETE, OPERATOR),
  'sponsor.blocked': call('Block of a person', UPDATE, OPERATOR),
  'sponsor.unblocked': call('Removal of a block', UPDATE, OPERATOR),
  'sponsor.signal': call('Signal about a person', UPDATE, IDENTITY_PROVIDER),
  'signal.denied': call('Signal of an identity provider', UNKNOWN_ACTIVITY, NOBODY_KNOWN),
  'scim.denied': call('Provisioning request', UNKNOWN_ACTIVITY, NOBODY_KNOWN),
  'ssf.denied': call('Shared Signals request', UNKNOWN_ACTIVITY, NOBODY_KNOWN),
  'admin.denied': call('Admin request', UNKNOWN_ACTIVITY, NOBODY_KNOWN),
  'me.denied': call('Request of a person', UNKNOWN_ACTIVITY, NOBODY_KNOWN),
  // The person decides at their page. `detail` has the agent whose handing-over is meant.
  'delegation.refused': call('Refusal of a handing-over', UPDATE, SPONSOR),
  'delegation.allowed': call('Permission of a handing-over', UPDATE, SPONSOR),
  'approval.requested': call('Request of an approval', CREATE, TOOL_SERVER),
  'approval.granted': call('Approval of an action', UPDATE, SPONSOR),
  'approval.refused': call('Approval of an action', UPDATE, SPONSOR),
  'approval.expired': call('Expiry of an approval', DELETE, SERVICE),
  'approval.withdrawn': call('Withdrawal of an approval', DELETE, SERVICE),
  'approval.used': call('Use of an approval', UPDATE, TOOL_SERVER),
  // The person decides at the page of the service; the task and its logon come with `token.issued`.
  'authorization.allowed': call('Authorization of an agent', CREATE, SPONSOR),
  'authorization.refused': call('Authorization of an agent', CREATE, SPONSOR),
  'authorization.denied': call('Authorization of an agent', UNKNOWN_ACTIVITY, SPONSOR),
  // It follows `token.issued`, which is the logon.
  'task.authorized': requested('Authorization of a task', other('Task Authorization')),
  // `detail` says which route; the records that it explains have their own events.
  'operator.acted': call('Act of an operator', other('Operator Act'), OPERATOR),
  'operator.signed_in': session('Sign-in of an operator', LOGON),
  'operator.signed_out': session('Sign-out of an operator', LOGOFF),
  'key.activated': call('Activation of a signing key', CREATE, OPERATOR),
  'key.retired': call('Retirement of a signing key', UPDATE, OPERATOR),
  'database.restored': call('Restore of the database', UPDATE, OPERATOR),
  'audit.archived': call('Archiving of a month of the ledger', DELETE, OPERATOR),
};

/** The mapping of an event that only a newer release knows. */
const UNKNOWN_EVENT = call('Event of a newer release', UNKNOWN_ACTIVITY, NOBODY_KNOWN);

const STATUSES: Readonly<Record<LedgerDecision, { readonly id: number; readonly name: string }>> = {
  allow: { id: 1, name: 'Success' },
  deny: { id: 2, name: 'Failure' },
};
const UNKNOWN_STATUS = { id: 0, name: 'Unknown' };

const INFORMATIONAL = { id: 1, name: 'Informational' };
/** OCSF defines it as: the user decides if action is needed. */
const LOW = { id: 2, name: 'Low' };

const MICROS_PER_MILLI = 1000;

/**
 * @param productVersion the release that makes the event
 * @returns the event; members that are `undefined` do not appear in its JSON
 */
export function ocsfEvent(record: LedgerRecord, productVersion: string): Readonly<Record<string, unknown>> {
  const mapping = mappingOf(record);
  const { activity } = mapping;
  const status = record.decision === undefined ? UNKNOWN_STATUS : STATUSES[record.decision];
  const severity = record.decision === 'deny' ? LOW : INFORMATIONAL;
  return {
    // The sequence number comes early in a line, where scripts look for it.
    metadata: {
      sequence: record.seq,
      version: OCSF_VERSION,
      product: { name: PRODUCT, vendor_name: PRODUCT, version: productVersion },
      profiles: ['ai_operation'],
      event_code: record.event,
      original_event_uid: String(record.seq),
      correlation_uid: record.taskId,
    },
    time: Math.floor(record.at / MICROS_PER_MILLI),
    ...classOf(mapping),
    activity_id: activity.id,
    activity_name: activity.name,
    severity_id: severity.id,
    severity: severity.name,
    status_id: status.id,
    status: status.name,
    status_code: record.reason,
    message: `${mapping.title}: ${status.name}`,
    count: record.count,
    ...(mapping.class === 'authentication' ? authentication(record, mapping) : apiActivity(record, mapping)),
    unmapped: unmapped(record, mapping),
  };
}

/** The reasons of changes that people make themselves, about themselves. */
const OWN_CHANGES: readonly (string | undefined)[] = [
  'sponsor_paused',
  'sponsor_resumed',
  'sign_in_too_old',
  'pause_not_liftable',
  'approver_not_fresh',
];

function mappingOf({ event, reason, sponsor }: LedgerRecord): Mapping {
  const mapping = Object.hasOwn(mappings, event) ? mappings[event as LedgerEvent] : UNKNOWN_EVENT;
  if (mapping.class !== 'api_activity') return mapping;
  const isOwn = mapping.actor === SPONSOR || OWN_CHANGES.includes(reason);
  return isOwn && sponsor !== undefined ? { ...mapping, actor: person(sponsor) } : mapping;
}

function classOf({ class: name, activity }: Mapping): Readonly<Record<string, unknown>> {
  const [uid, caption, categoryUid, category] =
    name === 'authentication'
      ? ([3002, 'Authentication', 3, 'Identity & Access Management'] as const)
      : ([6003, 'API Activity', 6, 'Application Activity'] as const);
  return {
    category_uid: categoryUid,
    category_name: category,
    class_uid: uid,
    class_name: caption,
    type_uid: uid * 100 + activity.id,
    type_name: `${caption}: ${activity.name}`,
  };
}

/**
 * The person is the user, who delegated to the agent. The task is the session and the delegation. At the console the
 * operator is the user, who signs in by OpenID Connect.
 */
function authentication(
  record: LedgerRecord,
  { isRequested, isOfOperator }: Extract<Mapping, { readonly class: 'authentication' }>,
): Readonly<Record<string, unknown>> {
  const { event, at, agentId, sponsor, taskId, audience, detail } = record;
  const delegating = sponsor === undefined ? NOBODY_KNOWN : person(sponsor);
  const { parent } = readTaken(record) ?? {};
  const user = isOfOperator ? operatorIn(detail) : delegating;
  return {
    user,
    actor: isRequested ? { user } : undefined,
    ai_agent: agentId === undefined ? undefined : { uid: agentId },
    delegation:
      taskId === undefined ? undefined : delegation(taskId, event === 'token.issued' ? at : undefined, parent),
    session: taskId === undefined ? undefined : { uid: taskId },
    // OCSF requires a service: the token's audience, otherwise this service.
    service: audience === undefined ? { name: PRODUCT } : { uid: audience },
    ...(isOfOperator
      ? { auth_protocol_id: 4, auth_protocol: 'OpenID' }
      : { auth_protocol_id: 6, auth_protocol: 'OAUTH 2.0' }),
    is_remote: true,
  };
}

function apiActivity(
  { event, reason, agentId, sponsor, taskId, detail }: LedgerRecord,
  { actor }: Extract<Mapping, { readonly class: 'api_activity' }>,
): Readonly<Record<string, unknown>> {
  const resources = [resource('agent', agentId), resource('person', sponsor), resource('task', taskId)].flat();
  const known = actor === SPONSOR ? NOBODY_KNOWN : actor;
  return {
    actor: { user: event === 'operator.acted' || reason === 'operator_role_missing' ? operatorIn(detail) : known },
    api: { operation: event, service: { name: PRODUCT } },
    // OCSF requires the address of the source. Records have none.
    src_endpoint: { name: UNKNOWN },
    resources: resources.length === 0 ? undefined : resources,
  };
}

/** The admin key has no `sub`. */
function operatorIn(detail: string | undefined): User {
  const uid = new URLSearchParams(detail).get('sub');
  return uid ? { uid, type_id: OPERATOR.type_id, type: OPERATOR.type } : OPERATOR;
}

function person(uid: string): User {
  return { uid, type_id: 1, type: 'User' };
}

/**
 * @param at the time of the task's first token, when the person delegated to the agent
 * @param parent the task from which another agent delegated it, if the record names it
 */
function delegation(
  taskId: string,
  at: number | undefined,
  parent: string | undefined,
): Readonly<Record<string, unknown>> {
  return {
    uid: taskId,
    parent_uid: parent,
    created_time: at === undefined ? undefined : Math.floor(at / MICROS_PER_MILLI),
  };
}

function resource(type: string, uid: string | undefined): readonly Readonly<Record<string, unknown>>[] {
  return uid === undefined ? [] : [{ uid, type, role_id: 1, role: 'Target' }];
}

/** The values of the record that have no attribute in OCSF 1.9. */
function unmapped(record: LedgerRecord, mapping: Mapping): Readonly<Record<string, unknown>> | undefined {
  const values = {
    checkpoint: record.checkpoint,
    jti: record.jti,
    scope: record.scope,
    audience: mapping.class === 'api_activity' ? record.audience : undefined,
    // The user is the operator.
    sponsor: mapping.class === 'authentication' && mapping.isOfOperator ? record.sponsor : undefined,
    delegation_depth: record.delegationDepth,
    detail: record.detail,
  };
  return Object.values(values).every((value) => value === undefined) ? undefined : values;
}
