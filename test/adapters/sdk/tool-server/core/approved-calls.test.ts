/** The calls that count as running. An agent can make any number of them where no yes is needed. */

import { mock } from 'node:test';
import { expect } from 'chai';
import { approvedCalls } from '../../../../../adapters/sdk/tool-server/core/approved-calls.ts';
import type { TaskTokenClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';

const HOUR_MS = 60 * 60 * 1000;
const claims = { iss: 'https://mandate.example', sub: 'ada', act: undefined } as TaskTokenClaims;

describe('Calls whose client has left before the answer', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('count as running for an hour after the last one', () => {
    const calls = approvedCalls().of('s1', claims);
    calls.begin(1).lose();
    mock.timers.tick(HOUR_MS - 1);
    calls.begin(2).lose();
    mock.timers.tick(HOUR_MS - 1);
    expect(calls.isRunning()).to.equal(true);
    mock.timers.tick(1);
    expect(calls.isRunning()).to.equal(false);
  });

  it('are kept once for a session, however many there are', () => {
    const calls = approvedCalls().of('s1', claims);
    const [started, stopped] = [mock.method(globalThis, 'setTimeout'), mock.method(globalThis, 'clearTimeout')];
    for (let id = 0; id < 100; id += 1) calls.begin(id).lose();
    const running = started.mock.callCount() - stopped.mock.calls.filter(({ arguments: [timer] }) => timer).length;
    mock.restoreAll();
    expect([calls.isRunning(), running]).to.deep.equal([true, 1]);
  });

  it('do not count if they were answered before, and the others go on', () => {
    const calls = approvedCalls().of('s1', claims);
    const [answered, other] = [calls.begin(1), calls.begin(2)];
    answered.end();
    answered.lose();
    expect(calls.isRunning()).to.equal(true);
    other.end();
    expect(calls.isRunning()).to.equal(false);
  });
});
