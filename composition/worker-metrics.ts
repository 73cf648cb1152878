/** How a primary has the measures of its workers: it asks each of them, and puts together what they say. */

import type { Worker } from 'node:cluster';
import type { FleetMetrics } from '../adapters/metrics/fleet-metrics.ts';
import type { Samples } from '../adapters/metrics/service-metrics.ts';
import { listening, type Publish, type Published } from './metrics.ts';
import type { Settings } from './settings/read-settings.ts';

/** The primary's question, and a worker's answer to it. */
interface Question {
  readonly kind: 'which measures';
  readonly id: number;
  /** Whether it is this worker that asks the database which all of them share. */
  readonly database: boolean;
}
interface Answer {
  readonly kind: 'measures';
  readonly id: number;
  readonly samples: Samples;
}

/** A worker gives its database one second. One that takes much longer does nothing else either. */
const ANSWER_LIMIT_MS = 2000;

/** In a worker: whoever wants to know asks the primary, and that asks here. */
export const publishToPrimary: Publish = async (_settings, metrics) => {
  const answer = async (message: unknown): Promise<void> => {
    if (!isA<Question>(message, 'which measures')) return;
    const said: Answer = { kind: 'measures', id: message.id, samples: await metrics.samples(message.database) };
    if (process.connected) process.send?.(said, undefined, undefined, () => undefined);
  };
  process.on('message', answer);
  return { close: async () => void process.off('message', answer) };
};

/** What a primary tells of its workers. */
export interface WorkerWatch {
  began(worker: Worker): void;
  /** By itself: it is replaced. */
  ended(worker: Worker): void;
}

export interface FleetPublished extends Published {
  readonly watch: WorkerWatch;
}

/**
 * In the primary: one port for all of them; `undefined` where the settings want none.
 *
 * @param serving the workers that serve now, of `wanted`
 * @throws StartupError when the port can't be listened on
 */
export async function publishFleet(
  settings: Settings,
  serving: () => readonly Worker[],
  wanted: number,
): Promise<FleetPublished | undefined> {
  if (settings['Service:Metrics:Port'] === undefined) return undefined;
  const { fleetMetrics } = await import('../adapters/metrics/fleet-metrics.ts');
  const fleet: FleetMetrics = fleetMetrics();
  const { close } = await listening(settings, async () => fleet.text(await ask(serving()), wanted));
  return {
    close,
    watch: { began: ({ id }) => fleet.began(id), ended: ({ id }) => fleet.ended(id) },
  };
}

let lastId = 0;

/** One of them asks the database, another one the next time, so that none that is stuck hides it for long. */
async function ask(workers: readonly Worker[]): Promise<ReadonlyMap<number, Samples>> {
  lastId += 1;
  const id = lastId;
  const asking = workers.map(async (worker, at) => {
    const samples = await answerOf(worker, { kind: 'which measures', id, database: at === id % workers.length });
    return samples === undefined ? [] : [[worker.id, samples] as const];
  });
  return new Map((await Promise.all(asking)).flat());
}

/** Resolves when it answers, or will not. */
function answerOf(worker: Worker, question: Question): Promise<Samples | undefined> {
  return new Promise((resolve) => {
    const settle = (samples: Samples | undefined): void => {
      worker.off('message', hear).off('exit', gone);
      clearTimeout(patience);
      resolve(samples);
    };
    const hear = (message: unknown): void => {
      if (isA<Answer>(message, 'measures') && message.id === question.id) settle(message.samples);
    };
    const gone = (): void => settle(undefined);
    const patience = setTimeout(gone, ANSWER_LIMIT_MS);
    worker.on('message', hear).on('exit', gone);
    worker.send(question, (error) => error && gone());
  });
}

/** Both ends are this program. */
function isA<Message extends { readonly kind: string }>(message: unknown, kind: Message['kind']): message is Message {
  return typeof message === 'object' && message !== null && 'kind' in message && message.kind === kind;
}
