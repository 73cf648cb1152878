/** How long the agent library uses a token and a task: renewals, and ends. */

import { expect } from 'chai';
import { NotNow, Refused, TaskOver } from '../../../../adapters/sdk/agent/agent.ts';
import { busy, libraryForSuite, refusing, renewed, TASK_MS, TOKEN_MS } from '../../../support/agents/agent-library.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

describe('The agent library', () => {
  const library = libraryForSuite();
  const { start, startWith, advance, activity, renewals } = library;

  describe('renews a token', () => {
    it('after 60% of its lifetime, and returns the same token until then', async () => {
      const task = await start();
      const first = await task.token();
      advance(TOKEN_MS * 0.6 - 1000);
      expect(await task.token()).to.equal(first);
      advance(1000);
      const second = await task.token();
      expect(second).not.to.equal(first);
      expect(await task.token()).to.equal(second);
      expect(renewals()).to.have.length(1);
      expect(await activity(second)).to.deep.include({ active: true, task_id: task.id });
    });

    it('with one request for any number of callers', async () => {
      const task = await start();
      advance(TOKEN_MS * 0.7);
      const tokens = await Promise.all(Array.from({ length: 100 }, () => task.token()));
      expect(new Set(tokens)).to.have.property('size', 1);
      expect(renewals()).to.have.length(1);
    });

    it('until the task ends, and never returns an expired token', async () => {
      const task = await start();
      const until = library.clock.now() + TASK_MS;
      let over: unknown;
      for (; over === undefined; advance(7000)) {
        over = await task.token().then(
          async (token) => {
            expect(await activity(token)).to.include({ active: true });
            return undefined;
          },
          (error) => error,
        );
      }
      expect(over).to.be.instanceOf(TaskOver);
      expect(['task_ending', 'task_expired']).to.include((over as TaskOver).reason);
      expect(Math.abs(library.clock.now() - until)).to.be.at.most(15_000);
      // 20 minutes with a renewal every 2.4 minutes. The last token expires with its task, and is not renewed.
      expect(renewals().length).to.be.within(8, 10);
      const asked = library.requests.sent.length;
      expect(await thrownBy(task.token())).to.equal(over);
      expect(library.requests.sent).to.have.length(asked);
    });

    it('no sooner than Retry-After while the control plane is unavailable, and returns the current token', async () => {
      for (const answer of [
        () => busy(503, '60'),
        () => busy(429, '60'),
        () => Promise.reject(new TypeError('fetch failed')),
      ]) {
        const task = await start();
        const first = await task.token();
        advance(TOKEN_MS * 0.7);
        library.requests.answer = async () => answer();
        const before = renewals().length;
        expect(await task.token()).to.equal(first);
        expect(await task.token()).to.equal(first);
        expect(library.slept).to.deep.equal([]);
        const asked = renewals().length - before;
        library.requests.answer = (_url, _init, pass) => pass();
        advance(60_000);
        expect(await task.token()).not.to.equal(first);
        expect(asked).to.equal(1);
      }
    });

    it('instead of returning a token that may expire before it reaches a tool server', async () => {
      for (const [leftMs, isGiven] of [
        [6000, true],
        [4000, false],
      ] as const) {
        let time = library.clock.now();
        const task = await startWith(() => time);
        const first = await task.token();
        time += TOKEN_MS - leftMs;
        library.requests.answer = async () => busy(503, '60');
        const given = await task.token().catch((error) => error);
        if (isGiven) expect(given).to.equal(first);
        else expect(given).to.be.instanceOf(NotNow);
        library.requests.answer = (_url, _init, pass) => pass();
      }
    });

    it('no sooner than Retry-After, a minute at most, and throws at once when that is longer than patienceMs', async () => {
      let time = library.clock.now();
      const task = await startWith(() => time);
      time += TOKEN_MS;
      library.requests.answer = async () => busy(503, '3600');
      for (let call = 0; call < 3; call += 1) {
        expect(await thrownBy(task.token()))
          .to.be.instanceOf(NotNow)
          .with.property('retryAfterMs', 60_000);
      }
      expect([library.slept, renewals().length]).to.deep.equal([[], 1]);
      // A proxy's maintenance page may announce an hour. The task must not end if the service is back before.
      time += 60_000;
      library.requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    it('again while its token works, whatever the Retry-After of a proxy', async () => {
      let time = library.clock.now();
      const task = await startWith(() => time);
      const first = await task.token();
      time += TOKEN_MS * 0.9;
      for (const header of ['86400', new Date(time + 86_400_000).toUTCString()]) {
        library.requests.answer = async () => busy(503, header);
        expect(await task.token()).to.equal(first);
        // Half of what the token still has.
        time += 12_000;
      }
      library.requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    for (const [what, lived, back] of [
      ['an hour', 0.3, 3_600_000],
      ['half of the age of the token', 0.5, 60_000],
    ] as const) {
      it(`after the clock was moved back by ${what}, because the age of the token is unknown`, async () => {
        let behind = 0;
        const task = await startWith(() => library.clock.now() - behind);
        advance(TOKEN_MS * lived);
        await task.token();
        behind = back;
        library.requests.answer = async () => renewed('another.token', task);
        expect([await task.token(), await task.token()]).to.deep.equal(['another.token', 'another.token']);
        expect(renewals()).to.have.length(1);
      });
    }

    it('after Retry-After at the latest when the clock is moved back', async () => {
      let behind = 0;
      const task = await startWith(() => library.clock.now() - behind);
      advance(TOKEN_MS);
      library.requests.answer = async () => busy(503, '20');
      await thrownBy(task.token());
      behind = 3_600_000;
      library.requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    it('at most once a second while the control plane refuses', async () => {
      let time = library.clock.now();
      const task = await startWith(() => time);
      time += TOKEN_MS * 0.7;
      library.requests.answer = async () => refusing(401, { error: 'invalid_client' });
      const error = await thrownBy(task.token());
      expect(error).to.be.instanceOf(Refused).with.property('error', 'invalid_client');
      expect(await thrownBy(task.token())).to.equal(error);
      expect(renewals()).to.have.length(1);
      time += 1000;
      await thrownBy(task.token());
      expect(renewals()).to.have.length(2);
    });

    for (const [ahead, sentence] of [
      [70, " This machine's clock is 70 s ahead of the control plane's."],
      [-3600, " This machine's clock is 3600 s behind the control plane's."],
      [29, ''],
    ] as const) {
      it(`names a clock that is ${ahead} s ahead only if the assertion is refused and 30 s or more are missing`, async () => {
        const task = await start();
        advance(TOKEN_MS);
        const date = new Date(library.clock.now() - ahead * 1000).toUTCString();
        const answer = (error: string) => new Response(JSON.stringify({ error }), { status: 401, headers: { date } });
        library.requests.answer = async () => answer('invalid_client');
        const refused = await thrownBy(task.token());
        expect(refused).to.be.instanceOf(Refused);
        expect((refused as Refused).message).to.equal(`The control plane refused: invalid_client.${sentence}`);
        expect((refused as Refused).clockAheadSeconds).to.equal(sentence === '' ? undefined : ahead);
        advance(2000);
        library.requests.answer = async () => answer('invalid_scope');
        expect(((await thrownBy(task.token())) as Refused).clockAheadSeconds).to.equal(undefined);
      });
    }

    it('with jittered retries for at most patienceMs after the token has expired', async () => {
      const task = await start();
      advance(TOKEN_MS);
      let failures = 2;
      library.requests.answer = async (_url, _init, pass) => (failures-- > 0 ? busy(503, '4') : pass());
      expect(await activity(await task.token())).to.include({ active: true });
      expect(library.slept).to.deep.equal([5000, 5000]);

      advance(TOKEN_MS);
      library.requests.answer = async () => busy(503, '4');
      const error = await thrownBy(task.token());
      expect(error).to.be.instanceOf(NotNow).with.property('retryAfterMs', 4000);
      expect(library.slept.slice(2).reduce((sum, ms) => sum + ms, 0)).to.be.at.most(30_000);
      library.requests.answer = (_url, _init, pass) => pass();
      expect(await activity(await task.token())).to.include({ active: true });
    });
  });

  describe('ends a task', () => {
    const ends: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
      [
        'task_revoked',
        () => library.mandate.admin('DELETE', `/admin/agents/${library.registered.id}/tasks`),
        async () => undefined,
      ],
      [
        'agent_disabled',
        () => library.mandate.admin('PATCH', `/admin/agents/${library.registered.id}`, { enabled: false }),
        () => library.mandate.admin('PATCH', `/admin/agents/${library.registered.id}`, { enabled: true }),
      ],
      ['task_expired', async () => advance(TASK_MS), async () => undefined],
      ['task_ending', async () => advance(TASK_MS - 3000), async () => undefined],
    ];
    for (const [reason, end, undo] of ends) {
      it(`after a refusal with ${reason}, and sends no more requests`, async () => {
        const task = await start();
        await end();
        advance(TOKEN_MS * 0.7);
        const answer = reason === 'task_ending' ? refusing(400, { error: 'access_denied', reason }) : undefined;
        library.requests.answer = async (_url, _init, pass) => answer ?? pass();
        const error = await thrownBy(task.token());
        await undo();
        expect(error).to.be.instanceOf(TaskOver).with.property('reason', reason);
        const asked = library.requests.sent.length;
        expect(await thrownBy(task.token())).to.equal(error);
        expect(await thrownBy(task.narrow(['jira:read']))).to.equal(error);
        expect(library.requests.sent).to.have.length(asked);
      });
    }

    it('on end(), and revokes it once when end() is called repeatedly', async () => {
      const task = await start();
      const token = await task.token();
      await Promise.all([task.end(), task.end()]);
      await task.end();
      expect(await activity(token)).to.include({ active: false, revocation_reason: 'client_revoked' });
      expect(await thrownBy(task.token()))
        .to.be.instanceOf(TaskOver)
        .with.property('reason', 'ended');
      expect(library.requests.sent.filter(({ url }) => url.endsWith('/revoke'))).to.have.length(1);
    });

    it('at the end of its await using block', async () => {
      let token = '';
      {
        await using task = await start();
        token = await task.token();
      }
      expect(await activity(token)).to.include({ active: false });
    });

    it('and ignores an answer to a renewal that arrives later', async () => {
      const task = await start();
      advance(TOKEN_MS * 0.7);
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      library.requests.answer = async (_url, init, pass) => {
        if (String(init?.body).includes('refresh_token=')) await held;
        return pass();
      };
      const asking = thrownBy(task.token());
      const ended = task.end();
      release();
      await ended;
      expect(await asking).to.be.instanceOf(TaskOver);
      expect(await thrownBy(task.token())).to.be.instanceOf(TaskOver);
    });

    it('and repeats a revocation that failed on the next end()', async () => {
      const task = await start();
      library.requests.answer = async () => busy(503, '40');
      expect(await thrownBy(task.end())).to.be.instanceOf(NotNow);
      expect(await thrownBy(task.token())).to.be.instanceOf(TaskOver);
      library.requests.answer = (_url, _init, pass) => pass();
      await task.end();
    });
  });
});
