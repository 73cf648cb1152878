/** Queries of authorizations (domain/authorization). All methods may throw StorageUnavailable. Decisions change them. */

import type { Authorization, CodeHash, EndCounts } from '../../domain/authorization/authorization.ts';
import type { AgentId, RequestId } from '../../domain/identifiers.ts';
import type { Compared } from '../../domain/ledger/compared.ts';

export interface Authorizations {
  /** In any state; `undefined` if it is not stored. */
  find(requestId: RequestId): Promise<Authorization | undefined>;

  /**
   * The authorization that the code was issued for, in any state, compared with the record of the person's answer; `undefined` if
   * none is stored.
   */
  findByCode(codeHash: CodeHash): Promise<Compared<Authorization> | undefined>;

  /** For a request of the agent that begins now (`keepRequest`). */
  countEnds(agentId: AgentId): Promise<EndCounts>;
}
