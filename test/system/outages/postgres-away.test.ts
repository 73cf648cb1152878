/** A Postgres that cannot answer, for whatever reason: refusals that say so, in time, and service again once it can. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { DATABASE, type Occupied, type OwnPostgres, ownPostgres } from './own-postgres.ts';

/** Every answer comes within this, whatever the database does. */
const IN_TIME_MS = 9000;
/** What docs/operating.md promises once the database is back. */
const RECOVERED_WITHIN_MS = 5000;
const POLL_MS = 50;

function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.headers.get('retry-after')).to.equal('5');
  expect(answer.body.error).to.equal('temporarily_unavailable');
}

describe('a Postgres that cannot answer', function () {
  this.timeout(60_000);
  // It is elapsed time that is promised. Whatever happens, each leaves a database that answers.
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
  /** Milliseconds until the service was ready and decided again. */
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
  const jtiOf = (answer: Answer) => {
    const [, claims = ''] = String(answer.body.access_token).split('.');
    return String(JSON.parse(Buffer.from(claims, 'base64url').toString()).jti);
  };
  /** Each answer in time, and as many records as before. */
  const allUnavailable = async (asks: readonly (() => Promise<Answer>)[]): Promise<void> => {
    const began = performance.now();
    const answers = await Promise.all(asks.map((ask) => ask()));
    expect(performance.now() - began).to.be.below(IN_TIME_MS);
    for (const answer of answers) expectUnavailable(answer);
    expect((await mandate.get('/healthz')).status).to.equal(200);
  };

  it('is waited for from the start: healthy, not ready, and ready without a restart', async () => {
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

  it('crashes and comes back: nothing that was answered is lost', async () => {
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
    const active = async ({ body }: Answer) =>
      (await mandate.post('/oauth2/introspect', { token: String(body.access_token) })).body.active;
    expect([await active(issued), await active(killed)]).to.deep.equal([true, false]);
    expect(await recordsOf('token.issued')).to.include.members([jtiOf(issued), jtiOf(killed)]);
  });

  it('is frozen: everything is refused within seconds, kill switches too, which otherwise may take most of a minute', async function () {
    if (process.platform !== 'linux') this.skip();
    const issued = await agent.exchange();
    // Over connections that are there already: who has to make one first is refused early in any case.
    const kill = () => mandate.admin('DELETE', '/admin/sponsors/somebody/tasks');
    for (const answer of await Promise.all([kill(), kill(), kill(), kill()])) expect(answer.status).to.equal(200);
    own.postgres.freeze();
    try {
      await allUnavailable([
        () => agent.exchange(),
        () => agent.refresh(String(issued.body.refresh_token)),
        () => agent.revoke(String(issued.body.access_token)),
        () => mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) }),
        // More than may be under way at once: those that wait for a turn wait no longer.
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

  it('takes no writes: nothing is decided, what is only read is answered, and it is asked over new connections', async () => {
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
      const token = String(issued.body.access_token);
      expect((await mandate.post('/oauth2/introspect', { token })).body.active).to.equal(true);
      const unready = await mandate.get('/readyz', { accept: 'application/json' });
      expect([unready.status, unready.text]).to.satisfy(
        ([status, text]: [number, string]) => status === 503 && text.includes('read-only'),
      );
      expect(await recordsOf('token.issued')).to.deep.equal(before);
    } finally {
      // Those sessions that it still has were told once and for all.
      await own.sql(`begin read write; alter database ${DATABASE} reset default_transaction_read_only; commit`);
    }
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });

  it('has no connection left, since others hold them all', async () => {
    const others: Occupied[] = [];
    try {
      // The service takes part in the race for what becomes free.
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

  it('ends every session again and again: each token that is answered has its record', async () => {
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
    // A session that ends between the commit and its answer leaves a task whose token nobody has.
    expect(added.length - served.length).to.be.at.most(answers.length - served.length);
    expect(await recovered()).to.be.below(RECOVERED_WITHIN_MS);
  });
});
