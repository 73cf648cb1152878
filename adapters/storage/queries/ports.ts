/**
 * The ports that are the same on both engines: they only ask queries and run commands. This is their only list. An open database
 * (`../storage.ts`), the openings for auditors and the doctor, the thread of SQLite and the spans take it from here.
 */

import { operatorActs } from './acts.ts';
import { agents } from './agents.ts';
import { approvalNotices, approvals } from './approvals.ts';
import { authorizations } from './authorizations.ts';
import { transparencyLog } from './log.ts';
import type { Ask, Change } from './query.ts';
import { sessions } from './sessions.ts';
import { sponsors } from './sponsors.ts';
import { statusLists } from './status-lists.ts';
import { tasks } from './tasks.ts';
import { provisionedUsers } from './users.ts';

export function queryPorts(ask: Ask, change: Change) {
  return {
    agents: agents(ask),
    tasks: tasks(ask),
    statusLists: statusLists(ask),
    sponsors: sponsors(ask),
    sessions: sessions(ask),
    provisionedUsers: provisionedUsers(ask),
    operatorActs: operatorActs(ask),
    approvals: approvals(ask),
    authorizations: authorizations(ask),
    approvalNotices: approvalNotices(ask, change),
    transparencyLog: transparencyLog(ask, change),
  };
}

export type QueryPorts = ReturnType<typeof queryPorts>;
