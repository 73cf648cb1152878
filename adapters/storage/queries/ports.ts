/** The ports whose methods are queries and single commands alone. */

import { operatorActs } from './acts.ts';
import { agents } from './agents.ts';
import { approvalNotices, approvals } from './approvals.ts';
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
    approvalNotices: approvalNotices(ask, change),
  };
}
