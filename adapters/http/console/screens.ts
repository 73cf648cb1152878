/**
 * The screens of the console, in the order of the navigation, and the rows that they have. A path that is not here gets
 * 404. A new screen is one file in `screens`, and its name here.
 */

import type { Screen, ScreenFeed, ScreenFileForm, ScreenForm } from './context.ts';
import { agentScreen } from './screens/agent.ts';
import { agentsScreen } from './screens/agents.ts';
import { checkpointsScreen } from './screens/checkpoints.ts';
import { delegationScreen } from './screens/delegation.ts';
import { doctorScreen } from './screens/doctor.ts';
import { ledgerScreen } from './screens/ledger.ts';
import { nowScreen } from './screens/now.ts';
import { peopleScreen } from './screens/people.ts';
import { recordScreen } from './screens/record.ts';
import { stopScreen } from './screens/stop.ts';
import { taskScreen } from './screens/task.ts';
import { tasksScreen } from './screens/tasks.ts';

export const screens = {
  now: nowScreen,
  tasks: tasksScreen,
  delegation: delegationScreen,
  agents: agentsScreen,
  agent: agentScreen,
  task: taskScreen,
  record: recordScreen,
  people: peopleScreen,
  ledger: ledgerScreen,
  checkpoints: checkpointsScreen,
  doctor: doctorScreen,
  stop: stopScreen,
} as const satisfies Readonly<Record<string, Screen>>;

export type ScreenName = keyof typeof screens;

/** A row with the screen that it belongs to. */
export type OfScreen<Row> = Row & { readonly screen: ScreenName };

export const forms: Readonly<Record<string, OfScreen<ScreenForm>>> = rowsOf((screen) => screen.forms);
export const fileForms: Readonly<Record<string, OfScreen<ScreenFileForm>>> = rowsOf((screen) => screen.fileForms);
export const feeds: Readonly<Record<string, OfScreen<ScreenFeed>>> = rowsOf((screen) => screen.feeds);

function rowsOf<Row>(read: (screen: Screen) => Readonly<Record<string, Row>> | undefined) {
  const names = Object.keys(screens) as ScreenName[];
  return Object.fromEntries(
    names.flatMap((screen) =>
      Object.entries(read(screens[screen]) ?? {}).map(([name, row]) => [name, { ...row, screen }]),
    ),
  );
}
