/** Who asked for a change, and why. Auditors read reasons (`GET /admin/acts`). */

import type { PendingLift } from '../../../../application/ports/sponsors.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { describeDifference } from '../../../../domain/ledger/compared.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';
import type { ShownAct } from '../../../../domain/operators/operator-act.ts';
import type { AdminRoute } from '../../admin/roles.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import type { ScreenContext } from '../context.ts';
import { moment } from './times.ts';
import { code } from './words.ts';

const BLOCK: AdminRoute = 'PUT /admin/sponsors/{sponsor_key}/block';
const LIFT: AdminRoute = 'DELETE /admin/sponsors/{sponsor_key}/block';
const STOPS: readonly string[] = [
  'DELETE /admin/tasks',
  'DELETE /admin/tasks/{task_id}',
  'DELETE /admin/agents/{agent_id}/tasks',
  'DELETE /admin/sponsors/{sponsor_key}/tasks',
] satisfies readonly AdminRoute[];

/** The acts that can write records of an event. An event that is not here accepts any act. */
const ACTS_OF: Readonly<Record<string, readonly string[]>> = {
  'task.revoked': [...STOPS, BLOCK],
  'sponsor.blocked': [BLOCK],
  'sponsor.unblocked': [LIFT],
};

/** The number of acts that are read for one record: few operators act at the same moment. */
const AROUND = 20;

/**
 * The acts that may explain a record, for an auditor. Usually there is one. Changes at the same moment mix the numbers of
 * their records, and then several acts match.
 */
export async function actsOf(context: ScreenContext, record: LedgerRecord): Promise<readonly ShownAct[]> {
  return context.may('auditor') ? actsFor(context, record) : [];
}

/** The acts of the record, for a role that needs them for a decision. */
export async function actsFor(
  context: Pick<ScreenContext, 'admin'>,
  { seq, event }: LedgerRecord,
): Promise<readonly ShownAct[]> {
  const found = await context.admin.listActs({ seq, limit: AROUND, cursor: undefined });
  const acts = found.kind === 'page' ? found.acts : [];
  if (event === 'operator.acted') return acts.filter((act) => act.seq === seq);
  const routes = ACTS_OF[event];
  return routes === undefined ? acts : acts.filter(({ act }) => routes.includes(act));
}

/** The number of the operator's last acts that are searched. */
const LAST_ACTS = 100;

/**
 * The act by which the first of two operators asked to lift a block. It is the operator's last request of this kind before
 * the pending lift was stored. The second operator, a responder, decides by its reason. `undefined` if the operator has
 * made more changes since.
 */
export async function actOfLift(
  { admin }: ScreenContext,
  { issuer, subject, askedAt }: PendingLift,
): Promise<ShownAct | undefined> {
  const found = await admin.listActs({ seq: undefined, subject, limit: LAST_ACTS, cursor: undefined });
  const acts = found.kind === 'page' ? found.acts : [];
  return acts.find(({ iss, act, at }) => iss === issuer && act === LIFT && at <= askedAt);
}

const ACT_WORDS: Readonly<Record<string, string>> = {
  'PUT /admin/sponsors/{sponsor_key}/block': 'Block of the person',
  'DELETE /admin/sponsors/{sponsor_key}/block': 'Request to lift the block',
  'DELETE /admin/tasks': 'Stop of all tasks of all people',
  'DELETE /admin/tasks/{task_id}': 'Stop of one task',
  'DELETE /admin/agents/{agent_id}/tasks': 'Stop of all tasks of the agent',
  'DELETE /admin/sponsors/{sponsor_key}/tasks': 'Stop of all tasks of the person',
} satisfies Partial<Record<AdminRoute, string>>;

/** `Stop of one task by olga (responder), 2026-11-24 09:30:00 UTC (3 minutes ago): “Incident 4711”` */
function actLine(stored: ShownAct, now: Instant): Html {
  const { seq, iss, sub, role, act, at, difference } = stored;
  if (difference !== undefined && difference.how !== 'archived') {
    return html`<strong>Not shown:</strong> an act of an operator, record ${seq}. ${describeDifference(difference)}`;
  }
  const what = ACT_WORDS[act] ?? code(act);
  if (role === 'key') return html`${what} by the admin key, which needs no reason, ${moment(at, now)}.`;
  return html`${what} by <strong title="${iss}">${named(sub)}</strong> (${role}), ${moment(at, now)}: ${quoted(stored)}`;
}

/** @param act as `actOfLift` has it */
export function quotedReason(act: ShownAct | undefined): Html {
  if (act === undefined)
    return html`the reason is not among this operator’s last ${LAST_ACTS} changes. Auditors can read it.`;
  return quoted(act);
}

function quoted({ reason, difference }: ShownAct): Html {
  if (difference !== undefined && reason === undefined)
    return html`the reason is not shown: it was changed in the database.`;
  const archived = difference !== undefined && html` (not compared: its record has been archived)`;
  return reason === undefined ? html`the reason has been erased.` : html`<q>${named(reason)}</q>${archived}`;
}

/** @param acts that may explain the same record */
export function actLines(acts: readonly ShownAct[], now: Instant): Insert {
  const [act, ...more] = acts;
  if (act === undefined) return undefined;
  if (more.length === 0) return html`<p class="act">${actLine(act, now)}</p>`;
  return html`<p>Several changes were recorded at this moment. It was one of:</p>
<ul class="points">${acts.map((each) => html`<li>${actLine(each, now)}</li>`)}</ul>`;
}
