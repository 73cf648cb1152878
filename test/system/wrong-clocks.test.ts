/**
 * Instances whose clock is wrong (supplement "Clocks"): none of them ends or deletes what the others share, and what one
 * accepted once no other accepts again.
 */

import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { postgres } from '../support/databases.ts';
import { fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { type MovedClock, movedClock } from '../support/moved-clock.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

import { AN_HOUR, clockOf, isInDoubt, isRefused, KEPT } from '../support/wrong-clock.ts';

const SEVEN_MINUTES = 420;

const IN_DOUBT = 'actor_expiry_in_doubt';

describe('A replica on Postgres whose clock is wrong', () => {
  let world: MovedClock;
  let right: Mandate;
  let agent: RegisteredAgent;
  let others: Mandate[];
  beforeEach(async () => {
    world = movedClock();
    others = [];
    const times = { clock: world, databaseClock: world.ofAnotherMachine() };
    right = await startMandate({ database: postgres, settings: sharedSigningKey(), ...times });
    agent = await right.agent();
  });
  afterEach(async () => {
    for (const other of others) await other.stop();
    await right.stop();
  });

  /** Another replica, ahead by these seconds. */
  async function replica(ahead: number, settings = {}): Promise<Mandate> {
    const clock = world.ofAnotherMachine();
    clock.jump(ahead);
    const started = await right.another(settings, undefined, { clock, databaseClock: world.ofAnotherMachine() });
    others.push(started);
    return started;
  }

  /** The reason with which each of these instances refuses the assertion. */
  async function reasons(actor_token: string, ...instances: readonly Mandate[]): Promise<readonly unknown[]> {
    const lines = await right.recorded(async () => {
      for (const { post } of instances) {
        const answer = await post('/oauth2/token', agent.exchangeForm({ actor_token }));
        if (answer.status === 503) isInDoubt(answer);
        else isRefused(answer);
      }
    });
    expect(lines.every(({ event, agent_id }) => event === 'token.denied' && agent_id === agent.id)).to.equal(true);
    return lines.toSorted((one, other) => one.seq - other.seq).map(({ reason }) => reason);
  }

  it('deletes no spent assertion while it is ahead, is Degraded, and says by how much', async () => {
    const port = await freePort();
    const ahead = await replica(SEVEN_MINUTES, { 'Service:Metrics:Port': String(port) });
    const assertion = agent.assertion();
    expect((await agent.exchange({ actor_token: assertion })).status).to.equal(200);
    for (let sweeps = 0; sweeps < 3; sweeps++) await ahead.jobs.sweep();
    expect(await reasons(assertion, right)).to.deep.equal(['actor_replayed']);
    expect(await reasons(assertion, ahead)).to.deep.equal([IN_DOUBT]);

    const sentence = "The database's clock is 7 minutes behind this machine's.";
    const consequence = 'This instance ends and deletes nothing by time until the clocks agree.';
    expect(await clockOf(ahead)).to.deep.equal({ status: 'Degraded', detail: `${sentence} ${consequence}` });
    expect(await clockOf(right)).to.deep.equal({ status: 'Healthy', detail: 'The clocks agree.' });
    const said = ahead.log.lines.filter((line) => line.includes('the clocks disagree'));
    expect(said.map((line) => JSON.parse(line))).to.deep.equal([
      {
        level: 'warn',
        message: 'the clocks disagree: this instance ends and deletes nothing by time',
        problem: sentence,
      },
    ]);
    const { value } = await scrape(port);
    expect(value('mandate_database_clock_difference_seconds')).to.be.closeTo(SEVEN_MINUTES, 1);

    ahead.clock.jump(-SEVEN_MINUTES);
    expect((await clockOf(ahead))?.detail).to.match(/^The clock of this machine was set by more than 5 seconds/);
    world.advance(61);
    await ahead.jobs.watchClocks();
    expect((await clockOf(ahead))?.status).to.equal('Healthy');
    expect(ahead.log.lines.some((line) => line.includes('the clocks agree again'))).to.equal(true);
  });

  it('ends no task while it is an hour ahead, and its kill switch still ends that task', async () => {
    const ahead = await replica(AN_HOUR);
    const [running, killed] = [await agent.exchange(), await agent.exchange()];
    const lines = await right.recorded(async () => {
      await ahead.jobs.sweep();
      expect((await ahead.admin('DELETE', `/admin/tasks/${killed.body.task_id}`)).body).to.deep.equal({
        revoked_tasks: 1,
      });
    });
    expect(fieldsOf(lines, 'event', 'task_id')).to.deep.equal([['task.revoked', killed.body.task_id]]);
    expect((await right.introspect(killed)).active).to.equal(false);
    expect((await right.introspect(running)).active).to.equal(true);

    // By its own clock it refuses a refresh, even to an agent with the same clock. The refusal ends nothing.
    const client_assertion = agent.assertion({ iat: undefined, exp: ahead.clock.seconds() + 60 });
    const form = agent.refreshForm(String(running.body.refresh_token), { client_assertion });
    const refusals = await right.recorded(() => ahead.post('/oauth2/token', form));
    expect(fieldsOf(refusals, 'event', 'reason')).to.deep.equal([['token.denied', 'task_expired']]);
    expect((await agent.refresh(String(running.body.refresh_token))).status).to.equal(200);

    world.advance(21 * 60);
    // By every clock the task is over, but this replica sweeps nothing.
    expect(await right.recorded(() => ahead.jobs.sweep())).to.deep.equal([]);
    const ends = await right.recorded(() => right.jobs.sweep());
    expect(fieldsOf(ends, 'event', 'task_id')).to.deep.equal([['task.expired', running.body.task_id]]);
  });

  it('sweeps by the earlier clock while the difference is small', async () => {
    const ahead = await replica(25);
    const behind = await replica(-25);
    expect((await clockOf(ahead))?.status).to.equal('Healthy');
    const { body } = await agent.exchange();
    const events = async (sweeping: Mandate) =>
      fieldsOf(await right.recorded(() => sweeping.jobs.sweep()), 'event', 'task_id');
    world.advance(20 * 60 - 5);
    expect(await events(ahead)).to.deep.equal([]);
    world.advance(10);
    expect(await events(behind)).to.deep.equal([]);
    expect(await events(ahead)).to.deep.equal([['task.expired', body.task_id]]);
  });

  it('deletes no row of any kind while it is days ahead, and leaves rows to others while it is behind', async () => {
    const [ahead, behind] = [await replica(9 * 24 * AN_HOUR), await replica(-SEVEN_MINUTES)];
    const { body } = await agent.exchange();
    expect((await right.admin('DELETE', `/admin/tasks/${body.task_id}`)).status).to.equal(200);
    const end = `to_timestamp(${world.seconds() + 30})`;
    const rows = {
      spent_assertions: `insert into spent_assertions values ('gone', 'a', ${end})`,
      accepted_signals: `insert into accepted_signals values ('ssf', 'i', 'a', ${end})`,
      logouts: `insert into logouts values ('person', 'ada', ${end}, ${end})`,
      asked_questions: `insert into asked_questions values ('ada', 'a', 1, false, ${end})`,
      pending_unblocks: `insert into pending_unblocks values ('ada', 'i', 's', 'k', ${end})`,
      sessions: `insert into sessions
          (session_hash, kind, iss, sub, sponsor_key, roles, created_at, last_used_at, expires_at)
        values ('a', 'me', 'i', 'ada', 'ada', '', ${end}, ${end}, ${end}),
          ('b', 'operator', 'i', 's', null, 'auditor', ${end}, ${end}, ${end})`,
      revoked_tokens: `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at)
        values ('tok_a', '${body.task_id}', ${end}, 'client_revoked', ${end})`,
    };
    for (const insert of Object.values(rows)) await right.sql(insert);
    const held = async () => {
      const counts = [...Object.keys(rows), 'tasks'].map((table) => `(select count(*) from ${table})::int as ${table}`);
      return (await right.sql(`select ${counts.join(', ')}`))[0];
    };
    const before = await held();
    await ahead.jobs.sweep();
    expect(await held()).to.deep.equal(before);
    world.advance(600);
    await behind.jobs.sweep();
    await ahead.jobs.sweep();
    expect(await held()).to.deep.equal(before);
    world.advance(8 * 24 * AN_HOUR);
    await right.jobs.sweep();
    expect(Object.values((await held()) ?? {}).every((count) => count === 0)).to.equal(true);
  });

  it('drops no revocation of a token while it is ahead, and takes no revoked token again while it is behind', async () => {
    const [ahead, behind] = [await replica(SEVEN_MINUTES), await replica(-SEVEN_MINUTES)];
    const issued = await agent.exchange();
    const token = String(issued.body.access_token);
    // An assertion of an agent on the same machine.
    const client_assertion = agent.assertion({ iat: undefined, exp: ahead.clock.seconds() + 60 });
    const revoked = await right.recorded(async () => {
      const answer = await ahead.post('/oauth2/revoke', agent.revokeForm(token, { client_assertion }));
      expect(answer.status).to.equal(200);
    });
    expect(fieldsOf(revoked, 'event', 'task_id')).to.deep.equal([['token.revoked', issued.body.task_id]]);
    expect((await right.introspect(issued)).active).to.equal(false);
    world.advance(240 + KEPT + 1);
    await right.jobs.sweep();
    expect((await behind.introspect(issued)).active).to.equal(false);
    expect((await right.introspect(issued)).active).to.equal(false);
  });

  it('takes no spent assertion again while it is behind, with an iat or without', async () => {
    // By its own clock, the replica would find the assertion valid after the sweep.
    const behind = await replica(-180);
    for (const isDated of [false, true]) {
      const iat = isDated ? world.seconds() : undefined;
      const until = world.seconds() + 60;
      const [spent, unused] = [agent.assertion({ iat, exp: until }), agent.assertion({ iat, exp: until })];
      expect((await agent.exchange({ actor_token: spent })).status).to.equal(200);
      world.advance(60 + KEPT + 1);
      await right.jobs.sweep();
      expect(await reasons(spent, behind, right)).to.deep.equal([IN_DOUBT, 'actor_expired']);
      expect(await reasons(unused, behind)).to.deep.equal([IN_DOUBT]);
    }
  });

  it('is compared with the clock of the server itself', async () => {
    const clock = world.ofAnotherMachine();
    const started = await right.another({}, undefined, { clock, databaseClock: undefined });
    others.push(started);
    expect((await clockOf(started))?.status).to.equal('Healthy');
    world.advance(AN_HOUR);
    await started.jobs.watchClocks();
    expect((await clockOf(started))?.detail).to.match(
      /^The database's clock is (59 minutes( \d+ seconds)?|1 hour( \d+ seconds?)?) behind this machine's\./,
    );
  });
});
