/** The effects on authorizations, and on the grants that rotate. */

import type { Effect } from '../../application/decisions/effect.ts';
import type { AuthorizationSelection } from '../../application/decisions/fact.ts';
import type { OwnTask } from '../../application/ports/tasks.ts';
import type { Authorization, IssuedCode } from '../../domain/authorization/authorization.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { aCode, anAuthorization } from './authorization-fixtures.ts';
import { aTask, type EffectRow, type EffectRows, fact, type See } from './effect-row.ts';
import { newAgentId, newSponsorKey } from './storage-fixtures.ts';
import { LATER } from './world.ts';

const FORGOTTEN = plusSeconds(NOON, 4200);
/** The time of every task is up. */
const OVER = plusSeconds(NOON, 10 * 86_400);

export const kept = (authorization: Authorization): Effect => ({
  effect: 'insert_authorization',
  ...authorization,
  forgetAt: FORGOTTEN,
});

/** An authorization with a code. */
export function anAllowed(changes: Partial<Authorization> = {}) {
  const code = aCode();
  const { requestId, ...open } = anAuthorization(changes);
  const authorization: Authorization = { ...open, requestId, state: 'allowed', answeredAt: LATER, code };
  const { purpose, client } = open;
  const answer = { requestId, state: 'allowed', client, at: LATER, code, purpose, forgetAt: FORGOTTEN } as const;
  const given: readonly Effect[] = [kept({ ...open, requestId }), { effect: 'answer_authorization', ...answer }];
  return { authorization, code, given };
}

const stored = ({ requestId }: Authorization): See => fact('authorization', requestId);
const found =
  ({ requestId }: Authorization): See =>
  ({ authorizations }) =>
    authorizations.find(requestId);
const byCode =
  ({ hash }: IssuedCode): See =>
  ({ authorizations }) =>
    authorizations.findByCode(hash);

/** As it is read without a record in the ledger. */
function unrecorded(row: Authorization) {
  const written = row.answeredAt && { at: row.answeredAt };
  const difference = {
    what: 'authorization',
    id: row.requestId,
    how: 'no_record',
    ...(written && { written }),
  } as const;
  return { kind: 'differs', row, difference } as const;
}

/** Each list of tasks that shows what the person allowed. */
function startedIn({ taskId, sponsorKey }: Task): readonly See[] {
  const [now, page] = [NOON, { after: undefined, limit: 100, now: NOON }];
  const ofTask = (found: readonly OwnTask[]) => found.find((task) => task.taskId === taskId)?.authorization;
  return [
    async ({ tasks }) => (await tasks.findListed(taskId, now))?.authorization,
    async ({ tasks }) => ofTask(await tasks.ofSponsor(sponsorKey, page)),
    async ({ tasks }) => ofTask(await tasks.liveOfSponsor(sponsorKey, page)),
    async ({ tasks }) => ofTask(await tasks.ofSponsorById(sponsorKey, { taskIds: [taskId], now })),
    async ({ tasks }) => ofTask(await tasks.endedOfSponsor(sponsorKey, { ...page, now: OVER })),
  ];
}

export const effectsOfAuthorizations = {
  rotate_grant() {
    const { authorization, code, given: allowed } = anAllowed();
    const [{ task, grantHash, given }, other] = [aTask({ taskId: code.taskId }), aTask()];
    const plain = { taskId: task.taskId, scope: task.scope, renewals: 0, unrecorded: 0, revokedAt: undefined };
    const rotation = { current: 'newest', previous: 'before' };
    const shown: See = async ({ tasks }) => (await tasks.findGrant(task.agentId, grantHash))?.rotation;
    const ofOther: See = async ({ tasks }) => (await tasks.findGrant(other.task.agentId, other.grantHash))?.rotation;
    const { requestId, client, redirectUri } = authorization;
    const spent = { effect: 'spend_authorization', requestId } as const;
    const started = { requestId, client, redirectUri, isRotating: false };
    return {
      given: [...given, ...other.given, ...allowed, spent],
      effect: { effect: 'rotate_grant', grantHash, ...rotation },
      seen: [
        [fact('grant', grantHash), plain, { ...plain, rotation }],
        [shown, undefined, rotation],
        [ofOther, undefined, undefined],
        ...startedIn(task).map((see) => [see, started, { ...started, isRotating: true }] as const),
      ],
    };
  },

  insert_authorization() {
    const authorization = anAuthorization();
    const { sponsorKey } = authorization.person;
    return {
      effect: kept(authorization),
      seen: [
        [stored(authorization), undefined, authorization],
        [found(authorization), undefined, authorization],
        [fact('open_authorizations', sponsorKey), [], [authorization.requestId]],
        [fact('open_authorizations', newSponsorKey()), [], []],
      ],
    };
  },

  answer_authorization() {
    const { authorization, code, given } = anAllowed({ purpose: 'written by the person é' });
    const [first, answer] = given;
    const open = { ...authorization, state: 'open', answeredAt: undefined, code: undefined };
    // The document of the client has changed since.
    const client = 'public';
    const answered = { ...authorization, client } as const;
    return {
      given: [first, kept(anAuthorization())] as readonly Effect[],
      effect: { ...answer, client } as Effect,
      seen: [
        [stored(authorization), open, answered],
        [byCode(code), undefined, unrecorded(answered)],
        [byCode(aCode()), undefined, undefined],
        [fact('open_authorizations', authorization.person.sponsorKey), [authorization.requestId], []],
      ],
    };
  },

  spend_authorization() {
    const { authorization, code, given } = anAllowed();
    const of = aTask({ taskId: code.taskId });
    const { requestId, client, redirectUri } = authorization;
    const { agentId } = of.task;
    const spent = { ...authorization, state: 'spent', clientState: undefined, purpose: undefined };
    const shown: See = async ({ tasks }) => (await tasks.findGrant(agentId, of.grantHash))?.task.authorization;
    const started = { requestId, client, redirectUri, isRotating: false };
    return {
      given: [...given, ...of.given],
      effect: { effect: 'spend_authorization', requestId },
      seen: [
        [stored(authorization), authorization, spent],
        [byCode(code), unrecorded(authorization), unrecorded({ ...spent, state: 'spent' })],
        ...[shown, ...startedIn(of.task)].map((see) => [see, started, started] as const),
      ],
    };
  },

  void_authorizations: () => voiding('agent'),

  count_authorization_end() {
    const [agentId, other] = [newAgentId(), newAgentId()];
    const of = { kind: 'agent', agentId } as const;
    const first = 30_000_000;
    const once = { effect: 'count_authorization_end', of, first, reason: 'agent_disabled', forgetAt: LATER } as const;
    const counts =
      (id: typeof agentId): See =>
      async ({ authorizations }) =>
        (await authorizations.countEnds(id)).agent;
    const ends =
      (id: typeof agentId): See =>
      async (storage) =>
        (await storage.read('authorization_ends', id)).agent;
    fact('authorization_ends', agentId);
    return {
      given: [once],
      effect: { ...once, reason: 'operator_kill_switch' },
      seen: [
        [
          ends(agentId),
          { count: first, reason: 'agent_disabled' },
          { count: first + 1, reason: 'operator_kill_switch' },
        ],
        [counts(agentId), first, first + 1],
        [ends(other), undefined, undefined],
        [counts(other), 0, 0],
      ],
    };
  },
} satisfies Partial<EffectRows>;

