/** The running service: opens its parts in order, and closes them in reverse (supplement "How it runs"). */

import type { HttpServer, HttpServerOptions, TimeLimits } from '../adapters/http/server/server.ts';
import { httpNetwork } from '../adapters/platform/http-network.ts';
import { systemClock } from '../adapters/platform/system-clock.ts';
import { systemRandomness } from '../adapters/platform/system-crypto.ts';
import { proxyFromEnvironment } from '../adapters/platform/tunnel.ts';
import type { Storage, StorageSurroundings } from '../adapters/storage/storage.ts';
import { outageLog } from '../adapters/telemetry/outage-log.ts';
import { tracedNetwork } from '../adapters/telemetry/spans.ts';
import type { TrustedChain } from '../application/ledger/trusted-chain.ts';
import { StorageUnavailable } from '../application/ports/decisions.ts';
import { type Network, NetworkFailure } from '../application/ports/network.ts';
import type { Clock, Monotonic } from '../application/ports/runtime.ts';
import type { Log } from '../application/ports/telemetry.ts';
import { loadClientSecret } from './client-secret.ts';
import { describeOldSchema } from './database-refusals.ts';
import { sharedKeyFiles } from './key-files.ts';
import { listen } from './listen.ts';
import { openMetrics, type Published, publishOnPort } from './metrics.ts';
import { openStorage, refuseMissingFile } from './open-storage.ts';
import { type Jobs, startRecurring } from './recurring.ts';
import { consoleChoice, isMeOpen, transmitterChoice } from './settings/alternatives.ts';
import { ambiguousAudiences, repeatedSecrets } from './settings/rules.ts';
import type { Settings } from './settings/settings.ts';
import { loadNoteSigner, loadSigningKeys } from './signing.ts';
import { StartupError } from './startup-error.ts';
import { openTracing } from './traces.ts';

/** The service's environment; tests pass their own clock. */
interface Surroundings {
  readonly log: Log;
  readonly clock?: Clock;
  readonly monotonic?: Monotonic;
  /** Replaces the clock of the Postgres server, which tests cannot move. */
  readonly databaseClock?: Clock | undefined;
  readonly network?: Network;
  /**
   * How long a stop continues to accept requests, in milliseconds; each response then closes its connection. 0 by
   * default.
   */
  readonly lingerMs?: number;
  /** Time limits for clients. */
  readonly timeLimits?: TimeLimits;
}

interface Service {
  readonly host: string;
  readonly port: number;
  readonly storage: Storage;
  /** The background jobs, for tests to run at once. */
  readonly jobs: Jobs;
  /** Finishes running requests and jobs, then closes everything. */
  stop(): Promise<void>;
}

const NO_LOG = 'the database could not store yet which keys sign the transparency log';
const NOT_EXAMINED = 'the database did not show its newest checkpoint yet';
const NOT_QUEUEING = 'the database could not store yet whether records are queued for a sink';

/** @throws StartupError for an unusable signing key or a schema that is not current */
export async function startService(settings: Settings, surroundings: Surroundings): Promise<Service> {
  const {
    clock = systemClock(),
    monotonic = () => performance.now(),
    databaseClock,
    lingerMs = 0,
    timeLimits,
  } = surroundings;
  const log = outageLog(surroundings.log, monotonic);
  const tracing = await openTracing(settings, log);
  const { network: bare = httpNetwork() } = surroundings;
  const network = tracing === undefined ? bare : tracedNetwork(bare, tracing);
  const shared = await sharedKeyFiles(settings);
  if (shared.length > 0) throw new StartupError(shared);
  const signingKeys = await loadSigningKeys(settings, log);
  const noteSigner = await loadNoteSigner(settings, signingKeys);
  const clientSecret = await loadClientSecret(settings, 'Service:Me:ClientSecret:Path');
  const consoleSecret = await loadClientSecret(settings, 'Service:Operators:ClientSecret:Path');
  const words = settings['Service:Me:ScopeDescriptions'];
  const scopeWords = words === undefined ? new Map() : await (await import('./scope-words.ts')).loadScopeWords(words);
  warnOfRepeatedSecrets(settings, log);
  warnOfAmbiguousAudiences(settings, log);
  warnOfEventSubjects(settings, log);
  announceProxy(settings, log);
  refuseMissingFile(settings);
  const opening = openDatabase(settings, { clock, log, databaseClock });
  // Load most of the code while the database opens: opening waits for another thread or another machine.
  const loading = Promise.all([
    import('./container.ts'),
    import('../adapters/http/app.ts'),
    isMeOpen(settings) ? import('./me.ts') : undefined,
    consoleChoice(settings) === undefined ? undefined : import('./console.ts'),
    noteSigner === undefined ? undefined : import('./transparency-log.ts'),
  ]);
  // If the database fails first, nothing awaits this promise: its rejection must not be unhandled.
  loading.catch(() => undefined);
  const { opened, isThere } = await opening;
  let published: Published | undefined;
  const servers: HttpServer[] = [];
  try {
    const [{ wire }, { httpApp }, me, consolePages, logCode] = await loading;
    const metrics = await openMetrics(settings);
    const randomness = systemRandomness();
    const measurements = metrics?.measurements;
    const {
      surfaces,
      console: consoleApp,
      jobs,
      observed,
      trustedChain,
      transparencyLog,
      ...others
    } = wire({
      ...{
        settings,
        clock,
        monotonic,
        randomness,
        log,
        network,
        measurements,
        tracing,
        opened,
        signingKeys,
        noteSigner,
      },
      openLog: logCode?.transparencyLog,
      openMe: me && ((parts) => me.openMe(parts, { clientSecret, scopeWords })),
      openConsole: consolePages && ((parts) => consolePages.openConsole(parts, consoleSecret)),
    });
    const { providerKeys, transmitterKeys, operatorKeys, recordStream, anonymousDenials } = others;
    // Before the first request: records are queued if there is a sink, which so gets all of this instance. A job repeats it.
    const queueingIsSet = isThere && (await answers(jobs.setQueueing(), NOT_QUEUEING, log));
    // Before the first pass, so that the process remembers the ledger as it was at the start.
    if (isThere) await answers(examined(trustedChain), NOT_EXAMINED, log);
    if (isThere && transparencyLog !== undefined) await answers(transparencyLog.start(), NO_LOG, log);
    metrics?.observe(observed);
    published = metrics && (await publishOnPort(settings, metrics));
    const limits = timeLimits === undefined ? {} : { limits: timeLimits };
    servers.push(await listen(settings, { ...httpApp(surfaces), log, ...limits }));
    if (consoleApp !== undefined) servers.push(await listenForConsole(settings, { ...consoleApp, log, ...limits }));
    // A slow or unreachable provider delays readiness, not the start.
    for (const keys of [providerKeys, transmitterKeys, operatorKeys]) void keys?.start();
    const recurring = jobs.recurring(queueingIsSet).map((pass) => startRecurring(pass, log));
    const { host = settings.HOST, port = settings.PORT } = servers[0]?.address ?? {};
    log.info('listening', { host, port, issuer: settings['Service:Issuer'] });
    return {
      ...{ host, port, storage: opened, jobs },
      async stop() {
        log.info('stopping: no new requests, finishing those under way');
        recordStream?.close();
        await Promise.all([...servers.map((server) => server.stop(lingerMs)), ...recurring.map((pass) => pass.stop())]);
        for (const keys of [providerKeys, transmitterKeys, operatorKeys]) keys?.stop();
        // All requests and jobs have ended, so no further denial is counted or written.
        await anonymousDenials.closeAll();
        await published?.close();
        await opened.close();
        log.info('stopped');
      },
    };
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop(0)));
    await published?.close();
    await opened.close();
    throw error;
  }
}

