/** The schema's history on SQLite, oldest first. One that has been released never changes; the next one does. */

import type { Migration } from '../../sql/migrations.ts';
import { agents } from './0001-agents.ts';
import { sponsors } from './0002-sponsors.ts';
import { ledger } from './0003-ledger.ts';
import { tasks } from './0004-tasks.ts';

export const migrations: readonly Migration[] = [agents, sponsors, ledger, tasks];
