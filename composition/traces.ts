/** Spans of the service (`Service:Traces:Enabled`), and the parts that one request uses with them. */

import type { Traceable } from '../adapters/http/traceable.ts';
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

export function storageWithin({ storage, tracing, settings }: Parts): Parts['storageWithin'] {
  if (tracing === undefined) return undefined;
  const system = databaseChoice(settings).provider === 'postgres' ? 'postgresql' : 'sqlite';
  return (parent) => tracedStorage(storage, { tracing, system, parent });
}

/** Makes a surface once, and with spans also for each request. */
export function traceable<Surface>(
  { storage, storageWithin: within }: Parts,
  make: (storage: Storage) => Surface,
): Traceable<Surface> {
  return { ...make(storage), within: within && ((trace) => make(within(trace))) };
}

/** The same for a surface of operators: with `explain`, the decisions of a request record who asked for them. */
export function actedOn<Surface extends object>(
  parts: Parts,
  explain: ((storage: Storage, act: RequestedAct) => ReturnType<typeof explaining<Storage>>) | undefined,
  make: (storage: Storage) => Surface,
): Traceable<Surface> {
  const { storage, storageWithin: within } = parts;
  if (explain === undefined) return traceable(parts, make);
  return {
    ...traceable(parts, make),
    acting(act, trace) {
      const explained = explain(trace === undefined || within === undefined ? storage : within(trace), act);
      return { ...make(explained.storage), settle: explained.settle };
    },
  };
}

/** A job; with spans, its run is the root of a trace. */
export function tracedJob(
  { storage, storageWithin: within, tracing }: Parts,
  name: string,
  run: (storage: Storage) => Promise<void>,
): Promise<void> {
  if (tracing === undefined || within === undefined) return run(storage);
  return inSpan(tracing, { name, kind: 'internal' }, (trace) => run(within(trace)));
}
