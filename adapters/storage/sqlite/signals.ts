/** Signals from outside on SQLite: each decision is one synchronous function, run between BEGIN IMMEDIATE and COMMIT. */

import type { SignalOccurrence, Signals } from '../../../application/ports/signals.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { LoggedOut } from '../../../domain/signals/logout-token.ts';
import { reasonsOnRecord, type SecurityAction } from '../../../domain/signals/security-event.ts';
import { type BlockKind, isOutdated } from '../../../domain/sponsors/block.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { endTasks } from './ending.ts';
import { append } from './ledger.ts';
import { rememberLogout } from './logouts.ts';

const insertSignal = `insert into accepted_signals (receiver, issuer, jti, forget_at) values (?, ?, ?, ?)
  on conflict do nothing`;

const liveTasksOf = (column: 'session_id' | 'sponsor' | 'sponsor_key') =>
  `select task_id, sponsor from tasks where ${column} = ? and state = 'live' and expires_at > ?`;
const ofSession = liveTasksOf('session_id');
const ofSubject = liveTasksOf('sponsor');
const ofSponsorKey = liveTasksOf('sponsor_key');

const findOwn = "select stated_at from sponsor_blocks where sponsor_key = ? and source = 'ssf'";
const lift = "delete from sponsor_blocks where sponsor_key = ? and source = 'ssf'";

/** An account that was disabled may be purged later, and stays refused from when it was disabled. */
const placeBlock = `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at) values (?, 'ssf', ?, ?, ?)
  on conflict (sponsor_key, source) do update set
      kind = case when excluded.kind = 'deleted' then 'deleted' else sponsor_blocks.kind end,
      stated_at = max(sponsor_blocks.stated_at, excluded.stated_at)`;

interface LiveRow {
  readonly task_id: TaskId;
  readonly sponsor: string;
}

export function sqliteSignals({ decide }: Connections): Signals {
  return {
    logOut: ({ loggedOut, remember: remembered, ...signal }) =>
      decide((run) => {
        if (!remember(run, 'logout', signal)) return { kind: 'repeated' };
        if (remembered !== undefined) rememberLogout(run, loggedOut, remembered);
        const rows = liveTasks(run, loggedOut, signal.at);
        append(run, {
          at: signal.at,
          event: 'sponsor.signal',
          sponsor: loggedOut.subject ?? onlyOne(rows.map((row) => row.sponsor)),
          decision: 'allow',
          reason: 'sponsor_logged_out',
        });
        const roots = rows.map((row) => row.task_id);
        const revokedTasks = endTasks(run, roots, { at: signal.at, reason: 'sponsor_logged_out' });
        return { kind: 'accepted', revokedTasks };
      }),

    applySecurityEvent: ({ action, ...signal }) =>
      decide((run) => {
        if (!remember(run, 'ssf', signal)) return { kind: 'repeated' };
        const { sponsorKey, block, end } = action;
        const { at } = signal;
        const outdated = action.lift && !liftOwn(run, action);
        if (block !== undefined) place(run, action, block, at);
        for (const reason of reasonsOnRecord(action, outdated)) {
          append(run, { at, event: 'sponsor.signal', sponsor: sponsorKey, decision: 'allow', reason });
        }
        const kind = outdated ? 'outdated' : 'accepted';
        if (end === undefined) return { kind, revokedTasks: 0 };
        const { rows } = run<LiveRow>(ofSponsorKey, [storable('sponsor_key', sponsorKey), bindInstant(at)]);
        const roots = rows.map((row) => row.task_id);
        return { kind, revokedTasks: endTasks(run, roots, { at, reason: end }) };
      }),
  };
}

/** False when one with this `jti` was accepted before. */
function remember(run: Run, receiver: 'logout' | 'ssf', { issuer, jti, forgetAt }: SignalOccurrence): boolean {
  const values = [receiver, storable('issuer', issuer), storable('jti', jti), bindInstant(forgetAt)];
  return run(insertSignal, values).count === 1;
}

function liveTasks(run: Run, loggedOut: LoggedOut, at: Instant): readonly LiveRow[] {
  const [query, name] =
    loggedOut.kind === 'session' ? [ofSession, loggedOut.sessionId] : [ofSubject, loggedOut.subject];
  return run<LiveRow>(query, [storable(loggedOut.kind, name), bindInstant(at)]).rows;
}

/** `undefined` where there is none, or where a provider gave several people one session. */
function onlyOne(people: readonly string[]): string | undefined {
  const [person, ...others] = new Set(people);
  return others.length === 0 ? person : undefined;
}

/** False when this receiver's block was stated later, and stays. */
function liftOwn(run: Run, { sponsorKey, statedAt }: SecurityAction): boolean {
  const key = storable('sponsor_key', sponsorKey);
  const standing = run<{ stated_at: Instant }>(findOwn, [key]).rows[0];
  if (standing !== undefined && isOutdated(statedAt, standing.stated_at)) return false;
  run(lift, [key]);
  return true;
}

function place(run: Run, { sponsorKey, statedAt }: SecurityAction, kind: BlockKind, at: Instant): void {
  run(placeBlock, [storable('sponsor_key', sponsorKey), kind, bindInstant(at), bindInstant(statedAt)]);
}
