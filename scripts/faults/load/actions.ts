/** The mixed load: random operations upon a pool of open tasks. */

import { randomUUID } from 'node:crypto';
import { digestOf } from '../../../test/support/tool-server/approval-request.ts';
import {
  type AgentRequests,
  type ApprovalRequests,
  type HttpRequest,
  introspection,
  type LoadAgent,
  makeLoadAgent,
  type OperatorRequests,
  type SignalRequests,
  scimRequests,
} from '../../requests.ts';
import { isSuccess, type Operation, type OperationKind } from '../operations.ts';
import type { Random } from '../random.ts';
import type { Reply, Session } from './session.ts';

export interface Actor {
  readonly session: Session;
  readonly requests: AgentRequests & OperatorRequests & SignalRequests & ApprovalRequests;
  readonly agents: readonly LoadAgent[];
  readonly random: Random;
  /** Writes an operation to the history. */
  readonly write: (operation: Operation) => void;
}

interface OpenTask {
  readonly agent: LoadAgent;
  readonly sub: string;
  readonly task: string;
  readonly jti: string;
  readonly token: string;
  readonly grant: string;
}

/** An approval as `GET /me/approvals` shows it. */
interface Waiting {
  readonly approval_id: string;
  readonly commitment: string;
}

/** So small that concurrent requests often name the same task. */
const POOL_SIZE = 200;

/** The share of each action in percent. */
const SHARES = [
  ['exchange', 28],
  ['refuse', 4],
  ['refresh', 20],
  ['introspect', 14],
  ['approve', 12],
  ['revokeToken', 4],
  ['revokeGrant', 3],
  ['kill', 3],
  ['block', 3],
  ['provision', 3],
  ['logOut', 2],
  ['event', 2],
  ['register', 2],
] as const;

type Action = (typeof SHARES)[number][0];

/** Different calls of a task that need an approval: no more may wait (`MaxPendingPerTask`). */
const CALLS = 3;
/** One answer in so many is a no. */
const REFUSALS = 4;

const TOTAL = SHARES.reduce((sum, [, share]) => sum + share, 0);

