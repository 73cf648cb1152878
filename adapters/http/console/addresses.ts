/** Addresses of the console's screens. */

import type { ApprovalState } from '../../../domain/approvals/approval.ts';
import { fillPath } from '../browser/paths.ts';

/** The paths of the screens to which other screens link: each file would otherwise import the other. */
export const screenPaths = {
  now: '/',
  tasks: '/tasks',
  task: '/tasks/:taskId',
  record: '/tasks/:taskId/records/:seq',
  delegation: '/delegation',
  agents: '/agents',
  agent: '/agents/:agentId',
  people: '/people',
  approvals: '/approvals',
  ledger: '/ledger',
  checkpoints: '/ledger/checkpoints',
  stop: '/stop',
} as const;

/** Selects the tasks of a screen or of the kill switch. */
export interface About {
  readonly task_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly sponsor?: string | undefined;
  readonly audience?: string | undefined;
}

/** The kill switch also ends all tasks of all people. */
type AboutStop = About | { readonly everything: 'yes' };

export const agentPath = (agentId: string) => fillPath(screenPaths.agent, { agentId });
export const taskPath = (taskId: string) => fillPath(screenPaths.task, { taskId });
export const recordPath = (taskId: string, seq: number) => fillPath(screenPaths.record, { taskId, seq });
export const delegationPath = (about: About) => withQuery(screenPaths.delegation, about);
export const personPath = (sponsor: string) => withQuery(screenPaths.people, { sponsor });
/** Tasks as a list, the newest first. */
export const tasksPath = (about: About & { readonly state?: string | undefined }) =>
  withQuery(screenPaths.tasks, about);

/** Approvals as a list, the newest first. */
export const approvalsPath = (about: Pick<About, 'agent_id' | 'sponsor'> & { readonly state?: ApprovalState }) =>
  withQuery(screenPaths.approvals, about);

/** The fields of a search in the ledger. */
export type LedgerSearch = Readonly<
  Partial<
    Record<
      'from' | 'to' | 'event' | 'decision' | 'reason' | 'sponsor' | 'agent_id' | 'task_id' | 'audience' | 'order',
      string
    >
  >
>;
/** Records of the ledger, which the browser can verify there. */
export const ledgerPath = (search: LedgerSearch) => withQuery(screenPaths.ledger, search);
/** The form that ends tasks. It first says how many, and asks for a reason. */
export const stopPath = (about: AboutStop) => withQuery(screenPaths.stop, about);

/** Parameters without a value are left out. */
export function withQuery(path: string, parameters: Readonly<Record<string, string | undefined>> | AboutStop): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}
