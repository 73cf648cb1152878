/** A registered agent (specification "Agent registration"). */

import type { AgentId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';
import type { MayActName } from './may-act-name.ts';
import type { JwkSet } from './public-key.ts';

/** The longest chain of agents that a token may have (specification "Agent registration"). */
export const MAX_DELEGATION_DEPTH = 5;

/**
 * The limits that an operator sets for an agent. Only `judgeRegistration` makes a Registration, so every one is valid.
 */
export interface Registration {
  readonly agentId: AgentId;
  readonly displayName: string;
  readonly sponsorRequired: true;
  readonly allowedScopes: Scope;
  readonly allowedAudiences: readonly string[];
  /** Seconds. */
  readonly maxTaskTtl: number;
  /** Seconds. */
  readonly maxTokenTtl: number;
  /** 1 to `MAX_DELEGATION_DEPTH`. */
  readonly maxDelegationDepth: number;
  readonly highRiskAudiences: readonly string[];
  readonly keys: AgentKeySource;
  /** How the identity provider names the agent in `may_act`: 1 to 16, or `undefined` if only its id names it. */
  readonly mayActNames: readonly MayActName[] | undefined;
  /**
   * Where answers of `/oauth2/authorize` may go: 1 to 16, or `undefined` for none. A client's document has its own, which
   * count in place of these.
   */
  readonly redirectUris: readonly string[] | undefined;
  /** Whether the agent may redeem a code by PKCE alone (RFC 6749 §2.1). A client's document says so itself. */
  readonly publicClient: boolean;
  /** The URL of its client metadata document, which is also its `client_id`. No two agents have one URL. */
  readonly clientIdDocument: string | undefined;
  /** Names under which programs register themselves: 1 to 16. A name that ends in `*` is a prefix. */
  readonly clientNames: readonly string[] | undefined;
  /** The agents that it may hand work to, itself if named: 1 to 100, or `undefined` for none. */
  readonly delegatesTo: readonly AgentId[] | undefined;
  readonly enabled: boolean;
}

export type AgentKeySource =
  | { readonly kind: 'inline'; readonly jwks: JwkSet }
  | { readonly kind: 'remote'; readonly uri: string }
  /** Only of an agent with `publicClient` or `clientIdDocument`. No assertion authenticates it by its registration. */
  | { readonly kind: 'none' };

export interface Agent extends Registration {
  /**
   * Each change adds one; decisions name the revision they are based on. The first revision is the time of the
   * registration in microseconds. An id that is deleted and registered again therefore never repeats a revision.
   */
  readonly revision: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** The time of the last change of `keys`. A remote set may change without this. */
  readonly keysSince: Instant;
}