/**
 * Each kind of selection, with an authorization that it names, in both states, and some that it does not name. The states
 * in which nothing waits never change.
 */
export function voiding(kind: AuthorizationSelection['kind']): EffectRow {
  const one = anAuthorization();
  const { person, agentId } = one;
  const { sponsorKey, subject, sessionId = '' } = person;
  const ofSame = (changes: Partial<Authorization> = {}, named: Partial<Authorization['person']> = {}) =>
    anAllowed({ agentId, ...changes, person: { ...person, ...named } });
  const same = ofSame();
  const otherAgent = ofSame({ agentId: newAgentId() });
  const otherPerson = ofSame({}, { sponsorKey: newSponsorKey(), subject: 'another' });
  const otherSession = ofSame({}, { sessionId: 'another' });
  const noSession = ofSame({}, { sessionId: undefined });
  const stranger = anAllowed();
  const answered = anAuthorization({ agentId, person });
  const all = { same, otherAgent, otherPerson, otherSession, noSession, stranger };
  const selections: {
    readonly [Kind in AuthorizationSelection['kind']]: readonly [
      AuthorizationSelection & { kind: Kind },
      readonly (keyof typeof all)[],
    ];
  } = {
    everything: [{ kind: 'everything' }, Object.keys(all) as (keyof typeof all)[]],
    requests: [{ kind: 'requests', requestIds: [one.requestId, same.authorization.requestId] }, ['same']],
    agent: [{ kind: 'agent', agentId }, ['same', 'otherPerson', 'otherSession', 'noSession']],
    sponsor: [{ kind: 'sponsor', sponsorKey }, ['same', 'otherAgent', 'otherSession', 'noSession']],
    sponsor_agent: [{ kind: 'sponsor_agent', sponsorKey, agentId }, ['same', 'otherSession', 'noSession']],
    session: [{ kind: 'session', sessionId }, ['same', 'otherAgent', 'otherPerson']],
    session_or_none: [
      { kind: 'session_or_none', sessionId, subject },
      ['same', 'otherAgent', 'otherPerson', 'noSession'],
    ],
    subject: [{ kind: 'subject', subject }, ['same', 'otherAgent', 'otherSession', 'noSession']],
  };
  const [selection, named] = selections[kind];
  const reason = 'sponsor_stopped';
  const gone = (authorization: Authorization) => ({ ...authorization, state: 'void', voidReason: reason });
  const refused: Effect = {
    effect: 'answer_authorization',
    requestId: answered.requestId,
    state: 'refused',
    client: answered.client,
    at: LATER,
    code: undefined,
    purpose: answered.purpose,
    forgetAt: FORGOTTEN,
  };
  const afterNo = { ...answered, state: 'refused', answeredAt: LATER };
  return {
    given: [kept(one), kept(answered), refused, ...Object.values(all).flatMap(({ given }) => given)],
    effect: { effect: 'void_authorizations', selection, reason },
    seen: [
      [stored(one), one, gone(one)],
      [stored(answered), afterNo, afterNo],
      ...Object.entries(all).map(([name, { authorization }]) => {
        const isNamed = named.includes(name as keyof typeof all);
        return [stored(authorization), authorization, isNamed ? gone(authorization) : authorization] as const;
      }),
    ],
  };
}
