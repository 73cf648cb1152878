/** Spans of the service (`Service:Traces:Enabled`), and the parts that one request uses with them. */

import type { ActedOn } from '../adapters/http/acted-on.ts';
import { packageVersion } from '../adapters/platform/package-version.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { inSpan, tracedStorage } from '../adapters/telemetry/spans.ts';
import type { explaining } from '../application/admin/explaining.ts';
import type { Log, Tracing } from '../application/ports/telemetry.ts';
import type { RequestedAct } from '../domain/operators/operator-act.ts';
import type { Parts } from './parts.ts';
import { databaseChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';

const NO_SDK =
  'Service:Traces:Enabled is true, but no OpenTelemetry SDK is registered: there are no spans. Load one with node --import.';

/** `undefined`, without loading any code for spans, if they are off. */
export async function openTracing(settings: Settings, log: Log): Promise<Tracing | undefined> {
  if (!settings['Service:Traces:Enabled']) return undefined;
  const { openTelemetryTracing } = await import('../adapters/telemetry/opentelemetry.ts');
  const tracing = openTelemetryTracing(packageVersion(), log);
  if (tracing === undefined) log.warn(NO_SDK);
  return tracing;
}

/** With spans, the storage whose calls are spans of the request or job that they belong to. */
export function storageOf({ sharedStorage, tracing, settings }: Parts): Storage {
  if (tracing === undefined) return sharedStorage;
  const system = databaseChoice(settings).provider === 'postgres' ? 'postgresql' : 'sqlite';
  return tracedStorage(sharedStorage, tracing, system);
}

/** A surface of operators: with `explain`, the decisions of a request record who asked for them. */
export function actedOn<Surface extends object>(
  storage: Storage,
  explain: ((storage: Storage, act: RequestedAct) => ReturnType<typeof explaining<Storage>>) | undefined,
  make: (storage: Storage) => Surface,
): ActedOn<Surface> {
  if (explain === undefined) return make(storage);
  return {
    ...make(storage),
    acting(act) {
      const explained = explain(storage, act);
      return { ...make(explained.storage), settle: explained.settle };
    },
  };
}

/** A job; with spans, its run is the root of a trace. */
export function tracedJob({ tracing }: Parts, name: string, run: () => Promise<void>): Promise<void> {
  return tracing === undefined ? run() : inSpan(tracing, { name, kind: 'internal' }, run);
}
