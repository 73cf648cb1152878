/** How long a killed task may be allowed at most, whatever polls and replicas do. */

import { expect } from 'chai';
import fc from 'fast-check';
import { byLength } from '../../../../support/length.ts';
import { movedPollClock } from '../../../../support/tool-server/poll-clock.ts';
import {
  DECIDED,
  LISTED,
  MAX_AGE_MS,
  pollingForEachTest,
  START,
} from '../../../../support/tool-server/polled-lists.ts';
import {
  type ListedStatuses,
  listService,
  sendList,
  signList,
  TTL,
} from '../../../../support/tool-server/status-lists.ts';

const PROMISE_RUNS = byLength({ short: 8, full: 100 });

describe('A tool server that polls status lists', () => {
  const polling = pollingForEachTest();
  const { make, seconds, ask, both, raw } = polling;

  for (const [what, replay, withinMs] of [
    ['ttl and maxAgeMs, also if the list from before is replayed with fresh ETags', true, TTL * 1000 + MAX_AGE_MS],
    ['six times ttl and maxAgeMs, also if each poll is answered 304', false, 6 * TTL * 1000 + MAX_AGE_MS],
  ] as const) {
    it(`refuses a killed task within ${what} ever after`, async () => {
      for (let ageMs = 0; ageMs <= TTL * 1000; ageMs += 500) {
        polling.clock = movedPollClock(START);
        polling.lists = make();
        const token = await signList(polling.plane, seconds(), {});
        let nth = 0;
        polling.plane.answerStatus = (...call) => sendList(token, {}, replay ? `"${nth++}"` : '"0"')(...call);
        // The task is killed as soon as the list is made.
        await polling.clock.advance(ageMs);
        while (polling.clock.monotonic() <= withinMs) {
          await ask(5);
          await polling.clock.advance(100);
        }
        expect(await ask(5), `the list was ${ageMs} ms old`).to.equal('unknown');
      }
    });
  }

  /** Two replicas, of which the second one's clock is ahead. */
  const replicas = (aheadMs: number, statuses: () => ListedStatuses) =>
    [0, aheadMs].map((ahead) => listService(polling.plane, () => (polling.clock.now() + ahead) / 1000, statuses));

  it('refuses a killed task within ttl and maxAgeMs, whichever polls fail, and whichever replica answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 25_000 }),
        fc.integer({ min: 0, max: 19_999 }),
        fc.integer({ min: -30_000, max: 30_000 }),
        fc.array(fc.constantFrom<'lost' | number>('lost', 0, 1), { maxLength: 12 }),
        async (killMs, phaseMs, aheadMs, polls) => {
          polling.clock = movedPollClock(START + phaseMs);
          polling.lists = make();
          let killedAt: number | undefined;
          const services = replicas(aheadMs, () => (killedAt === undefined ? {} : { 5: 1 }));
          let nth = 0;
          polling.plane.answerStatus = (...call) => {
            const to = polls[nth] ?? nth % 2;
            nth += 1;
            (to === 'lost' ? raw(503) : services[to])?.(...call);
          };
          const kinds = new Set<string>();
          while (killedAt === undefined || polling.clock.monotonic() - killedAt < 60_000) {
            if (killedAt === undefined && polling.clock.monotonic() >= killMs) killedAt = polling.clock.monotonic();
            const kind = await ask(5);
            kinds.add(kind);
            if (killedAt !== undefined && polling.clock.monotonic() - killedAt > TTL * 1000 + MAX_AGE_MS) {
              expect(kind).not.to.equal('active');
            }
            await polling.clock.advance(700);
          }
          expect(kinds).to.include('not_active');
        },
      ),
      { numRuns: PROMISE_RUNS },
    );
  });

  it('always has a fresh list of two replicas whose clocks differ by a second, and mostly by a 304', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 19_999 }),
        fc.integer({ min: -1000, max: 1000 }),
        fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 40, maxLength: 80 }),
        async (phaseMs, aheadMs, polls) => {
          polling.clock = movedPollClock(START + phaseMs);
          polling.lists = make();
          const services = replicas(aheadMs, () => LISTED);
          const statuses: number[] = [];
          polling.plane.answerStatus = (request, response) => {
            response.once('finish', () => statuses.push(response.statusCode));
            services[polls[statuses.length % polls.length] ?? 0]?.(request, response);
          };
          for (let passed = 0; passed < 16 * TTL * 1000; passed += 500) {
            expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
            await polling.clock.advance(500);
          }
          expect(statuses.filter((status) => status === 304).length).to.be.above(statuses.length / 2);
        },
      ),
      { numRuns: PROMISE_RUNS },
    );
  });
});
