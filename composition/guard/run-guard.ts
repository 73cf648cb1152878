/**
 * Runs the guard, for both of its programs: `mandate guard` and `mandate-guard`. read-guard-file.ts reads its file, probe.ts
 * asks the upstream, and guard-log.ts writes what no event says. The guard itself is in `adapters/sdk/tool-server/guard`.
 */

import { exitCode } from '../../adapters/cli/exit-code.ts';
import { writeEvent } from '../../adapters/sdk/tool-server/core/access-event.ts';
import { StatusListUnusable } from '../../adapters/sdk/tool-server/core/status-lists.ts';
import { ControlPlaneFault } from '../../adapters/sdk/tool-server/guard/control-plane-fetch.ts';
import { type Guard, startGuard } from '../../adapters/sdk/tool-server/guard/guard.ts';
import { type GuardMetrics, guardMetrics } from '../../adapters/sdk/tool-server/guard/guard-metrics.ts';
import type { GuardConfiguration } from '../../adapters/sdk/tool-server/guard/read-configuration.ts';
import { UpstreamFault } from '../../adapters/sdk/tool-server/guard/upstream.ts';
import { listenForScrapes } from '../../adapters/telemetry/scrape-listener.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { visibleText } from '../../domain/visible.ts';
import { describeListenFault } from '../listen-faults.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { type GuardLog, guardLog } from './guard-log.ts';
import { probe } from './probe.ts';
import { readGuardFile } from './read-guard-file.ts';

export interface GuardRequest {
  /** The path of the file. */
  readonly config: string;
  /** Only check the file. */
  readonly check: boolean;
  /** Only print the public half of `approval_key`, as a key set (RFC 7517). */
  readonly approvalJwks: boolean;
  readonly probe: URL | undefined;
}

/** @throws Error with the refusal as its message */
export function readProbe(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error('--probe takes an http or https URL, without user and password.');
  }
  return url;
}

/** @throws Error with the refusal as its message */
export function refuseTogether({ check, approvalJwks }: Pick<GuardRequest, 'check' | 'approvalJwks'>): void {
  if (check && approvalJwks) throw new Error('--check and --approval-jwks exclude each other.');
}

/** @returns the exit code, after the guard has ended */
export async function runGuard({ config, check, approvalJwks, probe: url }: GuardRequest): Promise<number> {
  const file = await readGuardFile(config);
  if (file.kind === 'unusable') {
    printLines(process.stderr, file.faults);
    return exitCode.usage;
  }
  if (approvalJwks) return printApprovalJwks(config, file.approvalJwk);
  if (!check) return untilToldToStop((told) => serve(file.configuration, { config, url, told }));
  printLines(process.stdout, file.remarks);
  const probed = url && (await probe(url));
  if (probed !== undefined) printLines(probed.isOpen ? process.stderr : process.stdout, [probed.sentence]);
  return exitCode.done;
}

/** Prints what the operator of the control plane sets as `Service:Approvals:Resources:N:Jwks`. */
function printApprovalJwks(config: string, jwk: Jwk | undefined): number {
  if (jwk === undefined) {
    printLines(process.stderr, [`${config}: approval_key must be given for --approval-jwks`]);
    return exitCode.usage;
  }
  printLines(process.stdout, [JSON.stringify({ keys: [jwk] })]);
  return exitCode.done;
}

interface Run {
  readonly config: string;
  readonly url: URL | undefined;
  readonly told: Promise<void>;
}

async function serve(configuration: GuardConfiguration, { config, url, told }: Run): Promise<number> {
  const log = guardLog();
  const metrics = guardMetrics();
  let isServing = false;
  // An event that cannot be written refuses its request, and is reported there.
  process.stdout.on('error', () => undefined);
  // Until the guard listens, a hang-up must not end the process.
  const starting = start(configuration, { log, metrics, isServing: () => isServing });
  const reloads = reloadAtHangUp(starting, { config, log, metrics });
  try {
    const started = await starting;
    if (started.kind === 'failed') {
      printLines(process.stderr, started.reasons);
      return exitCode.failed;
    }
    isServing = true;
    const { mode, issuer, audience, routes } = configuration;
    log.info('listening', { ...started.guard.address, mode, issuer, audience, routes: routes.length });
    if (url !== undefined) {
      void probe(url).then(({ isOpen, sentence }) => (isOpen ? log.warn(sentence) : log.info(sentence)));
    }
    await told;
    isServing = false;
    await started.stop();
    return exitCode.done;
  } finally {
    reloads.end();
  }
}

