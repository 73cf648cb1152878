/**
 * What the emergency commands share: `stop`, `block`, `unblock`, `agent disable`. Each sends one change to the admin API of a
 * running service. They work without the console and without a browser. The order: check the line, ask once, read the
 * credential, send, say what keeps working until when.
 */

import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { keyGivenAsSetting, readCredential } from '../../adapters/cli/admin-key.ts';
import { confirm } from '../../adapters/cli/confirm.ts';
import type { Emergency } from '../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { emergencySwitches } from '../../adapters/outbound/emergency-switches.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { AdminApiFailure, type EmergencySwitches } from '../../application/ports/admin-api.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { plusSeconds, toShortText } from '../../domain/instant.ts';
import { printError, runReport } from './run-command.ts';

/** The exit code if nothing was changed, although the service could be asked. */
export const UNCHANGED = 3;

export const EMERGENCY_EXIT_CODES = {
  [exitCode.failed]:
    'the service refused or could not be reached: whether it took effect is unknown; run the command again',
  [exitCode.usage]: 'an argument is wrong, there is no credential, or no terminal to ask at: nothing was sent',
} as const;

type Line = string | Promise<string>;

interface Act {
  /** Ends with a question mark. */
  readonly question: string;
  /**
   * Sends the change. Returns what to report, and the exit code. The operator reads each line as soon as it is there: a
   * later one may wait for a slow service.
   */
  send(switches: EmergencySwitches): Promise<{ readonly code: number; readonly lines: readonly Line[] }>;
}

export function runEmergency(
  { server, reason, keyFile, yes }: Emergency,
  overrides: readonly SettingArgument[],
  { question, send }: Act,
): Promise<number> {
  return runReport(async () => {
    const misplaced = keyGivenAsSetting(overrides);
    if (misplaced !== undefined) return refuse(misplaced);
    const answer = yes ? 'yes' : await confirm(`At ${server}: ${question}`, process);
    if (answer === 'no_terminal')
      return refuse('There is no terminal to ask at: give --yes to do it without a question.');
    if (answer === 'no') {
      printError('Nothing was changed.');
      return UNCHANGED;
    }
    const file = keyFile === undefined ? undefined : { text: await readFile(keyFile, 'utf8').catch(() => undefined) };
    const reading = await readCredential({ environment: process.env, stdin: process.stdin }, file);
    if (reading.kind === 'refused') return refuse(reading.sentence);
    const { credential, isToken } = reading;
    if (isToken && reason === undefined) {
      return refuse("With an operator's access token --reason is needed. The ledger keeps its hash.");
    }
    try {
      const switches = emergencySwitches({ server, credential, network: httpNetwork(), pause }, reason);
      const { code, lines } = await send(switches);
      for (const line of lines) process.stdout.write(`${await line}\n`);
      return code;
    } catch (error) {
      if (!(error instanceof AdminApiFailure)) throw error;
      printError(error.message);
      return exitCode.failed;
    }
  });
}

function refuse(sentence: string): number {
  printError(sentence);
  return exitCode.usage;
}

/** Printed where no task ended: the service cannot tell a mistyped person from one without tasks. */
export const CHECK_SPELLING = 'If you expected one, check the spelling of the person.';

/** Says which tokens keep working until when. @param agentId whose tokens; `undefined`: those of all agents */
export async function lastTokens(switches: EmergencySwitches, agentId?: AgentId): Promise<string> {
  const now = systemClock().now();
  const others = 'The rest accept the last tokens';
  const begin = 'A tool server that introspects refuses its tokens now, one that polls a status list within seconds.';
  // The change is made. Whatever this read meets does not undo it.
  const ttl = await switches.longestTokenTtl(agentId).catch(() => undefined);
  if (ttl === undefined) return `${begin} ${others} until these expire: max_token_ttl of their agent at most.`;
  return `${begin} ${others} until ${toShortText(plusSeconds(now, ttl))} at the latest.`;
}
