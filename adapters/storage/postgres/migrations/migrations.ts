/** The schema's history on Postgres, oldest first. One that has been released never changes; the next one does. */

import type { Migration } from '../../rows/migrations.ts';
import { agents } from './0001-agents.ts';
import { sponsors } from './0002-sponsors.ts';
import { ledger } from './0003-ledger.ts';
import { tasks } from './0004-tasks.ts';
import { decisions } from './0005-decisions.ts';
import { checkpoints } from './0006-checkpoints.ts';
import { signals } from './0008-signals.ts';
import { provisionedUsers } from './0009-provisioned-users.ts';
import { killSwitches } from './0010-kill-switches.ts';
import { sweeping } from './0011-sweeping.ts';

export const migrations: readonly Migration[] = [
  agents,
  sponsors,
  ledger,
  tasks,
  decisions,
  checkpoints,
  signals,
  provisionedUsers,
  killSwitches,
  sweeping,
];