/** @returns a function that runs one random action. It resolves with whether the last request was answered */
export function randomOperation({ session, requests, agents, random, write }: Actor): () => Promise<boolean> {
  const pool: OpenTask[] = [];

  /** @param about names the subject of the operation @param learned reads further members from a success */
  const send = async (
    kind: OperationKind,
    request: HttpRequest,
    about: Partial<Operation>,
    learned: (body: Reply['body']) => Partial<Operation> = () => ({}),
  ) => {
    const reply = await session.send(request);
    const { error, reason, err } = reply.body;
    const problem = [error ?? err, reason].filter((word) => typeof word === 'string').join(' ');
    const operation: Operation = {
      kind,
      began: reply.began,
      ended: reply.ended,
      status: reply.status,
      ...about,
      error: reply.lost ?? (problem === '' ? undefined : problem),
      retryAfter: reply.headers['retry-after'],
      ...(reply.lost === 'ECONNREFUSED' ? { connectionRefused: true } : {}),
      ...(isSuccess(reply) ? learned(reply.body) : {}),
    };
    write(operation);
    return { ...reply, operation };
  };

  const exchange = async (): Promise<Reply> => {
    const [agent, sub] = [oneOf(agents, random), `person-${randomUUID()}`];
    const reply = await send('exchange', requests.exchange(agent, sub), { agent: agent.id, sub }, (body) => ({
      task: String(body.task_id),
      token: String(body.access_token),
      jti: jtiOf(String(body.access_token)),
    }));
    const { task, token, jti } = reply.operation;
    if (task !== undefined && token !== undefined && jti !== undefined) {
      pool.push({ agent, sub, task, jti, token, grant: String(reply.body.refresh_token) });
      if (pool.length > POOL_SIZE) pool.splice(random.below(pool.length), 1);
    }
    return reply;
  };

  const onTask = (act: (task: OpenTask) => Promise<Reply>) => () =>
    pool.length === 0 ? exchange() : act(oneOf(pool, random));
  /** Removes the task from the pool, so that no other request ends it. */
  const onLastUse = (act: (task: OpenTask) => Promise<Reply>) => () => {
    const [task] = pool.splice(random.below(pool.length), 1);
    return task === undefined ? exchange() : act(task);
  };

  const actions: Readonly<Record<Action, () => Promise<Reply>>> = {
    exchange,
    refuse() {
      const [agent, sub] = [oneOf(agents, random), `person-${randomUUID()}`];
      const request = requests.exchange(agent, sub, 'https://other.example');
      return send('exchange for another audience', request, { agent: agent.id, sub });
    },
    refresh: onTask(({ agent, grant, task, sub }) =>
      send('refresh', requests.refresh(agent, grant), { task, sub }, (body) => ({
        jti: jtiOf(String(body.access_token)),
      })),
    ),
    introspect: onTask(({ token, task, jti }) =>
      send('introspect', introspection(token), { task, jti }, (body) => ({ active: body.active === true })),
    ),
    revokeToken: onTask((one) => send('revoke a token', requests.revoke(one.agent, one.token), namesOf(one))),
    revokeGrant: onTask((one) => send('revoke a grant', requests.revoke(one.agent, one.grant), namesOf(one))),
    approve: onTask(async (one) => {
      const { task, jti, sub } = one;
      const call = `call ${random.below(CALLS)}`;
      const about = { task, jti, sub, digest: digestOf(call) };
      const ask = () =>
        send('ask for approval', requests.askForApproval(one, call), about, ({ state, approval_id: approval }) => ({
          state: String(state),
          ...(approval === undefined ? {} : { approval: String(approval) }),
        }));
      const asked = await ask();
      const { approval = '' } = asked.operation;
      if (asked.operation.state !== 'pending') return asked;
      const read = await send('read what waits', requests.readWaiting(sub), { sub });
      const waiting = (isSuccess(read) ? read.body.approvals : []) as readonly Waiting[];
      const commitment = waiting.find(({ approval_id }) => approval_id === approval)?.commitment;
      if (commitment === undefined) return read;
      const [kind, decision] =
        random.below(REFUSALS) === 0 ? (['say no', 'refuse'] as const) : (['say yes', 'approve'] as const);
      await send(kind, requests.answerApproval(sub, approval, { decision, commitment }), { ...about, approval });
      // The agent repeats its call twice at once, at two replicas if there are so many.
      const [repeated] = await Promise.all([ask(), ask()]);
      return repeated;
    }),
    kill: onTask((one) => send('kill a task', requests.killTask(one.task), namesOf(one))),
    block: onTask(async (one) => {
      const blocked = await send('block', requests.block(one.sub), namesOf(one));
      if (!isSuccess(blocked)) return blocked;
      const names = { agent: one.agent.id, sub: one.sub };
      return send('exchange for a blocked person', requests.exchange(one.agent, one.sub), names);
    }),
    provision: onLastUse(async (one) => {
      const { sub } = one;
      const id = (body: Reply['body']) => ({ user: String(body.id) });
      const provisioned = await send('provision', scimRequests.provision(sub), { sub }, id);
      const { user } = provisioned.operation;
      if (user === undefined) return provisioned;
      const off = await send('deactivate', scimRequests.setActive(user, false), { ...namesOf(one), user });
      if (!isSuccess(off) || random.below(2) === 0) return off;
      return send('activate', scimRequests.setActive(user, true), { sub, user });
    }),
    logOut: onTask((one) => send('log out', requests.logOut(one.sub), namesOf(one))),
    event: onLastUse((one) => send('disable by event', requests.disableByEvent(one.sub), namesOf(one))),
    async register() {
      const agent = await makeLoadAgent();
      const registered = await send('register', requests.register(agent), { agent: agent.id });
      if (!isSuccess(registered)) return registered;
      return send('disable an agent', requests.disableAgent(agent.id), { agent: agent.id });
    },
  };

  return async () => {
    let at = random.next() * TOTAL;
    const [action] = SHARES.find(([, share]) => {
      at -= share;
      return at < 0;
    }) ?? ['exchange' as const];
    return (await actions[action]()).status !== 0;
  };
}

function namesOf({ task, jti, token, sub }: OpenTask): Partial<Operation> {
  return { task, jti, token, sub };
}

function oneOf<Item>(items: readonly Item[], random: Random): Item {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new Error('there are no items');
  return item;
}

function jtiOf(token: string): string {
  const { jti }: { jti: string } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return jti;
}
