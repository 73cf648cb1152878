/** A witness that listens on loopback, as `mandate witness serve` does. */

import { startHttpServer } from '../../../adapters/http/server/server.ts';
import { witnessApp } from '../../../adapters/http/witness/witness-app.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { type CapturedLog, capturedLog } from '../captured-log.ts';
import type { MovedClock } from '../moved-clock.ts';
import { type TestWitness, testWitness } from './test-witness.ts';

export interface ServedWitness extends TestWitness {
  readonly url: string;
  readonly log: CapturedLog;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function servedWitness(name?: string, clock?: MovedClock): Promise<ServedWitness> {
  const witness = await testWitness(name, clock);
  const log = capturedLog();
  const at = { host: '127.0.0.1', port: await freePort() };
  const clockReadiness = { name: 'clock', check: () => witness.watching.readiness.check() };
  const start = () =>
    startHttpServer(at, {
      ...witnessApp({
        cosign: (body) => witness.cosign(body),
        readiness: [witness.file.readiness, clockReadiness],
        log,
      }),
      log,
    });
  let server = await start();
  return Object.assign(Object.create(witness) as TestWitness, {
    log,
    url: `http://127.0.0.1:${at.port}`,
    goDown: () => server.stop(0),
    async comeBack() {
      server = await start();
    },
    async close() {
      await server.stop(0);
      await witness.close();
    },
  });
}
