/** The comparisons after a fault run find every contradiction between responses, ledger and state. */

import { expect } from 'chai';
import { reconcile } from '../../../scripts/faults/checks/reconcile.ts';
import { type Reply, type Session, TIMED_OUT } from '../../../scripts/faults/load/session.ts';
import { type ARun, aRun } from './a-run.ts';
import { answered, type Change, doubled, invented, later, lost, rewritten } from './changed-run.ts';

const PATHS: Readonly<Record<string, RegExp>> = {
  introspection: /^\/oauth2\/introspect$/,
  block: /^\/admin\/sponsors\//,
  user: /^\/scim\/v2\/Users\//,
  agent: /^\/admin\/agents\/[^/]+$/,
  kill: /^\/admin\/agents\/[^/]+\/tasks$/,
  ledger: /^\/audit\?/,
};

/** @param instead for some paths, other responses than those of a service that lost nothing */
async function lossesOf(run: ARun, instead: Readonly<Record<string, Partial<Reply>>> = {}, code = 0) {
  const right: Readonly<Record<string, (path: string) => Partial<Reply>>> = {
    introspection: () => ({ body: { active: false } }),
    block: (path) => (path.includes('provisioned') ? { status: 404 } : {}),
    user: () => ({ body: { active: true } }),
    agent: () => ({ body: { enabled: false } }),
    kill: () => ({}),
    ledger: () => ({ body: { records: run.lines, next_cursor: null } }),
  };
  const session: Session = {
    async send({ path }) {
      const [name = ''] = Object.entries(PATHS).find(([, pattern]) => pattern.test(path)) ?? [];
      const reply = { status: 200, headers: {}, body: {}, began: 0, ended: 0 };
      return { ...reply, ...(instead[name] ?? right[name]?.(path)) };
    },
    close: () => undefined,
  };
  return reconcile({ ...run, session, adminKey: 'x', verify: async () => code, sealedWithinMs: 0 });
}

const killed = { task_id: 'task-killed' };
const ofKilled = { task: 'task-killed', jti: 'jti-killed' };

const USED = { approval: `approval_${'1'.padStart(26, '0')}` };
const withApproval = (nth: number) =>
  aRun().lines.find(({ detail }) => detail?.includes(`digest-${nth}_`))?.detail ?? '';
const ofUsed = { task: 'task-asking', jti: 'jti-asking', sub: 'person-asking', ...USED };

