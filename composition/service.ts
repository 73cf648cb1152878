/**
 * The running service: opens its parts in order, and closes them in reverse (supplement "How it runs").
 *
 * main.ts checks Node's version, `commands` reads the line, and `commands/serve.ts` reads the settings (`settings`) and
 * starts the service. It loads the files that the settings name (`files`), opens the database (open-storage.ts), and lets
 * container.ts create all other parts (parts.ts). http.ts binds the use cases to the HTTP surfaces. receivers.ts,
 * operators.ts, transparency-log.ts and `pages` (`/me` and the console) bind those that are optional. Then it listens
 * (listen.ts), and starts the jobs (jobs.ts, recurring.ts). `doctor` binds the examinations of `mandate doctor`.
 */

import type { HttpApp, HttpSurfaces } from '../adapters/http/app.ts';
import type { HttpServer, HttpServerOptions, ServerLimits } from '../adapters/http/server/server.ts';
import { httpNetwork } from '../adapters/platform/http-network.ts';
import { systemClock } from '../adapters/platform/system-clock.ts';
import { systemRandomness } from '../adapters/platform/system-crypto.ts';
import type { Storage, StorageSurroundings } from '../adapters/storage/storage.ts';
import { outageLog } from '../adapters/telemetry/outage-log.ts';
import type { ServiceMetrics } from '../adapters/telemetry/service-metrics.ts';
import { tracedNetwork } from '../adapters/telemetry/spans.ts';
import type { TrustedChain } from '../application/ledger/trusted-chain.ts';
import { StorageUnavailable } from '../application/ports/decisions.ts';
import type { Network } from '../application/ports/network.ts';
import type { Clock, Monotonic } from '../application/ports/runtime.ts';
import type { Log } from '../application/ports/telemetry.ts';
import { describeOldSchema } from './database-refusals.ts';
import { loadClientSecret } from './files/client-secret.ts';
import { sharedKeyFiles } from './files/key-files.ts';
import { loadNoteSigner, loadSigningKeys } from './files/signing.ts';
import { hostToListenOn, listen } from './listen.ts';
import { openMetrics, type Published, publishOnPort } from './metrics.ts';
import { loadStorage, type OpenStorage, refuseMissingFile } from './open-storage.ts';
import type { Parts } from './parts.ts';
import { type Jobs, startRecurring } from './recurring.ts';
import { remarkOn } from './remarks.ts';
import { consoleChoice, isMeOpen, logChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';
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
  readonly timeLimits?: Partial<ServerLimits>;
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
  const failed = new AbortController();
  const { network: bare = httpNetwork({ signal: failed.signal }) } = surroundings;
  const network = tracing === undefined ? bare : tracedNetwork(bare, tracing);
  const files = await loadFiles(settings, log);
  const { signingKeys, noteSigner } = files;
  remarkOn(settings, log);
  refuseMissingFile(settings);
  const open = await loadStorage(settings);
  const opening = openDatabase(open, { clock, log, databaseClock });
  // Load most of the code while the database opens: opening waits for another thread or another machine.
  const loading = loadCode(settings);
  // If the database fails first, nothing awaits this promise: its rejection must not be unhandled.
  loading.catch(() => undefined);
  const { opened, isThere } = await opening;
  try {
    const { wire, httpApp, me, authorize, consolePages, transparencyLog: openLog } = await loading;
    const metrics = await openMetrics(settings);
    const parts = wire({
      settings,
      clock,
      monotonic,
      randomness: systemRandomness(),
      log,
      network,
      measurements: metrics?.measurements,
      tracing,
      opened,
      signingKeys,
      noteSigner,
      openLog,
      openMe: me && ((needed) => me.openMe(needed, files)),
      openAuthorize: authorize && ((needed) => authorize.openAuthorize(needed, files)),
      openConsole: consolePages && ((needed) => consolePages.openConsole(needed, files.consoleSecret)),
    });
    return await run(parts, { httpApp, metrics, isThere, lingerMs, timeLimits });
  } catch (error) {
    await opened.close();
    // A fetch of keys that gets no answer would keep the process for seconds.
    failed.abort();
    throw error;
  }
}

interface Running {
  readonly httpApp: (surfaces: HttpSurfaces) => HttpApp;
  readonly metrics: ServiceMetrics | undefined;
  /** Whether the database has answered. */
  readonly isThere: boolean;
  readonly lingerMs: number;
  readonly timeLimits: Partial<ServerLimits> | undefined;
}

