import { expect } from 'chai';
import { toMillisecondText } from '../../../domain/instant.ts';
import { ocsfEvent } from '../../../domain/ledger/ocsf-event.ts';
import { type LedgerEvent, type LedgerRecord, ledgerEvents } from '../../../domain/ledger/record.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { fullEntry } from '../../support/ledger/fill.ts';
import { stepsOf, taskOf } from '../../support/log/delegation-records.ts';
import { faultsOf } from '../../support/ocsf/schema.ts';

/** The event of a record as a SIEM receives it. */
function jsonOf(record: LedgerRecord): Record<string, unknown> {
  return JSON.parse(JSON.stringify(ocsfEvent(record, '0.1.0')));
}

function full(event: string, decision: LedgerRecord['decision'] = 'allow'): LedgerRecord {
  return { ...fullEntry(0, NOON), seq: 4711, checkpoint: 12, event, decision };
}

function bare(event: string, decision: LedgerRecord['decision'] = 'deny'): LedgerRecord {
  return { seq: 1, checkpoint: undefined, at: NOON, event, decision };
}

const NOON_IN_MILLISECONDS = Date.parse(toMillisecondText(NOON));

/** The class, the activity and the acting user of each event. */
const MAPPED: Readonly<Record<LedgerEvent, readonly [string, string, string | undefined]>> = {
  'token.issued': ['Authentication', 'Logon', 'the person'],
  'token.denied': ['Authentication', 'Logon', 'the person'],
  'token.refreshed': ['Authentication', 'Token Renewal', 'the person'],
  'token.revoked': ['Authentication', 'Token Revocation', 'the person'],
  'task.revoked': ['Authentication', 'Logoff', undefined],
  'task.expired': ['Authentication', 'Logoff', undefined],
  'purpose.stated': ['Authentication', 'Purpose Statement', 'the person'],
  'delegation.offered': ['Authentication', 'Delegation Offer', 'the person'],
  'delegation.taken': ['Authentication', 'Delegation', 'the person'],
  'agent.registered': ['API Activity', 'Create', 'operator'],
  'agent.updated': ['API Activity', 'Update', 'operator'],
  'agent.deleted': ['API Activity', 'Delete', 'operator'],
  'sponsor.blocked': ['API Activity', 'Update', 'operator'],
  'sponsor.unblocked': ['API Activity', 'Update', 'operator'],
  'sponsor.signal': ['API Activity', 'Update', 'identity_provider'],
  'signal.denied': ['API Activity', 'Unknown', 'unknown'],
  'scim.denied': ['API Activity', 'Unknown', 'unknown'],
  'ssf.denied': ['API Activity', 'Unknown', 'unknown'],
  'admin.denied': ['API Activity', 'Unknown', 'unknown'],
  'me.denied': ['API Activity', 'Unknown', 'unknown'],
  'delegation.refused': ['API Activity', 'Update', 'the person'],
  'delegation.allowed': ['API Activity', 'Update', 'the person'],
  'approval.requested': ['API Activity', 'Create', 'tool_server'],
  'approval.granted': ['API Activity', 'Update', 'the person'],
  'approval.refused': ['API Activity', 'Update', 'the person'],
  'approval.expired': ['API Activity', 'Delete', 'Mandate'],
  'approval.withdrawn': ['API Activity', 'Delete', 'Mandate'],
  'approval.used': ['API Activity', 'Update', 'tool_server'],
  'authorization.allowed': ['API Activity', 'Create', 'the person'],
  'authorization.refused': ['API Activity', 'Create', 'the person'],
  'authorization.denied': ['API Activity', 'Unknown', 'the person'],
  'task.authorized': ['Authentication', 'Task Authorization', 'the person'],
  'operator.acted': ['API Activity', 'Operator Act', 'operator'],
  'operator.signed_in': ['Authentication', 'Logon', 'operator'],
  'operator.signed_out': ['Authentication', 'Logoff', undefined],
  'key.activated': ['API Activity', 'Create', 'operator'],
  'key.retired': ['API Activity', 'Update', 'operator'],
  'database.restored': ['API Activity', 'Update', 'operator'],
  'audit.archived': ['API Activity', 'Delete', 'operator'],
};