const WRONG: Readonly<Record<string, readonly [Change, RegExp]>> = {
  'a token without its record': [
    lost({ event: 'token.issued', sponsor: 'person-killed' }),
    /its person has 0 records, and none matches/,
  ],
  'a record with another token': [
    rewritten({ event: 'token.issued' }, { jti: 'another' }),
    /its person has 1 records, and none matches/,
  ],
  'a record with another agent': [
    rewritten({ event: 'token.issued' }, { agent_id: 'another' }),
    /its person has 1 records, and none matches/,
  ],
  'a record with another task': [
    rewritten({ event: 'token.issued' }, { task_id: 'another' }),
    /its person has 1 records, and none matches/,
  ],
  'two records of one person': [doubled({ event: 'token.issued', jti: 'jti-lost' }), /has one exchange and 2 records/],
  'two records of one token': [
    rewritten({ event: 'token.issued', jti: 'jti-lost' }, { jti: 'jti-killed' }),
    /two records name one token/,
  ],
  'a token without an exchange': [
    invented({ event: 'token.issued', sponsor: 'another', jti: 'x', task_id: 'x' }),
    /is recorded without an exchange/,
  ],
  'a token whose exchange was refused': [
    answered({ kind: 'exchange', sub: 'person-lost' }, { status: 400, error: 'invalid_grant' }),
    /is recorded, and its exchange was refused/,
  ],
  'a token for a blocked person': [
    invented({ event: 'token.issued', sponsor: 'person-blocked', jti: 'x', task_id: 'x' }),
    /has one exchange and 2 records/,
  ],

  'one renewal missing': [rewritten({ event: 'token.refreshed', count: 2 }, { count: 1 }), /has 2 renewals/],
  'one renewal too many': [rewritten({ event: 'token.refreshed', count: 2 }, { count: 3 }), /has 4 renewals/],
  'no summary of the renewals': [lost({ event: 'token.refreshed', count: 2 }), /has 1 renewals/],
  'a first renewal whose token was not answered': [
    rewritten({ event: 'token.refreshed', jti: 'jti-first' }, { jti: 'x' }),
    /task-killed has 1 records of its first renewal, or its token was not answered/,
  ],
  'a renewal without a request': [
    invented({ event: 'token.refreshed', task_id: 'task-revoked', jti: 'x' }),
    /task-revoked is recorded as renewed without a request/,
  ],

  'a task without an end': [lost({ event: 'task.revoked', ...killed }), /task-killed has 0 records of its end/],
  'a task with two ends': [doubled({ event: 'task.revoked', ...killed }), /task-killed has 2 records of its end/],
  'an end for another reason than requested': [
    rewritten({ event: 'task.revoked', ...killed }, { reason: 'sponsor_blocked' }),
    /recorded as task.revoked sponsor_blocked, without such a request/,
  ],
  'an expiry before the end of the task': [
    rewritten({ event: 'task.revoked', ...killed }, { event: 'task.expired', reason: 'task_ttl_elapsed' }),
    /recorded as task.expired task_ttl_elapsed/,
  ],
  'a renewal after the end': [
    later({ kind: 'refresh', status: 200, task: 'task-killed', jti: 'x' }),
    /was renewed after the response about its end/,
  ],
  'an active token after the end': [
    later({ kind: 'introspect', status: 200, active: true, ...ofKilled }),
    /was active after the response about its end/,
  ],
  'an active token after its revocation': [
    later({ kind: 'introspect', status: 200, active: true, task: 'task-revoked', jti: 'jti-revoked' }),
    /was active after the response about its end/,
  ],
  'an inactive token before any request for its end': [
    answered({ kind: 'introspect', active: true, ...ofKilled }, { active: false }),
    /was inactive before any request for its end/,
  ],
  'a revocation without its record': [lost({ event: 'token.revoked' }), /was answered and has no record/],
  'two records of a revocation': [doubled({ event: 'token.revoked' }), /is recorded 2 times/],
  'a revocation without a request': [
    invented({ event: 'token.revoked', jti: 'jti-killed' }),
    /is recorded as revoked without a request/,
  ],

  'a yes that is told twice': [
    answered({ kind: 'ask for approval', state: 'spent' }, { state: 'granted', ...USED }),
    /approval_0+1 was answered 2 times as granted/,
  ],
  'a yes that is used twice': [
    doubled({ event: 'approval.used', detail: withApproval(1) }),
    /approval_0+1 is recorded as "requested, granted, used, used"/,
  ],
  'a yes that is told, and not recorded': [
    lost({ event: 'approval.used', detail: withApproval(1) }),
    /approval_0+1 was answered as granted, and is not recorded as used/,
  ],
  'a yes that is used, and not told': [
    answered({ kind: 'ask for approval', state: 'granted' }, { state: 'spent', approval: undefined }),
    /approval_0+1 is recorded as used, and no tool server was told/,
  ],
  'a use without a yes': [
    lost({ event: 'approval.granted', detail: withApproval(1) }),
    /approval_0+1 was answered, and is not recorded as granted/,
  ],
  'a yes that the person did not say': [
    answered({ kind: 'say yes', ...USED }, { status: 409, error: 'not_waiting' }),
    /approval_0+1 is recorded as granted, and the person did not say yes/,
  ],
  'a no without its record': [
    lost({ event: 'approval.refused' }),
    /approval_0+2 was answered, and is not recorded as refused/,
  ],
  'a yes to another call': [
    answered({ kind: 'ask for approval', state: 'granted' }, { digest: 'another' }),
    /approval_0+1 was answered for another call/,
  ],
  'a yes for another task': [
    answered({ kind: 'ask for approval', state: 'granted' }, { task: 'task-killed' }),
    /approval_0+1 was answered for another task or person/,
  ],
  'a question that is not recorded': [
    later({ kind: 'ask for approval', status: 200, state: 'pending', ...ofUsed, approval: 'another' }),
    /the approval another is recorded as ""/,
  ],
  'a question without a request': [
    (run) => {
      const detail = withApproval(4).replace('digest-4', 'digest-x').replace('4&', '5&');
      const named = { sponsor: 'person-asking', task_id: 'task-asking', detail };
      invented({ event: 'approval.requested', ...named })(run);
      invented({ event: 'approval.withdrawn', ...named })(run);
    },
    /approval_0+5 is recorded without a request/,
  ],
  'an approval that the end of its task left open': [
    lost({ event: 'approval.withdrawn' }),
    /approval_0+4 is recorded as "requested"/,
  ],
  'an approval of two commitments': [
    rewritten({ event: 'approval.used' }, { detail: withApproval(1).replace(/0$/, '1') }),
    /approval_0+1 has records that name different calls/,
  ],
  'a record of no approval': [
    rewritten({ event: 'approval.withdrawn' }, { detail: null }),
    /approval.withdrawn, names no approval/,
  ],
  'a yes after the end': [
    later({ kind: 'ask for approval', status: 200, state: 'granted', ...ofUsed }),
    /an approval of the task task-asking was granted after the response about its end/,
  ],
  'an inactive approval before any request for its end': [
    answered({ kind: 'ask for approval', state: 'spent' }, { state: 'inactive' }),
    /the approvals of the task task-asking were inactive before any request for its end/,
  ],
  'a refused answer without a cause': [
    answered({ kind: 'say yes', ...USED }, { status: 409, error: 'not_waiting' }),
    /"say yes" was answered 409 not_waiting/,
  ],

  'a refused renewal without its record': [lost({ event: 'token.denied', reason: 'task_revoked' }), /"refresh" for/],
  'a refused audience without its record': [
    lost({ event: 'token.denied', reason: 'audience_not_allowed' }),
    /"exchange for another audience" for person-elsewhere: 1 answered, 0 unanswered, 0 records/,
  ],
  'a refused person without its record': [
    lost({ event: 'token.denied', reason: 'sponsor_disabled' }),
    /"exchange for a blocked person"/,
  ],
  'a block without its record': [lost({ event: 'sponsor.blocked', sponsor: 'person-blocked' }), /"block" for/],
  'two answered blocks without a record': [
    (run) => {
      later({ kind: 'block', status: 200, sub: 'person-blocked' })(run);
      lost({ event: 'sponsor.blocked', sponsor: 'person-blocked' })(run);
    },
    /"block" for person-blocked: 2 answered, 0 unanswered, 0 records/,
  ],
  'two records of a block': [doubled({ event: 'sponsor.blocked', sponsor: 'person-blocked' }), /"block" for/],
  'a deactivation without its record': [lost({ event: 'sponsor.signal', reason: 'scim_deactivated' }), /"deactivate"/],
  'an activation without its record': [lost({ event: 'sponsor.signal', reason: 'scim_reactivated' }), /"activate"/],
  'a logout without its record': [lost({ event: 'sponsor.signal', reason: 'sponsor_logged_out' }), /"log out"/],
  'an event without its record': [
    lost({ event: 'sponsor.signal', reason: 'ssf_account_disabled' }),
    /"disable by event"/,
  ],
  'a registration without its record': [
    lost({ event: 'agent.registered', agent_id: 'agent-that-registered' }),
    /"register"/,
  ],
  'a disabled agent without its record': [lost({ event: 'agent.updated' }), /"disable an agent"/],
  'a block without a request': [
    invented({ event: 'sponsor.blocked', reason: 'sponsor_blocked', sponsor: 'another' }),
    /the record 1000, sponsor.blocked sponsor_blocked, has no request/,
  ],
  'a refusal without a request': [
    invented({ event: 'token.denied', reason: 'sponsor_disabled', sponsor: 'another' }),
    /the record 1000, token.denied sponsor_disabled, has no request/,
  ],
  'an agent without a registration': [
    invented({ event: 'agent.registered', agent_id: 'x' }),
    /the record 1000, agent.registered null, has no request/,
  ],
  'a record of an operation that the load does not have': [
    invented({ event: 'agent.deleted', agent_id: 'agent-that-registered' }),
    /the record 1000, agent.deleted null, has no request/,
  ],

  'a recorded overload without a 503': [
    invented({ event: 'ssf.denied', reason: 'overloaded' }),
    /ssf.denied overloaded is recorded 1 times, of 0 requests/,
  ],
  'a sum of overloads above the number of 503': [
    (run) => {
      later({ kind: 'log out', status: 503, retryAfter: '1' })(run);
      invented({ event: 'signal.denied', reason: 'overloaded', count: 2 })(run);
    },
    /signal.denied overloaded is recorded 2 times, of 1 requests/,
  ],
  'a recorded overload that names a person': [
    invented({ event: 'admin.denied', reason: 'overloaded', sponsor: 'another' }),
    /the record 1000, admin.denied overloaded, has no request/,
  ],

  'a 503 without Retry-After': [
    answered({ kind: 'exchange', status: 503 }, { retryAfter: undefined }),
    /"exchange" was answered 503/,
  ],
  'a request that hangs': [answered({ kind: 'exchange', status: 0 }, { error: TIMED_OUT }), /was answered 0 no answer/],
  'a 500': [later({ kind: 'introspect', status: 500 }), /"introspect" was answered 500/],
  'a token for another audience': [
    answered({ kind: 'exchange for another audience' }, { status: 200 }),
    /"exchange for another audience" was answered 200/,
  ],
  'a renewal refused without a cause': [
    answered({ kind: 'refresh', status: 400 }, { task: 'task-revoked' }),
    /"refresh" was answered 400/,
  ],
  'a renewal refused as unknown': [
    answered({ kind: 'refresh', status: 400 }, { error: 'invalid_grant' }),
    /"refresh" was answered 400 invalid_grant/,
  ],
};

