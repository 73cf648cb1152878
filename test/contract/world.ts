/**
 * One person with everything that decisions are about: agents, a live task with a delegated one, a user, a session, a block.
 * `world` only makes up the values. `store` stores those parts that a decision needs.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { activateKeys } from '../../application/decisions/activate-keys.ts';
import { type ApprovalAnswer, answerApproval } from '../../application/decisions/answer-approval.ts';
import { answerRequest, type RequestAnswer } from '../../application/decisions/answer-request.ts';
import { type ApprovalAsking, askApproval } from '../../application/decisions/ask-approval.ts';
import type { SpentAssertion } from '../../application/decisions/assertion.ts';
import { refuseDelegation } from '../../application/decisions/delegation-refusal.ts';
import { endSomeTasks } from '../../application/decisions/end-tasks.ts';
import { keepRequest, type RequestKeeping } from '../../application/decisions/keep-request.ts';
import { liftBlock } from '../../application/decisions/lift-block.ts';
import { openStatusList } from '../../application/decisions/open-status-list.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { openSession } from '../../application/decisions/sessions.ts';
import { deleteEndedTasks, expireDueTasks } from '../../application/decisions/sweep.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { commitmentText } from '../../domain/approvals/commitment.ts';
import type { Authorization } from '../../domain/authorization/authorization.ts';
import { type AgentId, makeApprovalId, makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { saltedText } from '../../domain/ledger/sealed-text.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import type { OperatorAct } from '../../domain/operators/operator-act.ts';
import { newSession, type Session, type SessionHash } from '../../domain/sessions/session.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { OutsideConnection } from '../support/databases.ts';
import { anAgent, NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { aCode, anAuthorization } from './authorization-fixtures.ts';
import { insertBlockOnly } from './insert-block-only.ts';
import {
  aChildOpening,
  anAssertion,
  anEntry,
  anOpening,
  aRefusal,
  aUser,
  newAgentId,
  newSponsorKey,
  renewTimes,
  saltOf,
} from './storage-fixtures.ts';

/** When decisions end tasks, and place blocks. No fixture has another time that is equal. */
export const LATER = instantFromMicros(NOON + 90_000_007);
/** The expiry of the task that is due: earlier than every other expiry and end. */
export const DUE = plusSeconds(NOON, 10);
export const REMEMBERED = { statedAt: plusSeconds(NOON, 80), forgetAt: plusSeconds(LATER, 86_400) } as const;
export const ROOM = 1_000_000;

export type World = ReturnType<typeof aWorld>;

/**
 * @param subIsKey whether the person's `sub` is also their sponsor key
 * @param oneAssertion whether all requests of the agent with the live task carry the same assertion
 */
export function aWorld({ subIsKey = false, oneAssertion = false } = {}) {
  const newAgent = (name: string) => anAgent({ agentId: newAgentId(name), revision: 1 });
  /** `owner` has the live task, `idle` has none, `newcomer` is not registered. */
  const [owner, idle, newcomer] = [newAgent('owner'), newAgent('idle'), newAgent('newcomer')];
  const sponsorKey = newSponsorKey();
  const subject: string = subIsKey ? sponsorKey : `ada-${randomUUID()}`;
  const sessionId = `session-${randomUUID()}`;
  const name = `Ada.${randomUUID()}`;
  const live = anOpening(owner, { sponsorKey, sponsor: subject, sessionId });
  const jti = randomUUID();
  const audience = `https://${randomUUID()}.example`;
  const request = anAuthorization({
    agentId: owner.agentId,
    person: { ...anAuthorization().person, sponsorKey, subject, sessionId },
  });
  return {
    owner,
    idle,
    newcomer,
    sponsorKey,
    subject,
    sessionId,
    name,
    live,
    jti,
    audience,
    child: aChildOpening(owner, live, { sponsor: 'grace' }),
    due: anOpening(owner, { expiresAt: DUE }),
    /** One entry, which a task has. */
    list: { audience, listId: randomBytes(16).toString('base64url'), entries: 1, at: NOON },
    /** What the agent asks the person for, the code of their yes, and the counts of ends at its beginning. */
    request,
    code: aCode(),
    ends: { everything: 0, agent: 0 },
    user: aUser({ sponsorKey }),
    away: aUser({ sponsorKey, active: false }),
    session: aSession({ subject, sponsorKey, sessionId }),
    keys: [aKey(`first-${name}`), aKey(`second-${name}`)] as const,
    assertionOf: (agentId: AgentId): SpentAssertion =>
      oneAssertion ? anAssertion(agentId, jti) : anAssertion(agentId),
    /** The text with a fixed name in place of each random value, for comparisons of two worlds. */
    anonymous(value: unknown): string {
      const text = String(JSON.stringify(value));
      const ids = new Set(text.match(/\b(approval|task)_[0-9A-Z]{26}\b/g));
      return [sponsorKey, subject, sessionId, name, ...ids].reduce(
        (named, made, nth) => named.replaceAll(made, `made-up ${nth}`),
        text,
      );
    },
  };
}

