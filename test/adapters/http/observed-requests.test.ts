import { expect } from 'chai';
import express from 'express';
import { auditRouter } from '../../../adapters/http/admin/audit-router.ts';
import { workLimiters } from '../../../adapters/http/admission/concurrency.ts';
import { observedRequests } from '../../../adapters/http/app.ts';
import { loggedRequests } from '../../../adapters/http/observed-requests.ts';
import { routeTable } from '../../../adapters/http/routes.ts';
import type { HttpServer } from '../../../adapters/http/server/server.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { Secret } from '../../../domain/secret.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { eventually } from '../../support/eventually.ts';
import { serverWith } from '../../support/http-server.ts';
import { movedClock } from '../../support/moved-clock.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const KEY = 'an-admin-key-that-only-the-tests-know-0001';

const checkpoint: Checkpoint = {
  checkpointId: 1,
  firstSeq: 1,
  lastSeq: 9,
  treeSize: 9,
  closedAt: NOON,
  rootHash: '0'.repeat(64),
  prevCheckpointHash: '1'.repeat(64),
  kid: 'a-key',
  signature: '2'.repeat(128),
};

describe('The request log', () => {
  let log: CapturedLog;
  let server: HttpServer;
  beforeEach(async () => {
    log = capturedLog();
    const app = express();
    const audit = {
      apiKey: new Secret(KEY),
      refuse: async () => undefined,
      query: () => Promise.reject(new RangeError('a bug')),
      checkpoints: async () => ({ checkpoints: [], nextAfter: undefined }),
      prove: async () => ({ kind: 'broken', checkpoint }) as const,
      log,
    };
    app.use('/audit', auditRouter(audit));
    server = await serverWith(loggedRequests(log, systemRandomness(), app));
  });
  afterEach(() => server.stop(0));

  for (const [title, path, message] of [
    ['a bug', '/audit', 'a request failed'],
    ['a broken seal', '/audit/records/7/proof', 'the records do not produce the root that was signed'],
  ] as const) {
    it(`gives the line about ${title} the trace of its request`, async () => {
      const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
      const url = `http://127.0.0.1:${server.address.port}${path}`;
      expect((await fetch(url, { headers: { authorization: `Bearer ${KEY}`, traceparent } })).status).to.equal(500);
      await eventually(() => log.lines.length === 2);
      const [fault, request] = log.lines.map((line) => JSON.parse(line));
      expect([fault.message, request.message]).to.deep.equal([message, 'request']);
      expect(fault).to.include({ trace_id: TRACE, span_id: request.span_id });
    });
  }
});

describe('In front of the application', () => {
  it('the route of a request is found once, for its span, its metric, its admission and its permit', async () => {
    const [log, asked, answered] = [capturedLog(), [] as string[], [] as string[]];
    const ended = { trace: { traceId: TRACE, spanId: '00f067aa0ba902b7', isSampled: true }, end: () => undefined };
    const surfaces = {
      log,
      randomness: systemRandomness(),
      tracing: { start: () => ended, within: (_trace: unknown, work: () => void) => work() },
      measurements: { answered: (surface: string) => answered.push(surface) },
      admission: {
        rates: undefined,
        limiters: workLimiters({ concurrency: 1, queue: 0, waitMs: 1000 }),
        denials: { record: () => undefined },
        clock: movedClock(),
        log,
      },
    } as unknown as Parameters<typeof observedRequests>[0];
    const routes = (target: string) => {
      asked.push(target);
      return routeTable()(target);
    };
    const server = await serverWith(observedRequests(surfaces, (_request, response) => response.end(), routes, {}));
    await fetch(`http://127.0.0.1:${server.address.port}/audit?limit=1`);
    await server.stop(0);
    expect([asked, answered]).to.deep.equal([['/audit?limit=1'], ['audit']]);
  });
});