describe('the comparisons of a fault run', () => {
  it('find nothing in a run without losses, and count the tasks left behind and the yeses without an answer', async () => {
    expect(await lossesOf(aRun())).to.deep.include({ losses: [], leftBehind: 1, untold: 1 });
  });

  it('find nothing if as many overloads are recorded as were answered with 503', async () => {
    const run = aRun();
    for (const kind of ['kill a task', 'provision', 'log out', 'disable by event', 'refresh'] as const)
      later({ kind, status: 503, retryAfter: '1' })(run);
    for (const surface of ['admin', 'scim', 'signal', 'ssf', 'token'])
      invented({ event: `${surface}.denied`, reason: 'overloaded' })(run);
    expect((await lossesOf(run)).losses).to.deep.equal([]);
  });

  for (const [problem, [change, loss]] of Object.entries(WRONG)) {
    it(`find ${problem}`, async () => {
      const run = aRun();
      change(run);
      expect((await lossesOf(run)).losses.join('\n')).to.match(loss);
    });
  }

  for (const [problem, instead, loss] of [
    [
      'an ended token that is active again',
      { introspection: { body: { active: true } } },
      /jti-killed is still active/,
    ],
    [
      'a revoked token that is active again',
      { introspection: { body: { active: true } } },
      /jti-revoked is still active/,
    ],
    ['an introspection without an answer', { introspection: { status: 0 } }, /jti-killed is still active \(0\)/],
    ['a block that is missing', { block: { status: 404 } }, /person-blocked is not blocked/],
    ['a block of an event that is missing', { block: { status: 404 } }, /person-disabled is not blocked/],
    ['a lifted block that is still there', { block: { status: 200 } }, /person-provisioned is still blocked/],
    ['a user that is missing', { user: { status: 404 } }, /"provision" was answered, and the user user-1/],
    ['a user that is inactive again', { user: { body: { active: false } } }, /"activate" was answered, and the user/],
    ['an agent that is missing', { agent: { status: 404 } }, /"register" was answered, and the agent/],
    ['an agent that is enabled again', { agent: { body: { enabled: true } } }, /"disable an agent" was answered/],
    ['a kill switch that is refused', { kill: { status: 409 } }, /a kill switch answered 409/],
  ] as const) {
    it(`find ${problem}`, async () => {
      expect((await lossesOf(aRun(), instead)).losses.join('\n')).to.match(loss);
    });
  }

  it('find records that were never sealed', async () => {
    const run = aRun();
    rewritten({ event: 'token.issued' }, { checkpoint: null })(run);
    expect((await lossesOf(run)).losses).to.deep.equal(['1 records were never sealed']);
  });

  it('find a ledger whose verification fails, and a run that issued no token', async () => {
    expect((await lossesOf(aRun(), {}, 3)).losses).to.deep.equal(['audit-verify ended with 3']);
    const unserved = { operations: [], lines: [], agents: [] };
    expect((await lossesOf(unserved)).losses).to.deep.equal(['no exchange was answered with a token']);
    const operations = aRun().operations.filter(({ kind, status }) => kind !== 'exchange' || status !== 200);
    const refused = { ...aRun(), operations };
    expect((await lossesOf(refused)).losses).to.include('no exchange was answered with a token');
  });
});
