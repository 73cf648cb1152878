/** What the fault runs hold against each other, tried against ledgers and answers in which something is wrong. */

import { expect } from 'chai';
import type { Act, Kept } from '../../../scripts/faults/load/kept.ts';
import { HUNG, type Reply, type Session } from '../../../scripts/faults/load/session.ts';
import type { LedgerLine } from '../../../scripts/faults/reconciliation/evidence.ts';
import { reconcile } from '../../../scripts/faults/reconciliation/reconcile.ts';
import { type ARun, aRun } from './a-run.ts';

const PATHS: Readonly<Record<string, RegExp>> = {
  introspection: /^\/oauth2\/introspect$/,
  block: /^\/admin\/sponsors\//,
  user: /^\/scim\/v2\/Users\//,
  agent: /^\/admin\/agents\/[^/]+$/,
  kill: /^\/admin\/agents\/[^/]+\/tasks$/,
  ledger: /^\/audit\?/,
};

/** @param instead what is answered otherwise than by a service that has kept everything, by the name of a path */
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

type Change = (run: ARun) => void;
type Named = Partial<LedgerLine> & Pick<LedgerLine, 'event'>;

function placeOf<Item extends object>(items: readonly Item[], named: Partial<Item>): number {
  const at = items.findIndex((item) =>
    Object.entries(named).every(([key, value]) => item[key as keyof Item] === value),
  );
  if (at < 0) throw new Error(`there is no ${JSON.stringify(named)}`);
  return at;
}

const lost =
  (named: Named): Change =>
  ({ lines }) =>
    void lines.splice(placeOf(lines, named), 1);
const rewritten =
  (named: Named, change: Partial<LedgerLine>): Change =>
  ({ lines }) => {
    const at = placeOf(lines, named);
    lines.splice(at, 1, ...lines.slice(at, at + 1).map((line) => ({ ...line, ...change })));
  };
const doubled =
  (named: Named): Change =>
  ({ lines }) =>
    void lines.push(...lines.slice(placeOf(lines, named)).slice(0, 1));
const invented =
  (line: Named): Change =>
  ({ lines }) =>
    void lines.push({
      ...{ seq: 1_000, checkpoint: 1, reason: null, task_id: null, agent_id: null, sponsor: null, jti: null },
      ...line,
    });
const answered =
  (named: Partial<Kept> & { readonly act: Act }, change: Partial<Kept>): Change =>
  ({ kept }) => {
    const at = placeOf(kept, named);
    kept.splice(at, 1, ...kept.slice(at, at + 1).map((one) => ({ ...one, ...change })));
  };
const later =
  (one: Partial<Kept> & Pick<Kept, 'act' | 'status'>): Change =>
  ({ kept }) =>
    void kept.push({ began: 9_000, ended: 9_005, ...one });

const killed = { task_id: 'task-killed' };
const ofKilled = { task: 'task-killed', jti: 'jti-killed' };

