/** Spans of the service (`Service:Traces:Enabled`): of its jobs, and of its calls to the database. */

import { packageVersion } from '../adapters/platform/package-version.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { inSpan, tracedStorage } from '../adapters/telemetry/spans.ts';
import type { Log, Tracing } from '../application/ports/telemetry.ts';
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

/** The shared storage. If spans are on, each call is a span of the request or job that makes it. */
export function storageOf({
  sharedStorage,
  tracing,
  settings,
}: {
  readonly sharedStorage: Storage;
  readonly tracing: Tracing | undefined;
  readonly settings: Settings;
}): Storage {
  if (tracing === undefined) return sharedStorage;
  const system = databaseChoice(settings).provider === 'postgres' ? 'postgresql' : 'sqlite';
  return tracedStorage(sharedStorage, tracing, system);
}

/** A job; with spans, its run is the root of a trace. */
export function tracedJob(tracing: Tracing | undefined, name: string, run: () => Promise<void>): Promise<void> {
  return tracing === undefined ? run() : inSpan(tracing, { name, kind: 'internal' }, run);
}
