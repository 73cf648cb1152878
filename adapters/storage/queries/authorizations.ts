/** Queries of authorizations, and the command of the effect `void_authorizations` (application/decisions/effect.ts). */

import type { Effects } from '../../../application/decisions/effect.ts';
import type { AuthorizationSelection } from '../../../application/decisions/fact.ts';
import type { Authorizations } from '../../../application/ports/authorizations.ts';
import type { Authorization, CodeHash, EndCounts } from '../../../domain/authorization/authorization.ts';
import type { AgentId, RequestId } from '../../../domain/identifiers.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import type { Dialect, Values } from '../dialect.ts';
import {
  type AuthorizationEndRow,
  type AuthorizationRow,
  IS_WAITING,
  type RecordedAuthorizationRow,
  SELECT_ENDS,
  toAuthorization,
  toEnds,
  toRecorded,
} from '../rows/authorization-row.ts';
import { storable } from '../rows/column.ts';
import { recordsOfAnswer } from '../rows/recorded.ts';
import { columnsOf, tables } from '../tables.ts';
import type { Ask, Command, Query } from './query.ts';

const COLUMNS = columnsOf(tables.authorizations).join(', ');

export const findAuthorization: Query<RequestId, Authorization | undefined> = {
  name: 'find_authorization',
  plan: 'by_index',
  text: `select ${COLUMNS} from authorizations where request_id = :request_id`,
  values: (requestId) => ({ request_id: requestId }),
  read: ([row]: readonly AuthorizationRow[]) => row && toAuthorization(row),
};

export const findByCode: Query<CodeHash, Compared<Authorization> | undefined> = {
  name: 'find_authorization_by_code',
  plan: 'by_index',
  text: (dialect) => `select ${COLUMNS}, ${recordsOfAnswer(dialect, 'authorizations')}
    from authorizations where code_hash = :code_hash`,
  values: (codeHash) => ({ code_hash: codeHash }),
  read: ([row]: readonly RecordedAuthorizationRow[]) => row && toRecorded(row),
};

export const countEnds: Query<AgentId, EndCounts> = {
  name: 'count_authorization_ends',
  plan: 'by_index',
  text: SELECT_ENDS,
  values: (agentId) => ({ agent_id: agentId }),
  read(rows: readonly AuthorizationEndRow[]) {
    const { everything, agent } = toEnds(rows);
    return { everything: everything?.count ?? 0, agent: agent?.count ?? 0 };
  },
};

/** The rows are locked in the order of their ids: two ends that select some of the same do not deadlock. */
export const voidAuthorizations: Command<Effects['void_authorizations']> = {
  text(dialect, { selection }) {
    const { where } = selected(selection, dialect);
    return `update authorizations set state = 'void', void_reason = :reason where request_id ${dialect.among(
      `select request_id from authorizations where ${IS_WAITING}${where} order by request_id ${dialect.forUpdate}`,
    )}`;
  },
  values: ({ selection, reason }, dialect) => ({ reason, ...selected(selection, dialect).values }),
  holdsWords: true,
};

function selected(
  selection: AuthorizationSelection,
  { among, texts }: Dialect,
): { readonly where: string; readonly values: Values } {
  switch (selection.kind) {
    case 'everything':
      return { where: '', values: {} };
    case 'requests':
      return {
        where: ` and request_id ${among(texts(':request_ids'))}`,
        values: { request_ids: JSON.stringify(selection.requestIds) },
      };
    case 'agent':
      return { where: ' and agent_id = :agent_id', values: { agent_id: selection.agentId } };
    case 'sponsor':
      return {
        where: ' and sponsor_key = :sponsor_key',
        values: { sponsor_key: storable('sponsor_key', selection.sponsorKey) },
      };
    case 'sponsor_agent':
      return {
        where: ' and sponsor_key = :sponsor_key and agent_id = :agent_id',
        values: { sponsor_key: storable('sponsor_key', selection.sponsorKey), agent_id: selection.agentId },
      };
    case 'session':
      return {
        where: ' and session_id = :session_id',
        values: { session_id: storable('session_id', selection.sessionId) },
      };
    case 'session_or_none':
      return {
        // Two queries, because SQLite uses no partial index for a condition with `or`: it would scan the table.
        where: ` and request_id in (
      select request_id from authorizations where ${IS_WAITING} and session_id = :session_id
      union all select request_id from authorizations where ${IS_WAITING} and sponsor = :subject and session_id is null)`,
        values: {
          session_id: storable('session_id', selection.sessionId),
          subject: storable('sponsor', selection.subject),
        },
      };
    case 'subject':
      return { where: ' and sponsor = :subject', values: { subject: storable('sponsor', selection.subject) } };
  }
}

/** After a restore. Whether a code was redeemed since the backup is lost. */
export const VOID_RESTORED = `update authorizations set state = 'void', void_reason = 'database_restored' where ${IS_WAITING}`;

export function authorizations(ask: Ask): Authorizations {
  return {
    find: (requestId) => ask(findAuthorization, requestId),
    findByCode: (codeHash) => ask(findByCode, codeHash),
    countEnds: (agentId) => ask(countEnds, agentId),
  };
}
