/** `mandate stop`: the kill switches of a running service. */

import { flag, value } from '../../adapters/cli/argument.ts';
import { type Command, command, counted } from '../../adapters/cli/command.ts';
import {
  type Emergency,
  emergencyOf,
  emergencyOptions,
  readAgentArgument,
  readPersonArgument,
  readTaskArgument,
} from '../../adapters/cli/emergency-options.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import type { StopTarget } from '../../application/ports/admin-api.ts';
import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import { visibleText } from '../../domain/visible.ts';
import { CHECK_SPELLING, EMERGENCY_EXIT_CODES, lastTokens, runEmergency, UNCHANGED } from './emergency.ts';

const ONE_OF = 'stop needs exactly one of --task, --agent, --person and --everything.';

export function stopCommand(): Command {
  return command({
    examples: [
      {
        line: 'stop --agent jira-triage --server https://mandate.example --reason "It loops, incident 4711"',
        meaning: 'End all tasks of an agent, after a question',
      },
      {
        line: 'stop --everything --yes --server https://mandate.example --key-file admin-key',
        meaning: 'End all tasks of all people, without a question',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the tasks have ended, or none was live',
      ...EMERGENCY_EXIT_CODES,
      [UNCHANGED]: 'nothing was changed: there is no such task or agent, or the question was not answered with yes',
    },
    options: (parser) =>
      emergencyOptions(
        parser
          .option('task', { ...value('--task', readTaskArgument), describe: 'The task_id of the task' })
          .option('agent', { ...value('--agent', readAgentArgument), describe: 'The agent_id of the agent' })
          .option('person', { ...value('--person', readPersonArgument), describe: 'The sponsor key of the person' })
          .option('everything', { ...flag, describe: 'All tasks of all people' })
          .check((given) => targetsOf(given).length === 1 || ONE_OF),
      ),
    run(options, settings) {
      const [target] = targetsOf(options);
      if (target === undefined) throw new Error(ONE_OF);
      return stop({ ...emergencyOf(options), target }, settings);
    },
  });
}

interface Given {
  readonly task?: TaskId | undefined;
  readonly agent?: AgentId | undefined;
  readonly person?: SponsorKey | undefined;
  readonly everything: boolean;
}

function targetsOf({ task, agent, person, everything }: Given): readonly StopTarget[] {
  return [
    ...(task === undefined ? [] : [{ kind: 'task', taskId: task } as const]),
    ...(agent === undefined ? [] : [{ kind: 'agent', agentId: agent } as const]),
    ...(person === undefined ? [] : [{ kind: 'person', sponsorKey: person } as const]),
    ...(everything ? [{ kind: 'everything' } as const] : []),
  ];
}

const PREVENTED = {
  task: 'Its agent may start another at once.',
  agent: 'The agent may start others at once: "mandate agent disable" prevents it.',
  person: 'Agents may start others for the person at once: "mandate block" prevents it.',
  everything: 'Agents may start others at once: "mandate agent disable" prevents it.',
} as const;

export function stop(
  { target, ...emergency }: Emergency & { readonly target: StopTarget },
  settings: readonly SettingArgument[],
): Promise<number> {
  return runEmergency(emergency, settings, {
    question: `End ${named(target)}?`,
    ends: target,
    async send(switches) {
      const outcome = await switches.stop(target);
      if (outcome.kind === 'not_found') {
        return { code: UNCHANGED, lines: [`There is no such ${target.kind}. Nothing was changed.`] };
      }
      const ended = outcome.tasks === 0 ? noneLive(target) : `${counted(outcome.tasks, 'task')} ended.`;
      return {
        code: exitCode.done,
        lines: [`${ended} ${PREVENTED[target.kind]}`, lastTokens(switches, target, outcome.tasks)],
      };
    },
  });
}

function noneLive({ kind }: StopTarget): string {
  return kind === 'person' ? `No task was live. ${CHECK_SPELLING}` : 'No task was live.';
}

function named(target: StopTarget): string {
  switch (target.kind) {
    case 'task':
      return `the task ${target.taskId}, with all delegated from it`;
    case 'agent':
      return `all tasks of the agent ${target.agentId}`;
    case 'person':
      return `all tasks for the person ${visibleText(target.sponsorKey)}`;
    case 'everything':
      return 'ALL tasks of ALL people';
  }
}
