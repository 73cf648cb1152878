/** Signals from outside on Postgres: each decision is one of the functions of `migrations/0008-signals.ts`. */

import type { SignalOccurrence, Signals } from '../../../application/ports/signals.ts';
import type { Bound } from '../rows/column.ts';
import { storable, storableOrNull } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Prepared, Run } from './connections.ts';
import { parameters } from './entry.ts';

const acceptLogout = { name: 'accept_logout', text: `select accept_logout(${parameters(1, 8)}) as revoked_tasks` };

const acceptSecurityEvent = {
  name: 'accept_security_event',
  text: `select revoked_tasks, outdated from accept_security_event(${parameters(1, 10)})`,
};

/** @param connections with time for ending very many tasks */
export function postgresSignals({ run }: Pick<Connections, 'run'>): Signals {
  return {
    async logOut({ loggedOut, remember, ...signal }) {
      const { revoked_tasks: revokedTasks } = await accept(run, acceptLogout, [
        ...occurrence(signal),
        storableOrNull('subject', loggedOut.subject),
        storableOrNull('session_id', loggedOut.kind === 'session' ? loggedOut.sessionId : undefined),
        remember === undefined ? null : bindInstant(remember.statedAt),
        remember === undefined ? null : bindInstant(remember.forgetAt),
      ]);
      return revokedTasks === null ? { kind: 'repeated' } : { kind: 'accepted', revokedTasks };
    },

    async applySecurityEvent({ action, ...signal }) {
      const { revoked_tasks: revokedTasks, outdated } = await accept(run, acceptSecurityEvent, [
        ...occurrence(signal),
        storable('sponsor_key', action.sponsorKey),
        bindInstant(action.statedAt),
        action.reasons.join(' '),
        action.lift,
        action.block ?? null,
        action.end ?? null,
      ]);
      if (revokedTasks === null) return { kind: 'repeated' };
      return { kind: outdated === true ? 'outdated' : 'accepted', revokedTasks };
    },
  };
}

function occurrence({ issuer, jti, forgetAt, at }: SignalOccurrence): readonly Bound[] {
  return [storable('issuer', issuer), storable('jti', jti), bindInstant(forgetAt), bindInstant(at)];
}

interface DecisionRow {
  /** Null when the signal is a repeated one. */
  readonly revoked_tasks: number | null;
  /** Not said of a logout. */
  readonly outdated?: boolean;
}

async function accept(run: Run, statement: Prepared, values: readonly Bound[]): Promise<DecisionRow> {
  const { rows } = await run<DecisionRow>(statement, values);
  if (rows[0] === undefined) throw new Error('a signal was decided without an outcome');
  return rows[0];
}