export type Part =
  | 'alone'
  | 'owner'
  | 'idle'
  | 'refusal'
  | 'task'
  | 'waiting'
  | 'approved'
  | 'lapsed'
  | 'due'
  | 'expired'
  | 'counted'
  | 'request'
  | 'allowed'
  | 'redeemed'
  | 'user'
  | 'away'
  | 'session'
  | 'block'
  | 'asked'
  | 'key'
  | 'list';

/** The parts that a part needs. */
const NEEDS: Readonly<Partial<Record<Part, readonly Part[]>>> = {
  refusal: ['idle'],
  task: ['owner'],
  waiting: ['task'],
  approved: ['waiting'],
  lapsed: ['task'],
  counted: ['owner'],
  request: ['counted'],
  allowed: ['request'],
  redeemed: ['allowed'],
  due: ['owner'],
  expired: ['due'],
  asked: ['block'],
  list: ['owner'],
};

/** In the order in which they are stored: a block would refuse the task. */
const STORE: {
  readonly [Each in Part]: (storage: Storage, world: World, outside: OutsideConnection) => Promise<unknown>;
} = {
  /** Ends the live tasks of all other worlds. */
  async alone(storage) {
    while ((await storage.decide(endSomeTasks, { limit: 1000, at: LATER, reason: 'operator_kill_switch' })).tasks > 0);
  },
  owner: (storage, { owner }) => registered(storage, owner),
  idle: (storage, { idle }) => registered(storage, idle),
  refusal: (storage, world) =>
    storage.decide(refuseDelegation, { ...choosing(world), entry: anEntry('delegation.refused') }),
  task: async (storage, { live, child }) => {
    for (const opening of [live, child]) await opened(storage.decide(openTask, opening));
    // One of them has its own record.
    await renewTimes(storage, live, 3);
  },
  waiting: (storage, world) => storage.decide(askApproval, asking(world, 'waiting')),
  approved: (storage, world) => storage.decide(answerApproval, answering(world, 'approve')),
  lapsed: (storage, world) => storage.decide(askApproval, asking(world, 'lapsed', { lifetime: 5 })),
  due: async (storage, { due }) => {
    while ((await storage.decide(deleteEndedTasks, { endedBy: DUE, limit: 1000 })) > 0);
    await opened(storage.decide(openTask, due));
    await renewTimes(storage, due, 3);
  },
  expired: (storage) => storage.decide(expireDueTasks, { overBy: DUE, at: DUE, limit: 1000 }),
  /** The ends of everything by other worlds are counted too. */
  counted: async (storage, { ends, owner }) =>
    Object.assign(ends, await storage.authorizations.countEnds(owner.agentId)),
  request: (storage, world) => storage.decide(keepRequest, keeping(world, world.request)),
  allowed: (storage, world) => storage.decide(answerRequest, answeringRequest(world, 'allow')),
  redeemed: (storage, world) => opened(storage.decide(openTask, redeeming(world))),
  user: (storage, { user }) => added(storage, user),
  away: (storage, { away }) => added(storage, away),
  session: (storage, { session }) => storage.decide(openSession, { session, issuedAt: NOON, replaces: undefined }),
  block: (storage, { sponsorKey }, outside) =>
    insertBlockOnly(storage, outside, { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON }),
  asked: (storage, world) => storage.decide(liftBlock, lifting(world, 'rita', { earliest: NOON })),
  key: (storage, { keys: [first] }) => storage.decide(activateKeys, { active: [first], earlier: [], at: NOON }),
  list: async (storage, { list, owner }) => {
    await storage.decide(openStatusList, list);
    await opened(storage.decide(openTask, { ...anOpening(owner, { audience: list.audience }), statusDraws: [0] }));
  },
};