const WRONG: Readonly<Record<string, readonly [Change, RegExp]>> = {
  'a token without its record': [lost({ event: 'token.issued', sponsor: 'person-killed' }), /has 0 records/],
  'a record with another token': [rewritten({ event: 'token.issued' }, { jti: 'another' }), /none its own/],
  'a record with another agent': [rewritten({ event: 'token.issued' }, { agent_id: 'another' }), /none its own/],
  'a record with another task': [rewritten({ event: 'token.issued' }, { task_id: 'another' }), /none its own/],
  'two records of one person': [doubled({ event: 'token.issued', jti: 'jti-lost' }), /asked once and has 2/],
  'two records of one token': [
    rewritten({ event: 'token.issued', jti: 'jti-lost' }, { jti: 'jti-killed' }),
    /two records name one token/,
  ],
  'a token that nobody asked for': [
    invented({ event: 'token.issued', sponsor: 'somebody', jti: 'x', task_id: 'x' }),
    /nobody asked for it/,
  ],
  'a token for whoever was refused': [
    answered({ act: 'exchange', sub: 'person-lost' }, { status: 400, error: 'invalid_grant' }),
    /is recorded and was refused/,
  ],
  'a token for a blocked person': [
    invented({ event: 'token.issued', sponsor: 'person-blocked', jti: 'x', task_id: 'x' }),
    /asked once and has 2/,
  ],

  'a renewal too few': [rewritten({ event: 'token.refreshed', count: 2 }, { count: 1 }), /has 2 renewals/],
  'a renewal too many': [rewritten({ event: 'token.refreshed', count: 2 }, { count: 3 }), /has 4 renewals/],
  'no summary of the renewals': [lost({ event: 'token.refreshed', count: 2 }), /has 1 renewals/],
  'a first renewal of nobody': [
    rewritten({ event: 'token.refreshed', jti: 'jti-first' }, { jti: 'x' }),
    /the first renewal of the task task-killed is recorded 1 times, or as nobody's/,
  ],
  'a renewal that nobody asked for': [
    invented({ event: 'token.refreshed', task_id: 'task-revoked', jti: 'x' }),
    /task-revoked is recorded as renewed/,
  ],

  'a task without an end': [lost({ event: 'task.revoked', ...killed }), /task-killed has 0 records of its end/],
  'a task with two ends': [doubled({ event: 'task.revoked', ...killed }), /task-killed has 2 records of its end/],
  'an end that nobody asked for': [
    rewritten({ event: 'task.revoked', ...killed }, { reason: 'sponsor_blocked' }),
    /recorded as task.revoked sponsor_blocked, which nobody asked for/,
  ],
  'an end that was not due': [
    rewritten({ event: 'task.revoked', ...killed }, { event: 'task.expired', reason: 'task_ttl_elapsed' }),
    /recorded as task.expired task_ttl_elapsed/,
  ],
  'a renewal after the end': [
    later({ act: 'refresh', status: 200, task: 'task-killed', jti: 'x' }),
    /was renewed after its end had been answered/,
  ],
  'an active token after the end': [
    later({ act: 'introspect', status: 200, active: true, ...ofKilled }),
    /was called active after its end/,
  ],
  'an active token after its revocation': [
    later({ act: 'introspect', status: 200, active: true, task: 'task-revoked', jti: 'jti-revoked' }),
    /was called active after its end/,
  ],
  'an inactive token before anybody asked for its end': [
    answered({ act: 'introspect', active: true, ...ofKilled }, { active: false }),
    /was called inactive, and nobody had asked for its end/,
  ],
  'a revocation without its record': [lost({ event: 'token.revoked' }), /was answered and has no record/],
  'two records of a revocation': [doubled({ event: 'token.revoked' }), /is recorded 2 times/],
  'a revocation that nobody asked for': [
    invented({ event: 'token.revoked', jti: 'jti-killed' }),
    /is recorded as revoked, and nobody asked/,
  ],

  'a refused renewal without its record': [lost({ event: 'token.denied', reason: 'task_revoked' }), /"refresh" for/],
  'a refused audience without its record': [
    lost({ event: 'token.denied', reason: 'audience_not_allowed' }),
    /"exchange for another audience" for person-elsewhere: 1 answered, 0 unanswered, 0 records/,
  ],
  'a refused person without the record': [
    lost({ event: 'token.denied', reason: 'sponsor_disabled' }),
    /"exchange for a blocked person"/,
  ],
  'a block without its record': [lost({ event: 'sponsor.blocked', sponsor: 'person-blocked' }), /"block" for/],
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
  'a block that nobody asked for': [
    invented({ event: 'sponsor.blocked', reason: 'sponsor_blocked', sponsor: 'somebody' }),
    /nobody asked for the record 1000, sponsor.blocked/,
  ],
  'a refusal that nobody was given': [
    invented({ event: 'token.denied', reason: 'sponsor_disabled', sponsor: 'somebody' }),
    /nobody asked for the record 1000, token.denied sponsor_disabled/,
  ],
  'an agent that nobody registered': [invented({ event: 'agent.registered', agent_id: 'x' }), /nobody asked for/],
  'a change that nobody makes': [
    invented({ event: 'agent.deleted', agent_id: 'agent-that-registered' }),
    /nobody asked/,
  ],

  'a request that found no turn, and nobody was told': [
    invented({ event: 'ssf.denied', reason: 'overloaded' }),
    /ssf.denied overloaded is recorded 1 times, of 0 requests/,
  ],
  'more that found no turn than were told, summed up': [
    (run) => {
      later({ act: 'log out', status: 503, retryAfter: '1' })(run);
      invented({ event: 'signal.denied', reason: 'overloaded', count: 2 })(run);
    },
    /signal.denied overloaded is recorded 2 times, of 1 requests/,
  ],
  'a request that found no turn and is recorded of somebody': [
    invented({ event: 'admin.denied', reason: 'overloaded', sponsor: 'somebody' }),
    /nobody asked for the record 1000, admin.denied overloaded/,
  ],

  'a 503 that does not say when to come back': [
    answered({ act: 'exchange', status: 503 }, { retryAfter: undefined }),
    /"exchange" was answered 503/,
  ],
  'a request that hangs': [answered({ act: 'exchange', status: 0 }, { error: HUNG }), /was answered 0 no answer/],
  'a 500': [later({ act: 'introspect', status: 500 }), /"introspect" was answered 500/],
  'a token for another audience': [
    answered({ act: 'exchange for another audience' }, { status: 200 }),
    /"exchange for another audience" was answered 200/,
  ],
  'a renewal that is refused without a cause': [
    answered({ act: 'refresh', status: 400 }, { task: 'task-revoked' }),
    /"refresh" was answered 400/,
  ],
  'a renewal that is refused as one that is not known': [
    answered({ act: 'refresh', status: 400 }, { error: 'invalid_grant' }),
    /"refresh" was answered 400 invalid_grant/,
  ],
};

