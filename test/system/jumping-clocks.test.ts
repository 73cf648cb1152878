/** Processes whose clock jumps (supplement "Clocks"): tasks and sessions end as on instances whose clock is right. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { type MovedClock, movedClock } from '../support/moved-clock.ts';
import { OPERATORS } from '../support/operators.ts';

import { AN_HOUR, clockOf, isInDoubt, isRefused, KEPT } from '../support/wrong-clock.ts';

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
      // A second before the minute is over is looked at below. A slow machine would pass it.
      world.standStill();
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

    it('calls an assertion expired only if no doubtful clock says so alone: else 503, and the assertion is kept', async () => {
      const clock = world.ofAnotherMachine();
      clock.jump(AN_HOUR);
      const started = await mandate.another({}, undefined, { clock, databaseClock: world });
      const send = (actor_token: string) => started.post('/oauth2/token', agent.exchangeForm({ actor_token }));
      // On SQLite nothing shows that the clock is wrong, until it is set.
      const isKnown = mandate.engine === 'postgres';
      const right = agent.assertion();
      const lines = await mandate.recorded(async () => {
        const answer = await send(right);
        if (isKnown) isInDoubt(answer);
        else isRefused(answer);
      });
      const reason = isKnown ? 'actor_expiry_in_doubt' : 'actor_expired';
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id')).to.deep.equal([
        ['token.denied', 'deny', reason, agent.id],
      ]);
      clock.jump(-AN_HOUR);
      await started.jobs.watchClocks();
      const another = agent.assertion();
      const after = await mandate.recorded(async () => {
        const answer = await send(another);
        if (isKnown) expect(answer.status, answer.text).to.equal(200);
        else isInDoubt(answer);
        isRefused(await send(agent.assertion({ iat: world.seconds() - 7500, exp: world.seconds() - 7400 })));
      });
      const first = isKnown ? ['token.issued', null] : ['token.denied', 'actor_expiry_in_doubt'];
      expect(fieldsOf(after, 'event', 'reason')).to.deep.equal([first, ['token.denied', 'actor_expired']]);
      world.advance(61);
      await started.jobs.watchClocks();
      world.advance(1);
      await started.jobs.watchClocks();
      const fresh = await send(isKnown ? agent.assertion() : another);
      expect(fresh.status, 'a refused assertion is not used up').to.equal(200);
      await started.stop();
    });

    it('takes no spent assertion again while its clock is set back', async () => {
      for (const isDated of [false, true]) {
        const iat = isDated ? world.seconds() : undefined;
        const spent = agent.assertion({ iat, exp: world.seconds() + 60 });
        expect((await exchange(spent)).status).to.equal(200);
        world.advance(60 + KEPT + 1);
        await mandate.jobs.sweep();
        mandate.clock.jump(-200);
        const lines = await mandate.recorded(async () => isInDoubt(await exchange(spent)));
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_expiry_in_doubt']]);
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
          const answer = await exchange(spent);
          if (answer.status === 503) isInDoubt(answer);
          else isRefused(answer);
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
    let agent: RegisteredAgent;
    before(async () => {
      world = movedClock();
      mandate = await startMandate({
        database,
        clock: world.ofAnotherMachine(),
        databaseClock: world,
        settings: {
          ...OPERATORS,
          'Service:Me:Audience': ME,
          'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
        },
      });
      agent = await mandate.agent({ max_task_ttl: 'PT2M', max_token_ttl: 'PT2M' });
    });
    after(async () => {
      await mandate.stop();
    });

    const my = (sub: string, method: string, path: string) => {
      const token = agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() });
      return mandate.send(path, { method, headers: { authorization: `Bearer ${token}` } });
    };
    const KILLS: Readonly<Record<string, (person: string, task: Answer) => Promise<Answer>>> = {
      'a kill of the task': (_, { body }) => mandate.admin('DELETE', `/admin/tasks/${body.task_id}`),
      'a block': (person) => mandate.admin('PUT', `/admin/sponsors/${person}/block`),
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
      // A second before the end of the task is asked for below. A slow machine would pass it.
      world.standStill();
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
}