describe('The OCSF event of a record', () => {
  for (const event of ledgerEvents) {
    it(`is valid in OCSF 1.9.0 for ${event}, with every field of a record and with none`, () => {
      for (const decision of ['allow', 'deny', undefined] as const) {
        expect(faultsOf(jsonOf(full(event, decision)))).to.deep.equal([]);
        expect(faultsOf(jsonOf(bare(event, decision)))).to.deep.equal([]);
      }
    });

    it(`has the class and the activity of ${event}`, () => {
      const { class_name, activity_name, actor } = jsonOf({ ...full(event), sponsor: 'the person' });
      const { uid, name } = (actor as { user: { uid?: string; name?: string } } | undefined)?.user ?? {};
      expect([class_name, activity_name, uid ?? name]).to.deep.equal(MAPPED[event]);
    });

    it(`has every value of a ${event} record`, () => {
      const record = full(event, 'deny');
      const found = JSON.stringify(jsonOf(record));
      const { at, event: _event, decision, ...others } = record;
      for (const [field, value] of Object.entries(others)) {
        expect(found, field).to.include(JSON.stringify(value));
        // The event may contain a short number by chance.
        if (field !== 'seq') expect(jsonOf({ ...record, [field]: undefined }), field).not.to.deep.equal(jsonOf(record));
      }
      expect([at, decision]).to.deep.equal([NOON, 'deny']);
      expect(jsonOf(record)).to.include({ time: NOON_IN_MILLISECONDS, status: 'Failure' });
    });
  }

  it('names the task above in the record of a hand-over, and in no other', () => {
    const { issued, offered, taken } = stepsOf();
    const chain = [issued('planner'), offered('planner', 'writer', 1), issued('writer'), taken('writer', 'planner', 1)];
    const events = chain.map((entry) => jsonOf({ ...entry, at: NOON, seq: 1, checkpoint: undefined }));
    for (const event of events) expect(faultsOf(event)).to.deep.equal([]);
    const [, , , last] = events;
    expect(last?.delegation).to.deep.equal({ uid: taskOf('writer'), parent_uid: taskOf('planner') });
    expect(events.map(({ delegation }) => Object.keys(delegation as object).includes('parent_uid'))).to.deep.equal([
      ...[false, false, false, true],
    ]);
  });

  it('names the agent, the person and the delegation', () => {
    expect(
      jsonOf({
        seq: 7,
        checkpoint: 2,
        at: NOON,
        event: 'token.issued',
        decision: 'allow',
        taskId: 'task_1',
        agentId: 'agent-1',
        sponsor: 'ada',
        audience: 'https://jira.example',
        scope: 'jira:read',
        jti: 'tok_1',
        delegationDepth: 1,
      }),
    ).to.deep.equal({
      metadata: {
        sequence: 7,
        version: '1.9.0',
        product: { name: 'Mandate', vendor_name: 'Mandate', version: '0.1.0' },
        profiles: ['ai_operation'],
        event_code: 'token.issued',
        original_event_uid: '7',
        correlation_uid: 'task_1',
      },
      time: NOON_IN_MILLISECONDS,
      category_uid: 3,
      category_name: 'Identity & Access Management',
      class_uid: 3002,
      class_name: 'Authentication',
      type_uid: 300201,
      type_name: 'Authentication: Logon',
      activity_id: 1,
      activity_name: 'Logon',
      severity_id: 1,
      severity: 'Informational',
      status_id: 1,
      status: 'Success',
      message: 'Issue of a task token: Success',
      user: { uid: 'ada', type_id: 1, type: 'User' },
      actor: { user: { uid: 'ada', type_id: 1, type: 'User' } },
      ai_agent: { uid: 'agent-1' },
      delegation: { uid: 'task_1', created_time: NOON_IN_MILLISECONDS },
      session: { uid: 'task_1' },
      service: { uid: 'https://jira.example' },
      auth_protocol_id: 6,
      auth_protocol: 'OAUTH 2.0',
      is_remote: true,
      unmapped: { checkpoint: 2, jti: 'tok_1', scope: 'jira:read', delegation_depth: 1 },
    });
  });

  it('names neither an agent nor a person if the record names none', () => {
    const event = jsonOf({ ...bare('token.denied'), reason: 'actor_malformed', count: 3 });
    expect(event).to.include({ status_code: 'actor_malformed', count: 3, severity: 'Low' });
    expect(event).to.deep.include({ user: { name: 'unknown', type_id: 0, type: 'Unknown' } });
    expect(event).not.to.have.any.keys('ai_agent', 'delegation', 'session', 'unmapped');
  });

  it('names the operator who acted, or who lacks a role', () => {
    const detail = 'iss=https%3A%2F%2Fidp.example&sub=olga&act=DELETE+%2Fadmin%2Ftasks%2F%7Btask_id%7D';
    const records = [{ event: 'operator.acted' }, { event: 'admin.denied', reason: 'operator_role_missing' }] as const;
    for (const record of records) {
      const { actor } = jsonOf({ ...bare(record.event), ...record, detail });
      expect(actor).to.deep.equal({ user: { uid: 'olga', type_id: 2, type: 'Admin' } });
    }
    const byKey = jsonOf({ ...bare('operator.acted'), detail: 'iss=&sub=&role=key' });
    expect(byKey.actor).to.deep.equal({ user: { name: 'operator', type_id: 2, type: 'Admin' } });
  });

  it('names the operator who signed in or out at the console, by OpenID Connect', () => {
    const detail = 'iss=https%3A%2F%2Fidp.example&sub=olga&role=auditor%2Cresponder';
    const olga = { uid: 'olga', type_id: 2, type: 'Admin' };
    for (const [event, actor] of [
      ['operator.signed_in', { user: olga }],
      ['operator.signed_out', undefined],
    ] as const) {
      const json = jsonOf({ ...bare(event, 'allow'), detail });
      expect(json).to.deep.include({ user: olga, auth_protocol: 'OpenID', unmapped: { detail } });
      expect([json.actor, json.session, json.service]).to.deep.equal([actor, undefined, { name: 'Mandate' }]);
    }
  });

  it('is made for an unknown event of a newer release, even if the event is named like an inherited property', () => {
    for (const event of ['tool.called', 'constructor', '__proto__']) {
      const json = jsonOf(full(event));
      expect(faultsOf(json)).to.deep.equal([]);
      expect(json).to.include({ class_name: 'API Activity', activity_name: 'Unknown' });
      expect(json).to.deep.nested.include({ 'api.operation': event, 'resources[1].type': 'person' });
    }
  });
});
