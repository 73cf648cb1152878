/**
 * What the emergency commands share: `stop`, `block`, `unblock`, `agent disable`. Each sends one change to the admin API of a
 * running service. They work without the console and without a browser. The order: check the line, read the credential, say
 * what the change ends, ask once, send, say what keeps working until when.
 */

import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { keyGivenAsSetting, readCredential } from '../../adapters/cli/admin-key.ts';
import { counted } from '../../adapters/cli/command.ts';
import { confirm } from '../../adapters/cli/confirm.ts';
import type { Emergency } from '../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { emergencySwitches } from '../../adapters/outbound/emergency-switches.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { nearest } from '../../adapters/platform/nearest.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { AdminApiFailure, type EmergencySwitches, type StopTarget } from '../../application/ports/admin-api.ts';
import { durationInWords } from '../../domain/duration.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { plusSeconds, toShortText } from '../../domain/instant.ts';
import { acceptedFor, CLOCKS_DIFFER } from '../../domain/tasks/lifetime.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import { visibleText } from '../../domain/visible.ts';
import { printError, runReport } from './run-command.ts';

/** The exit code if nothing was changed, although the service could be asked. */
export const UNCHANGED = 3;

export const EMERGENCY_EXIT_CODES = {
  [exitCode.failed]:
    'the service refused or could not be reached: whether it took effect is unknown; run the command again',
  [exitCode.usage]: 'an argument is wrong, there is no credential, or no terminal to ask at: nothing was sent',
} as const;

/** `undefined`: there is nothing to say. */
type Line = string | Promise<string | undefined>;

interface Act {
  /** Ends with a question mark. */
  readonly question: string;
  /** Whose live tasks the change ends. The operator reads before the question how many these are, and whether the name is unknown. */
  readonly ends?: StopTarget | undefined;
  /**
   * Sends the change. Returns what to report, and the exit code. The operator reads each line as soon as it is there: a
   * later one may wait for a slow service.
   */
  send(switches: EmergencySwitches): Promise<{ readonly code: number; readonly lines: readonly Line[] }>;
}

export function runEmergency(
  { server, reason, keyFile, yes }: Emergency,
  overrides: readonly SettingArgument[],
  { question, ends, send }: Act,
): Promise<number> {
  return runReport(async () => {
    const misplaced = keyGivenAsSetting(overrides);
    if (misplaced !== undefined) return refuse(misplaced);
    if (!yes && process.stdin.isTTY !== true) return refuse(NO_TERMINAL);
    const file = keyFile === undefined ? undefined : { text: await readFile(keyFile, 'utf8').catch(() => undefined) };
    const reading = await readCredential({ environment: process.env, stdin: process.stdin }, file);
    if (reading.kind === 'refused') return refuse(reading.sentence);
    const { credential, isToken } = reading;
    if (isToken && reason === undefined) {
      return refuse("With an operator's access token --reason is needed. The ledger keeps its hash.");
    }
    try {
      const switches = emergencySwitches({ server, credential, network: httpNetwork(), pause }, reason);
      if (!yes) {
        if (ends !== undefined) for (const line of await describeTarget(switches, ends)) printError(line);
        const answer = await confirm(`At ${server}: ${question}`, process);
        if (answer === 'no_terminal') return refuse(NO_TERMINAL);
        if (answer === 'no') {
          printError('Nothing was changed.');
          return UNCHANGED;
        }
      }
      const { code, lines } = await send(switches);
      for (const line of lines) {
        const text = await line;
        if (text !== undefined) process.stdout.write(`${text}\n`);
      }
      return code;
    } catch (error) {
      if (!(error instanceof AdminApiFailure)) throw error;
      printError(error.message);
      return exitCode.failed;
    }
  });
}

const NO_TERMINAL = 'There is no terminal to ask at: give --yes to do it without a question.';

const OFFERED = 3;

/** What an operator should know before the question. Nothing of it is needed: the service may be slow, or list no tasks. */
export async function describeTarget(
  switches: Pick<EmergencySwitches, 'look'>,
  target: StopTarget,
): Promise<readonly string[]> {
  // Its number of live tasks would tell nothing, and reading it would delay the stop.
  if (target.kind === 'task') return [];
  const { live, peopleInstead } = await switches.look(target);
  if (target.kind === 'person' && peopleInstead !== undefined) {
    const meant = nearest(target.sponsorKey, peopleInstead, OFFERED).map(visibleText);
    const offered = meant.length === 0 ? '' : ` Did you mean ${meant.join(', ')}?`;
    return [`No task and no block names ${visibleText(target.sponsorKey)}: check the spelling.${offered}`];
  }
  if (live === undefined) return [];
  const below = live.mayHaveBelow ? ', and those that were delegated from them' : '';
  return [`${counted(live.tasks, 'live task')}${live.hasMore ? ' or more' : ''}${below}.`];
}

function refuse(sentence: string): number {
  printError(sentence);
  return exitCode.usage;
}

/** Printed where no task ended: the service cannot tell a mistyped person from one without tasks. */
export const CHECK_SPELLING = 'If you expected one, check the spelling of the person.';

/**
 * Says which tokens keep working until when, if there are any.
 *
 * @param tasks how many live tasks the change ended. If it ended none, only a task that ended before may have tokens
 */
export function lastTokens(switches: EmergencySwitches, target: StopTarget, tasks: number): Line {
  return tasks > 0 ? tokensWork(switches, agentOf(target)) : earlierTokensWork(switches, target);
}

const agentOf = (target: StopTarget): AgentId | undefined => (target.kind === 'agent' ? target.agentId : undefined);

/** @param agentId whose tokens; `undefined`: those of all agents */
export async function tokensWork(switches: EmergencySwitches, agentId?: AgentId): Promise<string> {
  const begin = 'A tool server that introspects refuses its tokens now, one that polls a status list within seconds.';
  return `${begin} The rest accept the last tokens ${await untilWhen(switches, agentId)}`;
}

/** A service without operators cannot be asked for ended tasks: it may have some. */
async function earlierTokensWork(switches: EmergencySwitches, target: StopTarget): Promise<string | undefined> {
  const mayHaveTokens = await switches.hasEndedTasks(target).catch(() => true);
  if (!mayHaveTokens) return undefined;
  const until = await untilWhen(switches, agentOf(target));
  return `If a task ended shortly before, tool servers that neither introspect nor poll a status list accept its tokens ${until}`;
}

async function untilWhen(switches: EmergencySwitches, agentId: AgentId | undefined): Promise<string> {
  const now = systemClock().now();
  // The change is made. Whatever this read meets does not undo it.
  const ttl = await switches.longestTokenTtl(agentId).catch(() => undefined);
  if (ttl === undefined) {
    return `until these expire: max_token_ttl of their agent at most, and ${durationInWords(CLOCK_SKEW_SECONDS)} for clocks that differ.`;
  }
  return `until ${toShortText(plusSeconds(now, acceptedFor(ttl)))} at the latest. ${CLOCKS_DIFFER}`;
}
