/** What the load does: each act asks for something, and keeps what was asked and what was answered. */

import { randomUUID } from 'node:crypto';
import { type Act, isDone, type Kept } from './kept.ts';
import { aLoadAgent, type LoadAgent } from './people-and-agents.ts';
import type { Random } from './random.ts';
import type { Requests } from './requests.ts';
import type { Asked, Reply, Session } from './session.ts';

/** A task whose grant and token the client holds. */
interface HeldTask {
  readonly agent: LoadAgent;
  readonly sub: string;
  readonly task: string;
  readonly jti: string;
  readonly token: string;
  readonly grant: string;
}

export interface Acting {
  readonly session: Session;
  readonly requests: Requests;
  readonly agents: readonly LoadAgent[];
  readonly random: Random;
  readonly keep: (kept: Kept) => void;
}

/** The newest tasks are what is asked about; so many that requests about the same one meet every so often. */
const HELD = 200;

/** How often each is done, of all. */
const SHARES = [
  ['exchange', 30],
  ['refuse', 4],
  ['refresh', 26],
  ['introspect', 18],
  ['revokeToken', 4],
  ['revokeGrant', 3],
  ['kill', 3],
  ['block', 3],
  ['provision', 3],
  ['logOut', 2],
  ['event', 2],
  ['register', 2],
] as const;

const WHOLE = SHARES.reduce((sum, [, share]) => sum + share, 0);

/** @returns does one of them, chosen at random, and answers whether it was answered */
export function actsOf(acting: Acting): () => Promise<boolean> {
  const { session, requests, agents, random, keep } = acting;
  const held: HeldTask[] = [];

  const ask = async (
    act: Act,
    asked: Asked,
    about: Partial<Kept>,
    of: (reply: Reply) => Partial<Kept> = () => ({}),
  ) => {
    const reply = await session.send(asked);
    const { error, reason, err } = reply.body;
    const said = [error ?? err, reason].filter((word) => typeof word === 'string').join(' ');
    const kept: Kept = {
      ...{ act, began: reply.began, ended: reply.ended, status: reply.status, ...about },
      error: reply.lost ?? (said === '' ? undefined : said),
      retryAfter: reply.headers['retry-after'],
      ...(reply.lost === 'ECONNREFUSED' ? { refused: true } : {}),
      ...(isDone({ status: reply.status }) ? of(reply) : {}),
    };
    keep(kept);
    return { ...reply, kept };
  };

  const anAgent = (): LoadAgent => oneOf(agents, random);
  const aTask = (): HeldTask | undefined => (held.length === 0 ? undefined : oneOf(held, random));
  /** Nothing else will be asked about it, so that what ends it is known. */
  const letGo = (): HeldTask | undefined => held.splice(random.below(held.length), 1)[0];

  const exchange = async (): Promise<Reply> => {
    const agent = anAgent();
    const sub = `person-${randomUUID()}`;
    const reply = await ask('exchange', requests.exchange(agent, sub), { agent: agent.id, sub }, ({ body }) => ({
      ...{ task: String(body.task_id), token: String(body.access_token), jti: jtiOf(String(body.access_token)) },
    }));
    const { task, token, jti } = reply.kept;
    if (task !== undefined && token !== undefined && jti !== undefined) {
      held.push({ agent, sub, task, jti, token, grant: String(reply.body.refresh_token) });
      if (held.length > HELD) held.splice(random.below(held.length), 1);
    }
    return reply;
  };

  const acts: Readonly<Record<(typeof SHARES)[number][0], () => Promise<Reply>>> = {
    exchange,
    refuse() {
      const [agent, sub] = [anAgent(), `person-${randomUUID()}`];
      const asked = requests.exchange(agent, sub, 'https://nobody.example');
      return ask('exchange for another audience', asked, { agent: agent.id, sub });
    },
    async refresh() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('refresh', requests.refresh(one.agent, one.grant), { task: one.task, sub: one.sub }, ({ body }) => ({
        jti: jtiOf(String(body.access_token)),
      }));
    },
    async introspect() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('introspect', requests.introspect(one.token), { task: one.task, jti: one.jti }, ({ body }) => ({
        active: body.active === true,
      }));
    },
    async revokeToken() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('revoke a token', requests.revoke(one.agent, one.token), aboutToken(one));
    },
    async revokeGrant() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('revoke a grant', requests.revoke(one.agent, one.grant), aboutToken(one));
    },
    async kill() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('kill a task', requests.killTask(one.task), aboutToken(one));
    },
    async block() {
      const one = aTask();
      if (one === undefined) return exchange();
      const reply = await ask('block', requests.block(one.sub), aboutToken(one));
      if (!isDone(reply)) return reply;
      const about = { agent: one.agent.id, sub: one.sub };
      return ask('exchange for a blocked person', requests.exchange(one.agent, one.sub), about);
    },
    async provision() {
      const one = letGo();
      if (one === undefined) return exchange();
      const made = await ask('provision', requests.provision(one.sub), { sub: one.sub }, ({ body }) => ({
        user: String(body.id),
      }));
      const { user } = made.kept;
      if (user === undefined) return made;
      const off = await ask('deactivate', requests.setActive(user, false), { ...aboutToken(one), user });
      if (!isDone(off) || random.below(2) === 0) return off;
      return ask('activate', requests.setActive(user, true), { sub: one.sub, user });
    },
    async logOut() {
      const one = aTask();
      if (one === undefined) return exchange();
      return ask('log out', requests.logOut(one.sub), aboutToken(one));
    },
    async event() {
      const one = letGo();
      if (one === undefined) return exchange();
      return ask('disable by event', requests.disableByEvent(one.sub), aboutToken(one));
    },
    async register() {
      const agent = await aLoadAgent();
      const made = await ask('register', requests.register(agent), { agent: agent.id });
      if (!isDone(made)) return made;
      return ask('disable an agent', requests.disableAgent(agent.id), { agent: agent.id });
    },
  };

  return async () => {
    let at = random.next() * WHOLE;
    const chosen = SHARES.find(([, share]) => {
      at -= share;
      return at < 0;
    });
    return (await acts[chosen?.[0] ?? 'exchange']()).status !== 0;
  };
}

function aboutToken({ task, jti, token, sub }: HeldTask): Partial<Kept> {
  return { task, jti, token, sub };
}

function oneOf<Item>(items: readonly Item[], random: Random): Item {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}

function jtiOf(token: string): string {
  const { jti }: { jti: string } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return jti;
}
