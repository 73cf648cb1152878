/**
 * Four exchanges a second while the identity provider rotates its keys and fails. No exchange is refused for a fault that is
 * not its own, and new keys are there within five seconds of the provider's return (supplement "Subject tokens").
 */

import type { RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

const PER_SECOND = 4;
const BACK_WITHIN_SECONDS = 5;
/** A fetch that began before the provider came back takes five seconds, and the pause after it at most four: it counts from its end. */
const BACK_AFTER_SILENCE_SECONDS = 9;

/** How the provider fails. `undefined`: it refuses connections. */
const OUTAGES: Readonly<Record<string, RequestListener | undefined>> = {
  'refuses connections': undefined,
  'answers 503': (_, response) => response.writeHead(503).end(),
  'answers 200 with the page of a proxy': (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>We will be back soon</h1>'),
  'ends each connection without an answer': (request) => request.socket.destroy(),
};

describe('With rotations of keys and outages at the identity provider', function () {
  this.timeout(120_000);
  let provider: IdentityProvider;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  beforeEach(async () => {
    provider = await startIdentityProvider({ algorithm: 'ES256' });
    mandate = await startMandate({ database: sqliteFile, provider });
    agent = await mandate.agent();
  });
  afterEach(async () => {
    await mandate.stop();
    await provider.stop();
  });

  /** Distinct tokens of the current key: the service remembers a token whose signature it has verified. */
  const tokens = (): (() => string) => {
    const minted = Array.from({ length: 400 }, () => agent.subjectToken());
    return () => minted.pop() ?? agent.subjectToken();
  };

  async function fail(how: RequestListener | undefined): Promise<void> {
    if (how === undefined) await provider.goDown();
    else provider.answerInstead(how);
  }

  /** Like a provider that is started again. */
  async function comeBack(): Promise<void> {
    provider.answerInstead(undefined);
    await provider.goDown();
    await provider.comeBack();
  }

  const exchange = (token: string): Promise<Answer> => agent.exchange({ subject_token: token });

  function expectIssued(answer: Answer): void {
    expect(answer.status, answer.text).to.equal(200);
  }

  function expectUnavailable(answer: Answer): void {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.body.error).to.equal('temporarily_unavailable');
  }

  for (const [outage, how] of Object.entries(OUTAGES)) {
    it(`a token is refused for none of them, if the provider ${outage}`, async () => {
      let unavailable = 0;
      const records = await mandate.recorded(async () => {
        for (const outageSeconds of [1, 7, 40]) {
          // Alternately a token of the former key and one of the current key.
          const former = tokens();
          expectIssued(await exchange(former()));
          await provider.rotateKeys({ keepFormer: true });
          const current = tokens();
          for (let turn = 0; turn < PER_SECOND; turn += 1) {
            expectIssued(await exchange(turn % 2 === 0 ? current() : former()));
            mandate.clock.advance(1 / PER_SECOND);
          }

          await fail(how);
          for (let turn = 0; turn < outageSeconds * PER_SECOND; turn += 1) {
            expectIssued(await exchange(turn % 2 === 0 ? current() : former()));
            mandate.clock.advance(1 / PER_SECOND);
          }
          await provider.rotateKeys({ keepFormer: true });
          for (let turn = 0; turn < outageSeconds * PER_SECOND; turn += 1) {
            if (turn % 2 === 0) {
              expectIssued(await exchange(current()));
            } else {
              expectUnavailable(await exchange(agent.subjectToken()));
              unavailable += 1;
            }
            mandate.clock.advance(1 / PER_SECOND);
          }

          await comeBack();
          let turns = 0;
          for (; ; turns += 1) {
            const answer = await exchange(agent.subjectToken());
            if (answer.status === 200) break;
            expectUnavailable(answer);
            unavailable += 1;
            expectIssued(await exchange(current()));
            mandate.clock.advance(1 / PER_SECOND);
          }
          expect(turns / PER_SECOND, `after ${outageSeconds} s`).to.be.at.most(BACK_WITHIN_SECONDS);
          for (let turn = 0; turn < PER_SECOND; turn += 1) {
            expectIssued(await exchange(turn % 2 === 0 ? agent.subjectToken() : current()));
            mandate.clock.advance(1 / PER_SECOND);
          }
        }
      });
      const denied = records.filter(({ decision }) => decision === 'deny');
      expect(denied.map(({ event, reason }) => `${event} ${reason}`)).to.deep.equal(
        Array(unavailable).fill('token.denied subject_keys_unavailable'),
      );
    });
  }

  it('a token is refused for none of them, if the provider answers no request for six seconds, and those never', async () => {
    const known = tokens();
    expectIssued(await exchange(known()));
    provider.answerInstead(() => undefined);
    await provider.rotateKeys({ keepFormer: true });
    const start = performance.now();
    let unavailable = 0;
    let backAt = Number.POSITIVE_INFINITY;
    const answers: Promise<void>[] = [];
    const records = await mandate.recorded(async () => {
      for (let turn = 0; turn < (6 + BACK_AFTER_SILENCE_SECONDS + 2) * PER_SECOND; turn += 1) {
        // The network's time limits are real time.
        await pause(start + (turn * 1000) / PER_SECOND - performance.now());
        const sentAt = performance.now();
        if (turn === 6 * PER_SECOND) {
          provider.answerInstead(undefined);
          backAt = sentAt;
        }
        const isNew = turn % 2 === 1;
        const check = async () => {
          const answer = await exchange(isNew ? agent.subjectToken() : known());
          if (!isNew || sentAt > backAt + BACK_AFTER_SILENCE_SECONDS * 1000) expectIssued(answer);
          else if (answer.status !== 200) {
            expectUnavailable(answer);
            unavailable += 1;
          }
          if (!isNew) expect(performance.now() - sentAt, 'no known key waits').to.be.below(1500);
        };
        answers.push(check());
      }
      await Promise.all(answers);
    });
    expect(unavailable).to.be.above(6);
    const denied = records.filter(({ decision }) => decision === 'deny');
    expect(denied.map(({ event, reason }) => `${event} ${reason}`)).to.deep.equal(
      Array(unavailable).fill('token.denied subject_keys_unavailable'),
    );
  });
});
