/** Makes task tokens and their ledger entries, for an exchange and a refresh. */

import type { Agent } from '../../domain/agents/agent.ts';
import { makeTokenId, type TaskId, type TokenId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { type StatusReference, statusClaim } from '../../domain/tasks/status-list.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { TASK_TOKEN_TYPE, taskTokenClaims } from '../../domain/tasks/task-token.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Monotonic, Randomness } from '../ports/runtime.ts';
import type { KnownLists, OpenList } from './open-listed-task.ts';

/** Specification "Token exchange response". */
export interface IssuedToken {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly scope: Scope;
  /** The task grant. */
  readonly refreshToken: string;
  readonly taskId: TaskId;
  readonly taskExpiresAt: Instant;
}

export interface Minting {
  readonly signingKeys: SigningKeys;
  readonly randomness: Randomness;
  readonly issuer: string;
  /** `undefined` if there are no status lists (`Service:StatusLists:Enabled`). */
  readonly statusLists:
    | { readonly openList: OpenList; readonly knownLists: KnownLists; readonly monotonic: Monotonic }
    | undefined;
}

interface Mint {
  readonly tokenId: TokenId;
  readonly expiresIn: number;
  /**
   * Starts signing. The token must not be sent before its decision has committed.
   *
   * @param status the task's, which the token names if there are status lists
   */
  sign(status?: StatusReference): Promise<string>;
}

export function mint(
  { signingKeys, randomness, issuer, statusLists }: Minting,
  of: {
    readonly task: Task;
    readonly agent: Agent;
    /** The agents that delegated the task. */
    readonly delegators?: readonly Agent[];
    readonly scope: Scope;
    readonly instance: string | undefined;
    readonly now: Instant;
  },
): Mint {
  const tokenId = makeTokenId(randomness.ulid());
  const { claims, expiresIn } = taskTokenClaims({ issuer, tokenId, ...of });
  const statusClaims = (status: StatusReference | undefined): JsonObject =>
    statusLists === undefined || status === undefined ? {} : { status: statusClaim(issuer, status) };
  return {
    tokenId,
    expiresIn,
    sign: (status) => signingKeys.sign(TASK_TOKEN_TYPE, { ...claims, ...statusClaims(status) }),
  };
}

/** The ledger entry of a token: its task, agent, person, audience and scope. */
export function tokenEntry(
  event: 'token.issued' | 'token.refreshed',
  of: { readonly at: Instant; readonly task: Task; readonly scope: Scope; readonly tokenId: TokenId },
): LedgerEntry {
  const { task } = of;
  return {
    at: of.at,
    event,
    taskId: task.taskId,
    agentId: task.agentId,
    sponsor: task.sponsor,
    audience: task.audience,
    scope: formatScope(of.scope),
    jti: of.tokenId,
    delegationDepth: task.delegationDepth,
    decision: 'allow',
  };
}
