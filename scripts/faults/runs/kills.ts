/** Fault runs that kill processes of the service (SIGKILL), and start them again. */

import { setTimeout as pause } from 'node:timers/promises';
import { wallClock } from '../operations.ts';
import { seeded } from '../random.ts';
import type { Service } from '../service.ts';
import { type RunResult, type Testbed, type TestbedOptions, withTestbed } from '../testbed.ts';
import { crashes, unanswered, unserved } from './served.ts';

/** Every tenth kill hits a process that is still starting. */
const EARLY_EVERY = 10;
const EARLY_MS = 600;

interface RandomKillOptions extends TestbedOptions {
  readonly kills: number;
  /** The maximum time from readiness to the kill, in milliseconds. */
  readonly servesMs: number;
}

/** Kills the service at random moments, and restarts it at once. */
export function randomKills({ kills, servesMs, ...options }: RandomKillOptions): Promise<RunResult> {
  const random = seeded(options.seed);
  return withKills(options, kills, async ({ services }, nth, kill) => {
    const service = nthOf(services, nth + 1);
    if ((nth + 1) % EARLY_EVERY === 0) {
      await pause(random.below(EARLY_MS));
    } else {
      await service.untilReady();
      await pause(random.below(servesMs));
    }
    await kill(service);
    service.start();
  });
}

interface ReplicaLossOptions extends Omit<TestbedOptions, 'engine'> {
  readonly replicas: number;
  readonly kills: number;
  /** The time between two kills, in milliseconds. */
  readonly everyMs: number;
  /** The time from a kill to the restart, in milliseconds. */
  readonly awayMs: number;
}

/** Kills one of several replicas at regular intervals, while clients send to all of them. */
export function replicaLoss({ kills, everyMs, awayMs, ...options }: ReplicaLossOptions): Promise<RunResult> {
  return withKills({ ...options, engine: 'postgres' }, kills, async ({ services }, nth, kill) => {
    await pause(everyMs);
    const service = nthOf(services, nth);
    await kill(service);
    await pause(awayMs);
    service.start();
    await service.untilReady();
  });
}

type KillRound = (testbed: Testbed, nth: number, kill: (service: Service) => Promise<void>) => Promise<void>;

function withKills(options: TestbedOptions, rounds: number, round: KillRound): Promise<RunResult> {
  return withTestbed(options, async (testbed) => {
    const kills: number[] = [];
    const ends: (number | string)[] = [];
    await testbed.start();
    for (let nth = 0; nth < rounds; nth++) {
      await round(testbed, nth, async (service) => {
        kills.push(wallClock());
        ends.push(await service.end('SIGKILL'));
      });
    }
    await Promise.all(testbed.services.map((service) => service.untilReady()));
    const result = await testbed.finish();
    const { figure, losses } = unserved(result.operations);
    const all = [...result.losses, ...losses, ...unanswered(result.operations, kills), ...crashes(ends)];
    return { ...result, losses: all, figures: [figure] };
  });
}

function nthOf(services: Testbed['services'], nth: number): Service {
  return services[nth % services.length] ?? services[0];
}
