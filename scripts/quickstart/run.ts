/** Runs the steps of the quickstart on this machine, then keeps serving until Ctrl-C. */

import { readFileSync } from 'node:fs';
import { MandateDidNotStart } from '../mandate-process.ts';
import { GRANTED } from './authority.ts';
import { keepTokenFresh } from './fresh-token.ts';
import { untilInterrupted } from './interruption.ts';
import { invite } from './invitation.ts';
import { type Stage, setStage } from './stage.ts';
import { leaveAgent } from './startable-agent.ts';
import { type Cast, tellStory } from './story.ts';
import { must, StoryBroke } from './story-broke.ts';
import { type Terminal, terminal } from './terminal.ts';

/** How much of the end of Mandate's log an error shows. */
const LOG_TAIL_CHARACTERS = 1500;
/** The shell's exit code for a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** @param program Node's arguments that run `mandate` @returns the exit code */
export async function runQuickstart(once: boolean, program?: readonly string[]): Promise<number> {
  const screen = terminal();
  let interruptions = 0;
  const interrupted = untilInterrupted(() => {
    interruptions += 1;
  });
  screen.say('Mandate: one person gives authority to one agent, for one task.');
  let stage: Stage | undefined;
  let stop = (): void => undefined;
  try {
    stage = await setStage(program);
    const fallen = stage.ended.then(() => 'fallen' as const);
    const told = await Promise.race([tellStory(stage, screen), interrupted]);
    if (told === 'interrupted') {
      return INTERRUPTED;
    }
    if (once) {
      return 0;
    }
    stop = await goOn(screen, stage, told);
    must(
      (await Promise.race([interrupted, fallen])) === 'interrupted' || interruptions > 0,
      'Mandate stopped by itself.',
    );
    return 0;
  } catch (error) {
    if (interruptions > 0) {
      return INTERRUPTED;
    }
    explain(screen, error, stage);
    return 1;
  } finally {
    stop();
    await stage?.clear();
  }
}

/** Keeps the agent's token valid, and shows access events. @returns a function that stops this */
async function goOn(screen: Terminal, stage: Stage, cast: Cast): Promise<() => void> {
  const { jira, taskTokenFile, accessLog } = stage;
  const { agent, subjectToken } = cast;
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const stop = await keepTokenFresh(task, taskTokenFile, (error) =>
    screen.refused(`The agent has stopped. ${String(error)} It can be started again, as shown above.`),
  );
  leaveAgent(stage, cast);
  invite(stage, screen, task);
  accessLog.follow((event) => screen.command(JSON.stringify(event)));
  return stop;
}

function explain(screen: Terminal, error: unknown, stage: Stage | undefined): void {
  if (error instanceof MandateDidNotStart) {
    screen.fail('Mandate did not start.', error.message);
    return;
  }
  const sentence = error instanceof StoryBroke ? error.message : String(error instanceof Error ? error.stack : error);
  const log = stage === undefined ? '' : readFileSync(stage.logFile, 'utf8').slice(-LOG_TAIL_CHARACTERS);
  screen.fail(`A step failed: ${sentence}`, log === '' ? undefined : `Mandate's log ends with:\n${log}`);
}