type Started =
  | { readonly kind: 'started'; readonly guard: Guard; stop(): Promise<void> }
  | { readonly kind: 'failed'; readonly reasons: readonly string[] };

interface Surroundings {
  readonly log: GuardLog;
  readonly metrics: GuardMetrics;
  readonly isServing: () => boolean;
}

async function start(configuration: GuardConfiguration, { log, metrics, isServing }: Surroundings): Promise<Started> {
  const { listen, metricsPort } = configuration;
  let scrapes: Awaited<ReturnType<typeof listenForScrapes>> | undefined;
  if (metricsPort !== undefined) {
    const at = { host: listen.host, port: metricsPort };
    try {
      scrapes = await listenForScrapes(at, async () => metrics.text(), isServing);
    } catch (error) {
      return { kind: 'failed', reasons: [faultOf(error, at, { host: 'listen', port: 'metrics_port' }, log)] };
    }
  }
  try {
    const guard = await startGuard(configuration, {
      async onAccess(event) {
        metrics.count(event);
        await writeEvent(event);
      },
      onError: (error) => report(log, error),
    });
    const stop = async () => {
      await guard.stop();
      await scrapes?.close();
    };
    return { kind: 'started', guard, stop };
  } catch (error) {
    await scrapes?.close();
    return { kind: 'failed', reasons: [faultOf(error, listen, { host: 'listen', port: 'listen' }, log)] };
  }
}

function faultOf(
  error: unknown,
  at: { readonly host: string; readonly port: number },
  names: { readonly host: string; readonly port: string },
  log: GuardLog,
): string {
  const fault = describeListenFault(error, at, names);
  if (fault === undefined) log.error('the guard did not start', error);
  return fault ?? 'The guard did not start: the log says where.';
}

function report(log: GuardLog, error: unknown): void {
  if (error instanceof StatusListUnusable) log.warn('a status list is not usable', { problem: error.message });
  else if (error instanceof ControlPlaneFault) log.warn(error.message);
  else if (error instanceof UpstreamFault) log.error(error.message);
  else log.error('an unexpected error', error);
}

/** At SIGHUP reads the file again. A file with faults, or with fields that cannot change, changes nothing. */
function reloadAtHangUp(
  starting: Promise<Started>,
  { config, log, metrics }: Omit<Surroundings, 'isServing'> & { readonly config: string },
): { end(): void } {
  const reload = async (): Promise<void> => {
    const started = await starting;
    if (started.kind === 'failed') return;
    const file = await readGuardFile(config);
    const fixed = file.kind === 'usable' ? started.guard.reload(file.configuration) : [];
    const reasons =
      file.kind === 'usable'
        ? fixed.map((field) => `${config}: ${field} cannot change while the guard runs: start it again.`)
        : file.faults;
    metrics.reloaded(reasons.length === 0 ? 'used' : 'refused');
    if (reasons.length === 0) log.info('the file was read again, and is used');
    else {
      log.warn('the file was read again, and is refused: the earlier one is still used');
      for (const reason of reasons) log.warn(reason);
    }
  };
  // One after another, so that the last file wins.
  let reloading = Promise.resolve();
  const hangUp = (): void => {
    reloading = reloading.then(reload).catch((error: unknown) => log.error('the file was not read again', error));
  };
  process.on('SIGHUP', hangUp);
  return { end: () => void process.off('SIGHUP', hangUp) };
}

function printLines(stream: NodeJS.WritableStream, lines: readonly string[]): void {
  for (const line of lines) stream.write(`${visibleText(line)}\n`);
}