/** On a separate port, so that network rules can decide who may reach it. @throws StartupError */
function listenForConsole(settings: Settings, options: HttpServerOptions): Promise<HttpServer> {
  const { HOST, 'Service:Console:Port': PORT = 0 } = settings;
  return listen({ HOST, PORT }, options, { host: 'HOST', port: 'Service:Console:Port' });
}

function warnOfRepeatedSecrets(settings: Settings, log: Log): void {
  for (const keys of repeatedSecrets(settings)) {
    log.warn('one secret is in several settings: its holder can use all of them', {
      settings: keys.join(', '),
    });
  }
}

function warnOfAmbiguousAudiences(settings: Settings, log: Log): void {
  for (const setting of ambiguousAudiences(settings)) {
    log.warn(
      "an audience is the same as Service:UpstreamIdp:Audience: a token of the provider for it can pass as a person's access token",
      { setting },
    );
  }
}

/** Specification "POST /events": the value of a subject is the sponsor key, for any configured claim. */
function warnOfEventSubjects(settings: Settings, log: Log): void {
  if (transmitterChoice(settings) === undefined || settings['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub') return;
  log.warn(
    'Service:UpstreamIdp:SponsorKeyClaim is not sub: in security events, the sub of an iss_sub subject must be the value of that claim',
  );
}

/** @throws StartupError for a proxy that cannot be used: every request to the identity provider would fail */
function announceProxy(settings: Settings, log: Log): void {
  const provider = settings['Service:UpstreamIdp:Issuer'] ?? settings['Service:UpstreamIdp:MetadataUrl'];
  if (provider === undefined) return;
  try {
    const proxy = proxyFromEnvironment(new URL(provider));
    if (proxy !== undefined) log.info('the identity provider is asked through a proxy', { proxy: proxy.host });
  } catch (error) {
    throw error instanceof NetworkFailure ? new StartupError([error.message]) : error;
  }
}

/** @throws StartupError for a schema that is not current */
async function openDatabase(
  settings: Settings,
  surroundings: StorageSurroundings,
): Promise<{ readonly opened: Storage; readonly isThere: boolean }> {
  const opened = await openStorage(settings, surroundings, true);
  try {
    const isThere = await answers(refuseOldSchema(opened), 'the database does not answer yet', surroundings.log);
    return { opened, isThere };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function examined(chain: TrustedChain): Promise<void> {
  await chain.examine();
}

/** The service does not write to an unknown schema. @throws StartupError */
async function refuseOldSchema(storage: Storage): Promise<void> {
  const status = await storage.schemaStatus();
  if (status !== 'current' && status !== 'ahead') throw new StartupError([describeOldSchema(status)]);
}

/**
 * Whether the database answered. If it is unreachable, the service starts but is not ready.
 *
 * @param message the log message if the database did not answer
 */
async function answers(work: Promise<void>, message: string, log: Log): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    log.error(message, error);
    return false;
  }
}
