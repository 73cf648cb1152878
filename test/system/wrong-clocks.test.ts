/**
 * Instances whose clock is wrong (supplement "Clocks"): none of them ends or deletes what the others share, and what one
 * accepted once no other accepts again.
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { freePort } from '../../scripts/free-port.ts';
import { startConsole } from '../support/console/console-service.ts';
import { databasesByLength, postgres } from '../support/databases.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { personBrowser, startWithPage } from '../support/me/person-browser.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { type MovedClock, movedClock } from '../support/moved-clock.ts';
import { OPERATORS } from '../support/operators.ts';
import { scimClient, scimSettings, USER_SCHEMA } from '../support/scim-client.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../support/transmitter.ts';

const [SEVEN_MINUTES, AN_HOUR] = [420, 3600];
/** After the end of an assertion: the skew, and the minute for which its `jti` is kept. */
const KEPT = 120;

const clockOf = async (instance: Mandate) => {
  const { body } = await instance.get('/readyz', { accept: 'application/json' });
  return (body.checks as Readonly<Record<string, { status: string; detail: string }>>).clock;
};
const isRefused = ({ status, body }: Answer) => expect([status, body.error]).to.deep.equal([401, 'invalid_client']);

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
      for (const { post } of instances) isRefused(await post('/oauth2/token', agent.exchangeForm({ actor_token })));
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
    expect(await reasons(assertion, ahead)).to.deep.equal(['actor_expired']);

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
      expect(await reasons(spent, behind, right)).to.deep.equal(['actor_expired', 'actor_expired']);
      expect(await reasons(unused, behind)).to.deep.equal(['actor_expired']);
    }
  });

  it('takes no expired token of a person while it is behind', async () => {
    const behind = await replica(-180);
    const expired = { exp: world.seconds() - 120 };
    const lines = await right.recorded(async () => {
      const actor_token = agent.assertion({ iat: undefined, exp: world.seconds() + 60 });
      const form = agent.exchangeForm({ actor_token, subject_token: agent.subjectToken(expired) });
      expect((await behind.post('/oauth2/token', form)).body.error).to.equal('invalid_grant');
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'subject_expired']]);
  });

  it('takes no spent assertion again if the database is as wrong as another replica', async () => {
    const wrong = world.ofAnotherMachine();
    wrong.jump(AN_HOUR);
    const databaseClock = wrong;
    const [agreeing, alone] = [
      await right.another({}, undefined, { clock: wrong, databaseClock }),
      await right.another({}, undefined, { clock: world.ofAnotherMachine(), databaseClock }),
    ];
    others.push(agreeing, alone);
    expect((await clockOf(agreeing))?.status).to.equal('Healthy');
    expect((await clockOf(alone))?.detail).to.match(/^The database's clock is 1 hour ahead of this machine's\./);

    const assertion = agent.assertion({ iat: undefined, exp: wrong.seconds() + 60 });
    const exchange = ({ post }: Mandate) =>
      post('/oauth2/token', agent.exchangeForm({ actor_token: assertion, subject_token: longLived() }));
    const longLived = () => agent.subjectToken({ exp: wrong.seconds() + AN_HOUR });
    const issued = await exchange(agreeing);
    expect(issued.status, issued.text).to.equal(200);
    world.advance(60 + KEPT + 1);
    await agreeing.jobs.sweep();
    world.advance(AN_HOUR - 60 - KEPT);
    // By its own clock, the third replica would find the assertion valid now.
    const lines = await right.recorded(async () => isRefused(await exchange(alone)));
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_expired']]);
    const ends = await right.recorded(() => alone.jobs.sweep());
    expect(ends).to.deep.equal([]);
    expect(fieldsOf(await right.recorded(() => agreeing.jobs.sweep()), 'event', 'task_id')).to.deep.equal([
      ['task.expired', issued.body.task_id],
    ]);
  });

  it('applies no logout token again while it is behind', async () => {
    const audience = { 'Service:UpstreamIdp:BackchannelLogout:Audience': right.provider.clientId };
    const [receiving, behind] = [await replica(0, audience), await replica(-720, audience)];
    const iat = world.seconds();
    const logout_token = right.provider.signLogoutToken({ sub: 'ada', iat, exp: iat + 1200 });
    const send = ({ post }: Mandate) => post('/backchannel-logout', { logout_token });
    expect((await send(receiving)).status).to.equal(200);
    world.advance(730);
    await receiving.jobs.sweep();
    const lines = await right.recorded(async () => {
      const answer = await send(behind);
      expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_request']);
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_too_old']]);
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

for (const database of databasesByLength) {
  describe(`A process on ${database.name} whose clock jumps`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let world: MovedClock;
    beforeEach(async () => {
      world = movedClock();
      const clock = world.ofAnotherMachine();
      mandate = await startMandate({ database, clock, databaseClock: world });
      agent = await mandate.agent();
    });
    afterEach(() => mandate.stop());

    const exchange = (actor_token: string) => agent.exchange({ actor_token });

    it('deletes and ends nothing until its clock has been right for a minute', async () => {
      const [running, spent] = [await agent.exchange(), agent.assertion()];
      expect((await exchange(spent)).status).to.equal(200);
      const lines = await mandate.recorded(async () => {
        for (const jump of [AN_HOUR, -AN_HOUR]) {
          mandate.clock.jump(jump);
          for (let sweeps = 0; sweeps < 3; sweeps++) await mandate.jobs.sweep();
          expect(await clockOf(mandate)).to.deep.equal({
            status: 'Degraded',
            detail:
              'The clock of this machine was set by more than 5 seconds within the last minute. This instance ends and deletes nothing by time until the clocks agree.',
          });
          world.advance(2);
        }
        isRefused(await exchange(spent));
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_replayed']]);
      expect((await mandate.introspect(running)).active).to.equal(true);

      world.advance(57);
      expect((await clockOf(mandate))?.status).to.equal('Degraded');
      world.advance(2);
      expect((await clockOf(mandate))?.status).to.equal('Healthy');
      world.advance(21 * 60);
      const ends = await mandate.recorded(() => mandate.jobs.sweep());
      expect(fieldsOf(ends, 'event')).to.deep.equal([['task.expired'], ['task.expired']]);
    });

    it('takes no spent assertion again while its clock is set back', async () => {
      for (const isDated of [false, true]) {
        const iat = isDated ? world.seconds() : undefined;
        const spent = agent.assertion({ iat, exp: world.seconds() + 60 });
        expect((await exchange(spent)).status).to.equal(200);
        world.advance(60 + KEPT + 1);
        await mandate.jobs.sweep();
        mandate.clock.jump(-200);
        const lines = await mandate.recorded(async () => isRefused(await exchange(spent)));
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_expired']]);
        mandate.clock.jump(200);
        await mandate.jobs.watchClocks();
        world.advance(61);
        await mandate.jobs.watchClocks();
      }
    });

    it('takes no spent assertion again and ends no task while its clock jumps back and forth each second', async () => {
      const [running, spent] = [await agent.exchange(), agent.assertion({ iat: undefined })];
      expect((await exchange(spent)).status).to.equal(200);
      const lines = await mandate.recorded(async () => {
        for (let second = 0; second < 10; second++) {
          mandate.clock.jump(second % 2 ? -AN_HOUR : AN_HOUR);
          await mandate.jobs.watchClocks();
          await mandate.jobs.sweep();
          isRefused(await exchange(spent));
          world.advance(1);
        }
      });
      expect(lines).to.have.length(10);
      expect(new Set(lines.map(({ event }) => event))).to.deep.equal(new Set(['token.denied']));
      expect((await mandate.introspect(running)).active).to.equal(true);
      expect((await exchange(agent.assertion())).status).to.equal(200);
    });
  });

  describe(`A process on ${database.name} whose clock jumps past the end of a task`, () => {
    const ME = 'https://mandate.test/me';
    let world: MovedClock;
    let mandate: Mandate;
    let transmitter: Transmitter;
    let agent: RegisteredAgent;
    before(async () => {
      world = movedClock();
      transmitter = await startTransmitter(() => mandate.clock.seconds());
      mandate = await startMandate({
        database,
        clock: world.ofAnotherMachine(),
        databaseClock: world,
        settings: {
          ...transmitter.settings,
          ...scimSettings,
          ...OPERATORS,
          'Service:Me:Audience': ME,
          'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
        },
      });
      agent = await mandate.agent({ max_task_ttl: 'PT2M', max_token_ttl: 'PT2M' });
    });
    after(async () => {
      await mandate.stop();
      await transmitter.stop();
    });

    const my = (sub: string, method: string, path: string) => {
      const token = agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() });
      return mandate.send(path, { method, headers: { authorization: `Bearer ${token}` } });
    };
    const KILLS: Readonly<Record<string, (person: string, task: Answer) => Promise<Answer>>> = {
      'a kill of the task': (_, { body }) => mandate.admin('DELETE', `/admin/tasks/${body.task_id}`),
      'a kill of the agent': () => mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`),
      'a kill of the person': (person) => mandate.admin('DELETE', `/admin/sponsors/${person}/tasks`),
      'a block': (person) => mandate.admin('PUT', `/admin/sponsors/${person}/block`),
      "the person's stop": (person) => my(person, 'DELETE', '/me/tasks'),
      "the person's pause": (person) => my(person, 'PUT', '/me/pause'),
      'a revocation of the grant': (_, { body }) => agent.revoke(String(body.refresh_token)),
      'a logout': (sub) => {
        const logout_token = mandate.provider.signLogoutToken({
          aud: 'people-desk',
          sub,
          iat: mandate.clock.seconds(),
        });
        return mandate.post('/backchannel-logout', { logout_token });
      },
      'a security event': (person) =>
        mandate.send('/events', {
          method: 'POST',
          headers: PUSH_HEADERS,
          body: transmitter.event('https://schemas.openid.net/secevent/caep/event-type/session-revoked', person),
        }),
      'a SCIM write': (userName) =>
        scimClient(mandate).send('POST', '/Users', {
          schemas: [USER_SCHEMA],
          userName,
          externalId: userName,
          active: false,
        }),
    };

    for (const [name, kill] of Object.entries(KILLS)) {
      it(`shows the task as live, and ends it by ${name}`, async () => {
        const person = `person-${randomUUID()}`;
        const task = await agent.exchangeFor({ sub: person });
        expect(task.status, task.text).to.equal(200);
        mandate.clock.jump(150);
        const live = await mandate.admin('GET', `/admin/tasks?state=live&sponsor=${person}`);
        expect((live.body.tasks as readonly unknown[]).length, live.text).to.equal(1);
        const [shown] = (await my(person, 'GET', '/me/tasks')).body.tasks as readonly { readonly state: string }[];
        expect(shown?.state).to.equal('live');
        const lines = await mandate.recorded(async () => {
          const answer = await kill(person, task);
          expect(answer.status, answer.text).to.be.within(200, 204);
        });
        const ends = lines.filter(({ event }) => event === 'task.revoked');
        expect(fieldsOf(ends, 'task_id')).to.deep.equal([[task.body.task_id]]);

        mandate.clock.jump(-150);
        const renewal = await mandate.recorded(() => agent.refresh(String(task.body.refresh_token)));
        expect(fieldsOf(renewal, 'event', 'reason')).to.deep.equal([['token.denied', 'task_revoked']]);
      });
    }

    it('opens no task that lasts longer than its agent may, and dates no token ahead', async () => {
      mandate.clock.jump(90);
      const task = await agent.exchange();
      const right = world.seconds();
      expect(task.status, task.text).to.equal(200);
      expect(Date.parse(String(task.body.task_expires_at)) / 1000).to.be.within(right + 118, right + 120);
      const renewed = await agent.refresh(String(task.body.refresh_token));
      for (const { body } of [task, renewed]) {
        const { iat, exp } = decodeJwt(String(body.access_token));
        expect(iat).to.be.within(right - 2, right);
        expect(exp).to.be.at.most(right + 120);
      }
      mandate.clock.jump(-90);
      world.advance(119);
      const lines = await mandate.recorded(() => agent.refresh(String(task.body.refresh_token)));
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'task_ending']]);
    });

    it('revokes no task whose time is up by all clocks, before the sweeper has recorded its end', async () => {
      const task = await agent.exchange();
      world.advance(121);
      const lines = await mandate.recorded(async () => {
        const answer = await mandate.admin('DELETE', `/admin/tasks/${task.body.task_id}`);
        expect(answer.body).to.deep.equal({ revoked_tasks: 0 });
        await mandate.jobs.sweep();
        world.advance(60);
        await mandate.jobs.watchClocks();
        world.advance(3);
        await mandate.jobs.sweep();
      });
      const ofTask = lines.filter(({ task_id }) => task_id === task.body.task_id);
      expect(fieldsOf(ofTask, 'event')).to.deep.equal([['task.expired']]);
    });
  });

  describe(`Sessions of a process on ${database.name} whose clock jumps`, function () {
    this.timeout(60_000);
    const clocks = () => {
      const world = movedClock();
      return { world, clock: world.ofAnotherMachine(), databaseClock: world };
    };

    it('of the page end by the later clock, and begin by the earlier one', async () => {
      const { world, ...times } = clocks();
      const { mandate, stop } = await startWithPage(database, {}, { times });
      const isSignedIn = async (cookie: string) => (await mandate.get('/me/callback', { cookie })).status === 302;
      const signIn = async () => {
        const person = personBrowser(mandate);
        expect((await person.signIn()).status).to.be.within(200, 303);
        return person.cookies();
      };
      const cookie = await signIn();
      expect(await isSignedIn(cookie)).to.equal(true);
      mandate.clock.jump(-600);
      world.advance(898);
      expect(await isSignedIn(cookie)).to.equal(true);
      world.advance(901);
      expect(await isSignedIn(cookie)).to.equal(false);

      mandate.clock.jump(600 + 300);
      const opened = await signIn();
      mandate.clock.jump(-300);
      expect(await isSignedIn(opened)).to.equal(true);
      world.advance(902);
      expect(await isSignedIn(opened)).to.equal(false);
      await stop();
    });

    it('of the console end only with the form token and a record, also where they are over by a wrong clock', async () => {
      const { world, ...times } = clocks();
      const logout = { 'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk' };
      const { mandate, signedIn, stop } = await startConsole(database, logout, times);
      const [own, other] = [await signedIn('viewer'), await signedIn('auditor')];
      const ahead = 13 * AN_HOUR;
      mandate.clock.jump(ahead);
      const isOpen = async ({ open }: typeof own) => {
        mandate.clock.jump(-ahead);
        const { status } = await open('/');
        mandate.clock.jump(ahead);
        return status === 200;
      };
      const forged = await mandate.recorded(() => own.submit('/sign-out', { form_token: 'x' }));
      expect([forged, await isOpen(own)]).to.deep.equal([[], true]);

      const lines = await mandate.recorded(async () => {
        expect((await own.submit('/sign-out', {})).status).to.equal(200);
        const iat = mandate.clock.seconds();
        const sub = 'olga-auditor';
        const logout_token = mandate.provider.signLogoutToken({ sub, aud: 'console', iat, exp: iat + 100 });
        expect((await mandate.post('/backchannel-logout', { logout_token })).status).to.equal(200);
      });
      expect([await isOpen(own), await isOpen(other)]).to.deep.equal([false, false]);
      const signedOut = lines.filter(({ event }) => event === 'operator.signed_out');
      const detail = ({ detail: said }: (typeof lines)[number]) => new URLSearchParams(String(said)).get('sub');
      expect(signedOut.map(detail)).to.deep.equal(['olga-viewer', 'olga-auditor']);

      // Over by every clock: the session was not ended on purpose.
      mandate.clock.jump(-ahead);
      const late = await signedIn('registrar');
      world.advance(ahead);
      expect(await mandate.recorded(() => late.submit('/sign-out', {}))).to.deep.equal([]);
      await stop();
    });

    it('of the console end by the later clock', async () => {
      const { world, ...times } = clocks();
      const { mandate, signedIn, stop } = await startConsole(database, {}, times);
      const own = await signedIn('viewer');
      await (await mandate.agent({ max_task_ttl: 'PT2M', max_token_ttl: 'PT2M' })).exchange();
      const live = async () => /Live tasks<\/h2>\s*<p class="value">(\d+)/.exec((await own.open('/')).text)?.[1];
      expect(await live()).to.equal('1');
      // The page counts by the earlier clock, so that operators see what runs.
      mandate.clock.jump(150);
      expect(await live()).to.equal('1');
      mandate.clock.jump(-150);
      mandate.clock.jump(-600);
      world.advance(898);
      expect((await own.open('/')).status).to.equal(200);
      world.advance(901);
      for (const path of ['/', '/stream']) {
        const gone = await own.open(path);
        expect([gone.status, gone.headers.get('location')], path).to.deep.equal([302, '/sign-in']);
      }
      await stop();
    });
  });
}