async function run(parts: Parts, { httpApp, metrics, isThere, lingerMs, timeLimits }: Running): Promise<Service> {
  const { log, opened, jobs, trustedChain, transparencyLog, recordStream, console: consoleApp } = parts;
  const settings = { ...parts.settings, HOST: await hostToListenOn(parts.settings.HOST, log) };
  const keySets = [parts.providerKeys, parts.transmitterKeys, parts.operatorKeys];
  // Fetch the keys while the database is examined. A slow or unreachable provider delays readiness, not the start.
  for (const keys of keySets) void keys?.start();
  void parts.approvalKeys?.start();
  let queueingIsSet = false;
  let published: Published | undefined;
  const servers: HttpServer[] = [];
  try {
    // With a sink, set queueing before the first request: otherwise the sink misses this instance's first records.
    queueingIsSet = isThere && (await answers(jobs.setQueueing(), NOT_QUEUEING, log));
    // Before the first pass, so that the process remembers the ledger as it was at the start.
    if (isThere) await answers(examined(trustedChain), NOT_EXAMINED, log);
    if (isThere && transparencyLog !== undefined) await answers(transparencyLog.start(), NO_LOG, log);
    metrics?.observe(parts.observed);
    published = metrics && (await publishOnPort(settings, metrics));
    const limits = timeLimits === undefined ? {} : { limits: timeLimits };
    servers.push(await listen(settings, { ...httpApp(parts.surfaces), log, ...limits }));
    if (consoleApp !== undefined) servers.push(await listenForConsole(settings, { ...consoleApp, log, ...limits }));
  } catch (error) {
    for (const keys of keySets) keys?.stop();
    await Promise.all(servers.map((server) => server.stop(0)));
    await published?.close();
    throw error;
  }
  const recurring = jobs.recurring(queueingIsSet).map((pass) => startRecurring(pass, log));
  const { host = settings.HOST, port = settings.PORT } = servers[0]?.address ?? {};
  log.info('listening', { host, port, issuer: settings['Service:Issuer'] });
  const [, consoleServer] = servers;
  if (consoleServer !== undefined) {
    log.info('the console is listening', { ...consoleServer.address, origin: settings['Service:Console:Origin'] });
  }
  if (published !== undefined) {
    log.info('metrics are listening', { host: settings.HOST, port: settings['Service:Metrics:Port'] });
  }
  return {
    host,
    port,
    storage: opened,
    jobs,
    async stop() {
      log.info('stopping: no new requests, finishing those under way');
      recordStream?.close();
      await Promise.all([...servers.map((server) => server.stop(lingerMs)), ...recurring.map((pass) => pass.stop())]);
      for (const keys of keySets) keys?.stop();
      // All requests and jobs have ended, so no further denial is counted or written.
      await parts.anonymousDenials.closeAll();
      await published?.close();
      await opened.close();
      log.info('stopped');
    },
  };
}

/** On a separate port, so that network rules can decide who may reach it. @throws StartupError */
function listenForConsole(settings: Settings, options: HttpServerOptions): Promise<HttpServer> {
  const { HOST, 'Service:Console:Port': PORT = 0 } = settings;
  return listen({ HOST, PORT }, options, { host: 'HOST', port: 'Service:Console:Port' });
}

/** @throws StartupError for a key or another file that cannot be used */
async function loadFiles(settings: Settings, log: Log) {
  const shared = await sharedKeyFiles(settings);
  if (shared.length > 0) throw new StartupError(shared);
  const signingKeys = await loadSigningKeys(settings, log);
  const noteSigner = await loadNoteSigner(settings, signingKeys);
  const clientSecret = await loadClientSecret(settings, 'Service:Me:ClientSecret:Path');
  const authorizeSecret = await loadClientSecret(settings, 'Service:Authorize:ClientSecret:Path');
  const consoleSecret = await loadClientSecret(settings, 'Service:Operators:ClientSecret:Path');
  const words = settings['Service:Me:ScopeDescriptions'];
  const scopeWords =
    words === undefined ? new Map() : await (await import('./files/scope-words.ts')).loadScopeWords(words);
  return { signingKeys, noteSigner, clientSecret, authorizeSecret, consoleSecret, scopeWords };
}

/** The code of a surface is loaded only if it is configured. */
async function loadCode(settings: Settings) {
  const [{ wire }, { httpApp }, me, authorize, consolePages, log] = await Promise.all([
    import('./container.ts'),
    import('../adapters/http/app.ts'),
    isMeOpen(settings) ? import('./pages/me.ts') : undefined,
    settings['Service:Authorize:ClientId'] === undefined ? undefined : import('./pages/authorize.ts'),
    consoleChoice(settings) === undefined ? undefined : import('./pages/console.ts'),
    logChoice(settings) === undefined ? undefined : import('./transparency-log.ts'),
  ]);
  return { wire, httpApp, me, authorize, consolePages, transparencyLog: log?.transparencyLog };
}

/** @throws StartupError for a schema that is not current */
async function openDatabase(
  open: OpenStorage,
  surroundings: StorageSurroundings,
): Promise<{ readonly opened: Storage; readonly isThere: boolean }> {
  const opened = await open(surroundings, true);
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