describe('the reconciliation of a fault run', () => {
  it('finds nothing where everything is in order, and counts what was left behind', async () => {
    expect(await lossesOf(aRun())).to.deep.include({ losses: [], leftBehind: 1 });
  });

  it('finds nothing where requests found no turn, and as many were told', async () => {
    const run = aRun();
    for (const act of ['kill a task', 'provision', 'log out', 'disable by event', 'refresh'] as const)
      later({ act, status: 503, retryAfter: '1' })(run);
    for (const surface of ['admin', 'scim', 'signal', 'ssf', 'token'])
      invented({ event: `${surface}.denied`, reason: 'overloaded' })(run);
    expect((await lossesOf(run)).losses).to.deep.equal([]);
  });

  for (const [what, [change, loss]] of Object.entries(WRONG)) {
    it(`finds ${what}`, async () => {
      const run = aRun();
      change(run);
      expect((await lossesOf(run)).losses.join('\n')).to.match(loss);
    });
  }

  for (const [what, instead, loss] of [
    ['a token that is active again', { introspection: { body: { active: true } } }, /jti-killed is still active/],
    ['a revoked token that is active', { introspection: { body: { active: true } } }, /jti-revoked is still active/],
    ['an introspection without an answer', { introspection: { status: 0 } }, /jti-killed is still active \(0\)/],
    ['a block that is gone', { block: { status: 404 } }, /person-blocked is not on the list/],
    ['a block of an event that is gone', { block: { status: 404 } }, /person-disabled is not on the list/],
    ['a block that was lifted and stands', { block: { status: 200 } }, /person-provisioned is still on the list/],
    ['a user that is gone', { user: { status: 404 } }, /"provision" was answered, and the user user-1/],
    ['a user that is inactive again', { user: { body: { active: false } } }, /"activate" was answered, and the user/],
    ['an agent that is gone', { agent: { status: 404 } }, /"register" was answered, and the agent/],
    ['an agent that is enabled again', { agent: { body: { enabled: true } } }, /"disable an agent" was answered/],
    ['a kill switch that does not work', { kill: { status: 409 } }, /a kill switch answered 409/],
  ] as const) {
    it(`finds ${what}`, async () => {
      expect((await lossesOf(aRun(), instead)).losses.join('\n')).to.match(loss);
    });
  }

  it('finds records that were never sealed', async () => {
    const run = aRun();
    rewritten({ event: 'token.issued' }, { checkpoint: null })(run);
    expect((await lossesOf(run)).losses).to.deep.equal(['1 records were never sealed']);
  });

  it('finds a ledger that does not verify, and a run in which nobody was served', async () => {
    expect((await lossesOf(aRun(), {}, 3)).losses).to.deep.equal(['audit-verify ended with 3']);
    const unserved = { kept: [], lines: [], agents: [] };
    expect((await lossesOf(unserved)).losses).to.deep.equal(['nobody was given a token']);
    const refused = { ...aRun(), kept: aRun().kept.filter(({ act, status }) => act !== 'exchange' || status !== 200) };
    expect((await lossesOf(refused)).losses).to.include('nobody was given a token');
  });
});
