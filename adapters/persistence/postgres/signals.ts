/** Signals from outside on Postgres: each decision is one of the functions of `migrations/0008-signals.ts`. */

import type { SignalOccurrence, SignalResult, Signals } from '../../../application/ports/signals.ts';
import type { Bound } from '../sql/column.ts';
import { storable, storableOrNull } from '../sql/text.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Prepared, Run } from './connections.ts';
import { parameters } from './entry.ts';

const acceptLogout = { name: 'accept_logout', text: `select accept_logout(${parameters(1, 6)}) as revoked_tasks` };

const acceptSecurityEvent = {
  name: 'accept_security_event',
  text: `select accept_security_event(${parameters(1, 9)}) as revoked_tasks`,
};

export function postgresSignals({ run }: Connections): Signals {
  return {
    logOut: ({ loggedOut, ...signal }) =>
      accept(run, acceptLogout, [
        ...occurrence(signal),
        storableOrNull('subject', loggedOut.subject),
        storableOrNull('session_id', loggedOut.kind === 'session' ? loggedOut.sessionId : undefined),
      ]),

    applySecurityEvent: ({ action, ...signal }) =>
      accept(run, acceptSecurityEvent, [
        ...occurrence(signal),
        storable('sponsor_key', action.sponsorKey),
        action.reasons.join(' '),
        action.lift,
        action.block ?? null,
        action.end ?? null,
      ]),
  };
}

function occurrence({ issuer, jti, forgetAt, at }: SignalOccurrence): readonly Bound[] {
  return [storable('issuer', issuer), storable('jti', jti), bindInstant(forgetAt), bindInstant(at)];
}

async function accept(run: Run, statement: Prepared, values: readonly Bound[]): Promise<SignalResult> {
  const { rows } = await run<{ revoked_tasks: number | null }>(statement, values);
  const revokedTasks = rows[0]?.revoked_tasks;
  if (revokedTasks === undefined) throw new Error('a signal was decided without an outcome');
  return revokedTasks === null ? { kind: 'repeated' } : { kind: 'accepted', revokedTasks };
}
