/** A small fault run: every kind of operation once or twice, and the ledger that matches it. */

import type { LedgerLine, Operation, OperationKind } from '../../../scripts/faults/operations.ts';

export interface ARun {
  readonly operations: Operation[];
  readonly lines: LedgerLine[];
  readonly agents: string[];
}

const AGENT = 'load-agent';
const OTHER_AGENT = 'agent-that-registered';

export function aRun(): ARun {
  const operations: Operation[] = [];
  const lines: LedgerLine[] = [];
  let now = 1_000;
  const ask = (kind: OperationKind, status: number, more: Partial<Operation> = {}): void => {
    now += 10;
    operations.push({ kind, status, began: now, ended: now + 5, ...more });
  };
  const record = (event: string, reason: string | null, more: Partial<LedgerLine> = {}): void => {
    const unnamed = { task_id: null, agent_id: null, sponsor: null, jti: null, detail: null };
    lines.push({ seq: lines.length + 1, checkpoint: 1, event, reason, ...unnamed, ...more });
  };

  const started = (name: string) => {
    const one = { sub: `person-${name}`, task: `task-${name}`, jti: `jti-${name}`, token: `token-${name}` };
    ask('exchange', 200, { ...one, agent: AGENT });
    const named = { sponsor: one.sub, task_id: one.task };
    record('token.issued', null, { ...named, jti: one.jti, agent_id: AGENT });
    const end = (reason: string) => record('task.revoked', reason, { ...named, agent_id: AGENT });
    const introspect = (active: boolean) => ask('introspect', 200, { task: one.task, jti: one.jti, active });
    return { one, named, end, introspect };
  };

  record('agent.registered', null, { agent_id: AGENT });

  // A task that is renewed three times and then ended.
  const killed = started('killed');
  const { task } = killed.one;
  ask('refresh', 200, { task, jti: 'jti-first' });
  record('token.refreshed', null, { ...killed.named, jti: 'jti-first' });
  ask('refresh', 200, { task, jti: 'jti-second' });
  ask('refresh', 200, { task, jti: 'jti-third' });
  killed.introspect(true);
  ask('kill a task', 200, killed.one);
  record('token.refreshed', null, { ...killed.named, count: 2 });
  killed.end('operator_kill_switch');
  killed.introspect(false);
  ask('refresh', 400, { task, error: 'access_denied task_revoked' });
  record('token.denied', 'task_revoked', killed.named);

  // A revoked token, whose task ends with the run.
  const revoked = started('revoked');
  ask('revoke a token', 200, revoked.one);
  record('token.revoked', 'client_revoked', { ...revoked.named, jti: revoked.one.jti });
  revoked.introspect(false);
  revoked.end('operator_kill_switch');

  const blocked = started('blocked');
  ask('block', 200, blocked.one);
  record('sponsor.blocked', 'sponsor_blocked', { sponsor: blocked.one.sub });
  blocked.end('sponsor_blocked');
  ask('exchange for a blocked person', 400, { sub: blocked.one.sub, agent: AGENT });
  record('token.denied', 'sponsor_disabled', { sponsor: blocked.one.sub, agent_id: AGENT });

  ask('exchange for another audience', 400, { sub: 'person-elsewhere', agent: AGENT });
  record('token.denied', 'audience_not_allowed', { sponsor: 'person-elsewhere', agent_id: AGENT });

  const provisioned = started('provisioned');
  ask('provision', 201, { sub: provisioned.one.sub, user: 'user-1' });
  ask('deactivate', 200, { ...provisioned.one, user: 'user-1' });
  record('sponsor.signal', 'scim_deactivated', { sponsor: provisioned.one.sub });
  provisioned.end('scim_deactivated');
  ask('activate', 200, { sub: provisioned.one.sub, user: 'user-1' });
  record('sponsor.signal', 'scim_reactivated', { sponsor: provisioned.one.sub });

  const loggedOut = started('logged-out');
  ask('log out', 200, loggedOut.one);
  record('sponsor.signal', 'sponsor_logged_out', { sponsor: loggedOut.one.sub });
  loggedOut.end('sponsor_logged_out');

  const disabled = started('disabled');
  ask('disable by event', 202, disabled.one);
  record('sponsor.signal', 'ssf_account_disabled', { sponsor: disabled.one.sub });
  disabled.end('ssf_account_disabled');
  // The operator's block has a record although another source has already blocked the person.
  ask('block', 200, disabled.one);
  record('sponsor.blocked', 'sponsor_blocked', { sponsor: disabled.one.sub });

  const givenUp = started('given-up');
  ask('revoke a grant', 200, givenUp.one);
  givenUp.end('client_revoked');

  ask('register', 201, { agent: OTHER_AGENT });
  record('agent.registered', null, { agent_id: OTHER_AGENT });
  ask('disable an agent', 200, { agent: OTHER_AGENT });
  record('agent.updated', 'changed:enabled', { agent_id: OTHER_AGENT });

  // Three approvals of one task: a yes that is used, a no, and a yes whose use got no answer. The fourth question is withdrawn.
  const asking = started('asking');
  const approving = (nth: number) => {
    const approval = `approval_${String(nth).padStart(26, '0')}`;
    const digest = `digest-${nth}`.padEnd(43, '_');
    const about = { task: asking.one.task, jti: asking.one.jti, sub: asking.one.sub, digest };
    const detail = `approval=${approval}&digest=${digest}&commitment=${'0'.repeat(64)}`;
    const told = (state: string, more: Partial<Operation> = {}) =>
      ask('ask for approval', 200, { ...about, state, ...more });
    told('pending', { approval });
    record('approval.requested', null, { ...asking.named, agent_id: AGENT, detail });
    return {
      ask: (state: string) => told(state, state === 'granted' ? { approval } : {}),
      lose: () => ask('ask for approval', 0, { ...about, error: 'ECONNRESET' }),
      say: (kind: 'say yes' | 'say no', status = 200) =>
        ask(kind, status, { ...about, approval, ...(status === 409 ? { error: 'not_waiting' } : {}) }),
      record: (event: string, reason: string | null = null) =>
        record(event, reason, { ...asking.named, agent_id: AGENT, detail }),
    };
  };
  const used = approving(1);
  ask('read what waits', 200, { sub: asking.one.sub });
  used.say('say yes');
  used.record('approval.granted');
  used.ask('granted');
  used.record('approval.used');
  used.ask('spent');
  const denied = approving(2);
  denied.say('say no');
  denied.record('approval.refused');
  denied.say('say yes', 409);
  denied.ask('refused');
  const untold = approving(3);
  untold.say('say yes');
  untold.record('approval.granted');
  untold.lose();
  untold.record('approval.used');
  const open = approving(4);
  ask('kill a task', 200, asking.one);
  asking.end('operator_kill_switch');
  open.record('approval.withdrawn', 'operator_kill_switch');
  open.ask('inactive');

  // Requests without a response, or with a 503: the service may have decided them or not.
  ask('exchange', 0, { sub: 'person-lost', agent: AGENT, error: 'ECONNRESET' });
  const lost = { sponsor: 'person-lost', task_id: 'task-lost', agent_id: AGENT };
  record('token.issued', null, { ...lost, jti: 'jti-lost' });
  record('task.revoked', 'operator_kill_switch', lost);
  ask('exchange', 503, { sub: 'person-refused', agent: AGENT, retryAfter: '5' });
  record('token.denied', 'overloaded');
  ask('block', 503, { sub: 'person-refused', retryAfter: '5' });
  record('sponsor.blocked', 'sponsor_blocked', { sponsor: 'person-refused' });

  return { operations, lines, agents: [AGENT] };
}