export async function store(storage: Storage, world: World, outside: OutsideConnection, parts: readonly Part[]) {
  const all = new Set(parts);
  for (const part of all) for (const needed of NEEDS[part] ?? []) all.add(needed);
  for (const part of Object.keys(STORE) as Part[]) if (all.has(part)) await STORE[part](storage, world, outside);
}

async function added(storage: Storage, user: ProvisionedUser): Promise<void> {
  await storage.provisionedUsers.create(user, { statements: statementsOf(undefined, user), at: NOON }, ROOM);
}

async function registered(storage: Storage, agent: Agent): Promise<void> {
  await storage.agents.register(agent, anEntry('agent.registered'), aRefusal('agent_already_exists'));
}

async function opened(outcome: Promise<{ readonly kind: string }>): Promise<void> {
  const { kind } = await outcome;
  if (kind !== 'opened') throw new Error(`the task was not opened: ${kind}`);
}

/** The user after a change, as the use case computes it. */
export function changedUser(stored: ProvisionedUser, changes: Partial<ProvisionedUser>): ProvisionedUser {
  return { ...stored, revision: stored.revision + 1, modifiedAt: LATER, ...changes };
}

export function aSession(changes: Partial<Session> = {}): Session {
  const holder = {
    issuer: 'https://idp.example/é',
    subject: `ada-${randomUUID()}-é😀`,
    sponsorKey: newSponsorKey(),
    roles: ['auditor', 'responder'],
    sessionId: `sid-${randomUUID()}`,
    authenticatedAt: plusSeconds(NOON, -30),
    sealedIdToken: `sealed-${randomUUID()}`,
  } as const;
  const name = { kind: 'operator', sessionHash: `hash-${randomUUID()}` as SessionHash } as const;
  return { ...newSession(name, holder, NOON, 900), ...changes };
}

export function aKey(name: string, use: LogKey['use'] = 'checkpoint'): Omit<LogKey, 'from' | 'to'> {
  return { use, kid: `kid-${name}`, thumbprint: `thumbprint-${name}`, publicKey: `{"key":"${name} é"}` };
}

const REASON = 'An incident: “é”';

export function anAct(route: string, subject = 'olga'): OperatorAct {
  return {
    operator: { kind: 'person', issuer: 'https://idp.example/é', subject, sponsorKey: `key of ${subject}`, roles: [] },
    role: 'responder',
    route,
    reason: REASON,
    at: LATER,
    sealed: { salt: saltOf(subject), hash: sha256(saltedText(saltOf(subject), REASON)) },
  };
}

/** The digest of each approval: a SHA-256 in base64url. */
const digestOf = (what: string) => what.padEnd(43, 'A');
export const approvalIdOf = (what: string, name: string) =>
  makeApprovalId(sha256(`${what} of ${name}`).slice(0, 26).toUpperCase());
const wordsOf = (what: string, name: string) => ({
  salt: `salt of ${name}`,
  title: `${what}: “é 😀”`,
  lines: [{ label: 'To', value: '<b>grace</b> \u202E' }],
});
const commitmentOf = (what: string, { live: { task }, name }: Pick<World, 'live' | 'name'>) =>
  sha256(commitmentText({ ...wordsOf(what, name), taskId: task.taskId, digest: digestOf(what) }));

