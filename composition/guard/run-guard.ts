/**
 * Runs the guard, for both of its programs: `mandate guard` and `mandate-guard`. guard-options.ts has their options.
 * read-guard-file.ts reads its file, probe.ts asks the upstream, guard-server.ts listens, event-output.ts writes the events, and
 * guard-log.ts writes the rest. The guard itself is in `adapters/sdk/tool-server/guard`.
 */

import { exitCode } from '../../adapters/cli/exit-code.ts';
import { OutputLost, writeReport } from '../../adapters/cli/standard-output.ts';
import { ApprovalFault } from '../../adapters/sdk/tool-server/core/approvals.ts';
import { UnreadableAnswer } from '../../adapters/sdk/tool-server/core/list-reader.ts';
import { StatusListUnusable } from '../../adapters/sdk/tool-server/core/status-lists.ts';
import type { GuardConfiguration } from '../../adapters/sdk/tool-server/guard/configuration.ts';
import { ControlPlaneFault } from '../../adapters/sdk/tool-server/guard/control-plane-fetch.ts';
import { type Guard, startGuard } from '../../adapters/sdk/tool-server/guard/guard.ts';
import { type GuardMetrics, guardMetrics } from '../../adapters/sdk/tool-server/guard/guard-metrics.ts';
import { ToolsWithoutPolicy } from '../../adapters/sdk/tool-server/guard/proxy-mode.ts';
import { UpstreamFault } from '../../adapters/sdk/tool-server/guard/upstream-fault.ts';
import { listenForScrapes } from '../../adapters/telemetry/scrape-listener.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { visibleText } from '../../domain/visible.ts';
import { describeListenFault } from '../listen-faults.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { type EventOutput, EventUnwritten, eventOutput } from './event-output.ts';
import { type GuardLog, guardLog } from './guard-log.ts';
import type { GuardRequest } from './guard-options.ts';
import { guardServer } from './guard-server.ts';
import { type Probed, probe } from './probe.ts';
import { readGuardFile } from './read-guard-file.ts';

/** @returns the exit code, after the guard has ended */
export async function runGuard(request: GuardRequest): Promise<number> {
  const { config, check, 'approval-jwks': approvalJwks, probe: urls } = request;
  // The reader of standard error has left. The guard goes on: nothing that is decided depends on it.
  process.stderr.on('error', () => undefined);
  const file = await readGuardFile(config);
  if (file.kind === 'unusable') return complain(file.faults);
  if (!check && !approvalJwks && urls === undefined) {
    return untilToldToStop((told) => serve(file.configuration, { config, told }));
  }
  try {
    if (approvalJwks) return await printApprovalJwks(config, file.approvalJwk);
    if (check) await printLines(file.remarks);
    return urls === undefined ? exitCode.done : await printProbed(await Promise.all(urls.map(probe)));
  } catch (error) {
    if (!(error instanceof OutputLost)) throw error;
    complain([error.message]);
    return exitCode.failed;
  }
}

/** Prints what the operator of the control plane sets as `Service:Approvals:Resources:N:Jwks`. */
async function printApprovalJwks(config: string, jwk: Jwk | undefined): Promise<number> {
  if (jwk === undefined) return complain([`${config}: approval_key must be given for --approval-jwks`]);
  await printLines([JSON.stringify({ keys: [jwk] })]);
  return exitCode.done;
}

/** Of several addresses each has its number, as in the line. No address is repeated: it could hold a secret. */
async function printProbed(probed: readonly Probed[]): Promise<number> {
  const lines = probed.map(({ isOpen, sentence }, at) => {
    const line = probed.length === 1 ? sentence : `${at + 1}. ${sentence}`;
    return { isOpen, line };
  });
  complain(lines.filter(({ isOpen }) => isOpen).map(({ line }) => line));
  await printLines(lines.filter(({ isOpen }) => !isOpen).map(({ line }) => line));
  return lines.some(({ isOpen }) => isOpen) ? exitCode.failed : exitCode.done;
}

interface Run {
  readonly config: string;
  readonly told: Promise<void>;
}

async function serve(configuration: GuardConfiguration, { config, told }: Run): Promise<number> {
  const log = guardLog();
  const metrics = guardMetrics();
  const events = eventOutput(log);
  let isServing = false;
  // An event that cannot be written refuses its request, and is reported there.
  process.stdout.on('error', () => undefined);
  // Until the guard listens, a hang-up must not end the process.
  const starting = start(configuration, { log, metrics, events, isServing: () => isServing });
  const reloads = reloadAtHangUp(starting, { config, log, metrics });
  try {
    const started = await starting;
    if (started.kind === 'failed') {
      complain(started.reasons);
      return exitCode.failed;
    }
    isServing = true;
    const { mode, audience, routes } = configuration;
    const issuer = [configuration.issuer].flat().join(' ');
    log.info('listening', { ...started.guard.address, mode, issuer, audience, routes: routes.length });
    const code = await Promise.race([told.then(() => exitCode.done), events.closed.then(() => exitCode.failed)]);
    if (code === exitCode.failed) log.error('standard output takes no more events: the guard ends');
    isServing = false;
    await started.stop();
    return code;
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
  readonly events: EventOutput;
  readonly isServing: () => boolean;
}

async function start(
  configuration: GuardConfiguration,
  { log, metrics, events, isServing }: Surroundings,
): Promise<Started> {
  const { listen, metricsPort } = configuration;
  let scrapes: Awaited<ReturnType<typeof listenForScrapes>> | undefined;
  if (metricsPort !== undefined) {
    const at = { host: listen.host, port: metricsPort };
    try {
      const isHealthy = () => isServing() && events.isWritable();
      scrapes = await listenForScrapes(at, async () => metrics.text(), isHealthy);
    } catch (error) {
      return { kind: 'failed', reasons: [faultOf(error, at, { host: 'listen', port: 'metrics_port' }, log)] };
    }
  }
  try {
    const guard = await startGuard(configuration, {
      async onAccess(event) {
        try {
          await events.write(event);
        } catch (error) {
          metrics.countUnwritten(event);
          throw error;
        }
        metrics.count(event);
      },
      onError: (error) => report(log, error),
      onUnshown: ({ bySchema, route, issuer, taskId, problem }) =>
        log.warn(
          bySchema
            ? 'a call was refused: the rules on its arguments do not allow it'
            : 'a call was refused: no person could be shown all of it',
          { route, issuer, task_id: taskId, problem },
        ),
      startServer: guardServer(log),
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
  if (error instanceof EventUnwritten) return;
  if (error instanceof StatusListUnusable) log.warn('a status list is not usable', { problem: error.message });
  else if (error instanceof ControlPlaneFault || error instanceof ToolsWithoutPolicy) log.warn(error.message);
  else if (error instanceof UpstreamFault || error instanceof ApprovalFault || error instanceof UnreadableAnswer)
    log.error(error.message);
  else log.error('an unexpected error', error);
}

/** At SIGHUP reads the file again. A file with faults, or with fields that cannot change, changes nothing. */
function reloadAtHangUp(
  starting: Promise<Started>,
  { config, log, metrics }: Pick<Surroundings, 'log' | 'metrics'> & { readonly config: string },
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

/** @throws OutputLost */
async function printLines(lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await writeReport(textOf(lines));
}

/** Says what is wrong. @returns the exit code of a file or a line that cannot be used */
function complain(lines: readonly string[]): number {
  process.stderr.write(textOf(lines));
  return exitCode.usage;
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${visibleText(line)}\n`).join('');
}
