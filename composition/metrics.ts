/** The metrics of a service and their endpoint (`Service:Metrics:Port`). */

import { packageVersion } from '../adapters/platform/package-version.ts';
import { timeLimit } from '../adapters/platform/system-clock.ts';
import type { Observed } from '../adapters/telemetry/service-gauges.ts';
import type { ServiceMetrics } from '../adapters/telemetry/service-metrics.ts';
import { type Surface, surfaces } from '../application/ports/telemetry.ts';
import { describeListenFault } from './listen-faults.ts';
import type { Parts } from './parts.ts';
import { consoleChoice, isMeOpen, logChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';

export interface Published {
  close(): Promise<void>;
}

/** `undefined`, without loading any metrics code, if no port is set. */
export async function openMetrics(settings: Settings): Promise<ServiceMetrics | undefined> {
  if (settings['Service:Metrics:Port'] === undefined) return undefined;
  const { serviceMetrics } = await import('../adapters/telemetry/service-metrics.ts');
  const isServed: Partial<Record<Surface, boolean>> = {
    approval: settings['Service:Approvals:Enabled'],
    me: isMeOpen(settings),
    authorize: settings['Service:Authorize:ClientId'] !== undefined,
    console: consoleChoice(settings) !== undefined,
    status_lists: settings['Service:StatusLists:Enabled'],
    log: logChoice(settings) !== undefined,
  };
  return serviceMetrics(
    timeLimit,
    surfaces.filter((surface) => isServed[surface] ?? true),
  );
}

/** On a separate port. @throws StartupError if it cannot listen there */
export async function publishOnPort(
  settings: Pick<Settings, 'HOST' | 'Service:Metrics:Port'>,
  { text }: Pick<ServiceMetrics, 'text'>,
): Promise<Published> {
  const { HOST: host, 'Service:Metrics:Port': port = 0 } = settings;
  const { listenForScrapes } = await import('../adapters/telemetry/scrape-listener.ts');
  try {
    return await listenForScrapes({ host, port }, text);
  } catch (error) {
    const reason = describeListenFault(error, { host, port }, { host: 'HOST', port: 'Service:Metrics:Port' });
    throw reason === undefined ? error : new StartupError([reason]);
  }
}

/** Counting stops here, as for the other gauges. */
const MOST_WAITING = 100_000;

/** The values that the gauges read at a scrape. */
export function observed(parts: Parts): Observed {
  const { storage, signingKeys, providerKeys, transmitterKeys, circuit, clock, clockWatch } = parts;
  const { limiters } = parts.admission;
  return {
    version: packageVersion(),
    now: () => clock.now(),
    aheadOfDatabase: () => clockWatch.aheadOfDatabase(),
    permits: () => Object.entries(limiters ?? {}).map(([work, { busy, waiting }]) => ({ work, busy, waiting })),
    lines: () => storage.lines(),
    backlog: () => storage.backlog(),
    waitingApprovals: async () =>
      storage.approvals.countWaiting({ now: await clockWatch.latest(), most: MOST_WAITING }),
    decisionsFail: () => storage.decisionsFail(),
    statusLists: () => storage.statusLists.usage(),
    isCircuitOpen: () => circuit?.isOpen(),
    keySets: () => [
      { owner: 'identity_provider', fetchedAt: providerKeys.lastFetchedAt() },
      { owner: 'transmitter', fetchedAt: transmitterKeys?.lastFetchedAt() },
    ],
    signingKeys: () => ({
      kids: signingKeys.published().keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])),
      active: signingKeys.checkpoints.kid,
    }),
  };
}