/**
 * A tool server asks about an action of the live task. Its verdict names the world, so that `anonymous` finds it.
 *
 * @param what the action
 */
export function asking(
  world: Pick<World, 'live' | 'name' | 'jti'>,
  what: string,
  rules: Partial<ApprovalAsking['rules']> = {},
  at = NOON,
): ApprovalAsking {
  const { live, name, jti } = world;
  const { taskId, agentId, sponsor, audience } = live.task;
  return {
    about: { taskId, agentId, sponsor, audience },
    delegators: [],
    tokenId: makeTokenId(`of ${name}`),
    request: { issuer: audience, jti: `${what} at ${at} ${jti}`, forgetAt: plusSeconds(at, 120), at },
    opening: {
      approvalId: approvalIdOf(`${what} at ${at}`, name),
      digest: digestOf(what),
      ...wordsOf(what, name),
      commitment: commitmentOf(what, world),
    },
    rules: {
      lifetime: 600,
      refusedFor: 3600,
      maxPendingPerTask: 3,
      maxPendingPerPerson: 20,
      maxQuestionsPerHour: 60,
      notifies: true,
      keysAreSubjects: false,
      ...rules,
    },
    times: { earliest: at, latest: at },
  };
}

/** The person answers what waits. */
export function answering(
  world: Pick<World, 'live' | 'name'>,
  answer: ApprovalAnswer['answer'],
  changes: Partial<ApprovalAnswer> = {},
): ApprovalAnswer {
  const { taskId, agentId, sponsor, audience, sponsorKey } = world.live.task;
  return {
    approvalId: approvalIdOf(`waiting at ${NOON}`, world.name),
    about: { taskId, agentId, sponsor, audience },
    sponsorKey,
    answer,
    commitment: commitmentOf('waiting', world),
    spend: 600,
    times: { earliest: NOON, latest: NOON },
    at: NOON,
    ...changes,
  };
}

/** The person decides whether the agent `idle` hands work over. */
export function choosing({ sponsorKey, idle: { agentId } }: World) {
  return { sponsorKey, agentId };
}

/** The person is back from the provider. */
export function keeping({ ends, owner }: World, authorization: Authorization): RequestKeeping {
  return { authorization, ends, agentRevision: owner.revision, refuseLoggedOut: { earliest: NOON } };
}

/** The person answers the part `request`. */
export function answeringRequest({ request, code, owner }: World, answer: 'allow' | 'refuse'): RequestAnswer {
  return {
    request,
    browserHash: request.browserHash,
    client: request.client,
    answer: answer === 'allow' ? { kind: 'allow', code } : { kind: 'refuse' },
    agentRevision: owner.revision,
    at: NOON,
    latest: NOON,
  };
}

export const rotationOf = ({ name }: World, what: string) => sha256(`${what} of ${name}`);

/** The agent redeems the code of the part `allowed`. Its grant rotates. */
export function redeeming(world: World): TaskOpening {
  const { request, code, owner, sponsorKey, subject, sessionId } = world;
  const opening = anOpening(owner, {
    taskId: code.taskId,
    sponsorKey,
    sponsor: subject,
    sessionId,
    audience: request.audience,
    scope: code.scope,
    expiresAt: code.taskEndsAt,
  });
  const { requestId } = request;
  return {
    ...opening,
    grantHash: rotationOf(world, 'family'),
    assertion: undefined,
    code: { requestId, hash: code.hash, rotation: rotationOf(world, 'first') },
  };
}

/** An operator lifts the block of the part `block`. @param twoPersons as in `BlockLift` */
export function lifting({ sponsorKey }: World, operator: string, twoPersons?: { readonly earliest: typeof NOON }) {
  const entry = anEntry('sponsor.unblocked', { at: LATER, sponsor: sponsorKey, reason: 'operator_unblocked' });
  const refusal = { ...entry, decision: 'deny', reason: 'sponsor_block_not_owned' } as const;
  return { sponsorKey, source: 'admin', entry, refusal, twoPersons, act: anAct('DELETE block', operator) } as const;
}
