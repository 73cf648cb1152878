/** Outages of Postgres: the service refuses requests in time, and recovers without a restart. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { removeAgent } from '../../../application/admin/remove-agent.ts';
import { stopTasks } from '../../../application/admin/stop-tasks.ts';
import { updateAgent } from '../../../application/admin/update-agent.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';
import { RULES } from '../../support/registrations.ts';
import { DATABASE, type Occupied, type OwnPostgres, ownPostgres } from './own-postgres.ts';

/** Every response arrives within this time. */
const IN_TIME_MS = 9000;
/** The recovery time that docs/fault-runs.md names. */
const RECOVERED_WITHIN_MS = 5000;
const POLL_MS = 50;

function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.headers.get('retry-after')).to.equal('5');
  expect(answer.body.error).to.equal('temporarily_unavailable');
}

describe('While Postgres', function () {
  this.timeout(60_000);
  // Retries, because a busy machine may exceed the time limit. Every test, failed or not, restores the database.
  this.retries(2);
  let own: OwnPostgres;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    own = await ownPostgres();
    mandate = await startMandate({ database: own.database });
    agent = await mandate.agent();
  });
  beforeEach(async () => {
    await recovered();
  });
  after(async () => {
    await mandate.stop();
    await own.postgres.stop();
  });

  const ready = async (at = mandate) => (await at.get('/readyz')).status;
  /** Waits until the service is ready and an exchange succeeds. Resolves with the milliseconds. */
  const recovered = async (): Promise<number> => {
    const began = performance.now();
    while ((await ready()) !== 200 || (await agent.exchange()).status !== 200) {
      if (performance.now() - began > 4 * RECOVERED_WITHIN_MS) throw new Error('it never recovered');
      await pause(POLL_MS);
    }
    return performance.now() - began;
  };
  const recordsOf = async (event: string) =>
    (await own.sql(`select jti from ledger where event = '${event}' order by seq`)).map(({ jti }) => String(jti));
  const jtiOf = ({ body }: Answer) => decodeJwt(String(body.access_token)).jti;
  /** Expects a 503 to each request, in time. */
  const allUnavailable = async (asks: readonly (() => Promise<Answer>)[]): Promise<void> => {
    const began = performance.now();
    const answers = await Promise.all(asks.map((ask) => ask()));
    expect(performance.now() - began).to.be.below(IN_TIME_MS);
    for (const answer of answers) expectUnavailable(answer);
    expect((await mandate.get('/healthz')).status).to.equal(200);
  };

  it('is down at the start, the service is healthy but not ready, and becomes ready without a restart', async () => {
    await own.postgres.halt('fast');
    let early: Mandate;
    try {
      early = await startMandate({ database: own.database });
      expect((await early.get('/healthz')).status).to.equal(200);
      expect(await ready(early)).to.equal(503);
      expectUnavailable(await early.admin('GET', '/admin/agents'));
    } finally {
      await own.postgres.start();
    }
    const began = performance.now();
    while ((await ready(early)) !== 200) await pause(POLL_MS);
    const took = performance.now() - began;
    expect((await (await early.agent()).exchange()).status).to.equal(200);
    await early.stop();
    expect(took).to.be.below(RECOVERED_WITHIN_MS);
  });

  it('crashes and restarts, no answered decision is lost', async () => {
    const issued = await agent.exchange();
    const killed = await agent.exchange();
    await mandate.admin('DELETE', `/admin/tasks/${killed.body.task_id}`);
    await own.postgres.halt('immediate');
    try {
      await allUnavailable([() => agent.exchange(), () => agent.refresh(String(issued.body.refresh_token))]);
      expect(await ready()).to.equal(503);
    } finally {
      await own.postgres.start();
    }
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
    const states = [await mandate.introspect(issued), await mandate.introspect(killed)];
    expect(states.map(({ active }) => active)).to.deep.equal([true, false]);
    expect(await recordsOf('token.issued')).to.include.members([jtiOf(issued), jtiOf(killed)]);
  });

  it('is frozen, every request is refused within seconds, kill switches included', async function () {
    if (process.platform !== 'linux') this.skip();
    const issued = await agent.exchange();
    // Opens the connections first, because a new connection would fail earlier.
    const kill = () => mandate.admin('DELETE', '/admin/sponsors/somebody/tasks');
    for (const answer of await Promise.all([kill(), kill(), kill(), kill()])) expect(answer.status).to.equal(200);
    own.postgres.freeze();
    try {
      await allUnavailable([
        () => agent.exchange(),
        () => agent.refresh(String(issued.body.refresh_token)),
        () => agent.revoke(String(issued.body.access_token)),
        () => mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) }),
        // More requests than permits: the queued ones must be refused in time as well.
        ...Array.from({ length: 5 }, () => () => mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`)),
        () => mandate.admin('PUT', '/admin/sponsors/somebody/block'),
        () => mandate.admin('GET', '/audit'),
      ]);
      expect(await ready()).to.equal(503);
    } finally {
      own.postgres.thaw();
    }
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });

  it('is read-only, nothing is decided, reads are answered, and the service reconnects', async () => {
    const issued = await agent.exchange();
    await own.sql(`alter database ${DATABASE} set default_transaction_read_only = on`);
    try {
      await own.terminate();
      await pause(POLL_MS);
      const before = await recordsOf('token.issued');
      await allUnavailable([
        () => agent.exchange(),
        () => agent.refresh(String(issued.body.refresh_token)),
        () => mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`),
      ]);
      expect((await mandate.introspect(issued)).active).to.equal(true);
      const unready = await mandate.get('/readyz', { accept: 'application/json' });
      expect([unready.status, unready.text]).to.satisfy(
        ([status, text]: [number, string]) => status === 503 && text.includes('read-only'),
      );
      expect(await recordsOf('token.issued')).to.deep.equal(before);
    } finally {
      // Sessions of the service keep the read-only default, so the service must replace them.
      await own.sql(`begin read write; alter database ${DATABASE} reset default_transaction_read_only; commit`);
    }
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });

  it('has no free connection, every request is refused', async () => {
    const others: Occupied[] = [];
    try {
      // The service competes for each connection that becomes free, so the test repeats until it has all.
      do {
        await own.terminate();
        others.push(await own.occupy());
      } while (others.at(-1)?.connections !== 0 || (await own.sessions()) > 0);
      await allUnavailable([() => agent.exchange(), () => mandate.admin('DELETE', '/admin/sponsors/somebody/tasks')]);
      expect(await ready()).to.equal(503);
    } finally {
      for (const other of others) await other.leave();
    }
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });

  it('gives requests no connection, agents are disabled and removed all the same', async () => {
    const { open } = await own.database.fresh();
    const [seed, storage] = [await open(), await open()];
    const switches = { decisions: storage, agents: storage.agents, clock: movedClock() };
    const changes = { ...switches, retryPause: async () => undefined, rules: RULES };
    const ids = [agentIdOf('to-disable'), agentIdOf('to-remove')] as const;
    for (const agentId of ids) {
      const entry = { at: switches.clock.now(), event: 'agent.registered', agentId, decision: 'allow' } as const;
      await seed.agents.register(anAgent({ agentId, revision: 1 }), entry, { ...entry, decision: 'deny' });
    }
    await seed.close();
    const nobody = { kind: 'sponsor', sponsorKey: 'nobody' as SponsorKey } as const;
    // Opens a connection for switches, and none for requests.
    await stopTasks({ ...switches, tasks: storage.tasks, sharedTime: agreeing(switches.clock) }, nobody);
    const others = await own.occupy();
    try {
      expect(await storage.agents.find(ids[0]).catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
      const [disabled, removed] = await Promise.all([
        updateAgent({ ...changes, agentKeys: { isUsable: async () => true } }, ids[0], { enabled: false }),
        removeAgent(switches, ids[1]),
      ]);
      expect([disabled.kind, removed]).to.deep.equal(['updated', 'removed']);
    } finally {
      await others.leave();
    }
    const stored = await Promise.all(ids.map((id) => storage.agents.find(id)));
    expect(stored.map((one) => one && [one.enabled, one.revision])).to.deep.equal([[false, 2], undefined]);
    const events = await own.sql(
      `select event from ledger where agent_id in ('${ids.join("', '")}') order by seq desc`,
    );
    expect(events.slice(0, 2).map(({ event }) => event)).to.have.members(['agent.updated', 'agent.deleted']);
    await storage.close();
  });

  it('ends every session again and again, each issued token has its record', async () => {
    const before = new Set(await recordsOf('token.issued'));
    let over = false;
    const answers: Answer[] = [];
    const asking = Array.from({ length: 4 }, async () => {
      while (!over) answers.push(await agent.exchange());
    });
    for (let time = 0; time < 10; time++) {
      await own.terminate();
      await pause(100);
    }
    over = true;
    await Promise.all(asking);
    const served = answers.filter(({ status }) => status === 200);
    for (const answer of answers) if (answer.status !== 200) expectUnavailable(answer);
    expect(served).to.have.length.greaterThan(0);
    const added = (await recordsOf('token.issued')).filter((jti) => !before.has(jti));
    expect(added).to.include.members(served.map(jtiOf));
    expect(new Set(added)).to.have.property('size', added.length);
    // If a session ends after its commit, a task remains whose token no client has.
    expect(added.length - served.length).to.be.at.most(answers.length - served.length);
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });
});
