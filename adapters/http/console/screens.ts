/**
 * The screens of the console, in the order of the navigation. A path that no screen has gets 404. A new screen is one file
 * in `screens`, and its name here.
 */

import type { Screen } from './context.ts';
import { agentScreen } from './screens/agent.ts';
import { agentsScreen } from './screens/agents.ts';
import { approvalsScreen } from './screens/approvals.ts';
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
  approvals: approvalsScreen,
  ledger: ledgerScreen,
  checkpoints: checkpointsScreen,
  doctor: doctorScreen,
  stop: stopScreen,
} as const satisfies Readonly<Record<string, Screen>>;
