/**
 * The access event, written once for each decided request (specification "Tool-server contract" 5). It has exactly these
 * fields: never a token, a query string or a key. The name `tool.called` is reserved for the ledger.
 */

import { readActorChain } from '../../../../domain/tasks/actor-chain.ts';
import type { Claims } from '../../../../domain/tokens/claims.ts';
import { isJsonObject, member, textMember } from '../../../../domain/tokens/strict-json.ts';
import { visibleJson } from '../../../../domain/visible.ts';
import type { NotNeeded } from './approval-text.ts';
import type { RefusalReason } from './refusal.ts';

export interface AccessEvent {
  readonly event: 'tool.access';
  /** UTC ISO 8601. */
  readonly at: string;
  /** The route's pattern or the tool's name; null if no route or tool matches. */
  readonly route: string | null;
  readonly decision: 'allow' | 'deny';
  /** Why the request was refused; null when allowed. */
  readonly reason: RefusalReason | null;
  /**
   * The control plane, only with the option `issuers`. Unless it signed the token, this and the following fields are null or
   * absent.
   */
  readonly issuer?: string | null;
  /** The person, by the name that the control plane gives. */
  readonly sub: string | null;
  /** The agent as `agent:<agent_id>`. */
  readonly act: string | null;
  readonly depth: number | null;
  readonly task_id: string | null;
  readonly jti: string | null;
  /** The agent's own name for its process, which is not verified. */
  readonly instance?: string;
  /** Only of a call whose policy has an approval, and that needed none. */
  readonly approval?: NotNeeded;
}

/**
 * @param signed the claims of a token that its control plane signed, whether or not it was accepted
 * @param areNamed whether events name the control plane
 */
export function accessEvent(access: {
  readonly at: number;
  readonly route: string | null;
  readonly reason: RefusalReason | null;
  readonly signed: Claims | undefined;
  readonly approval?: NotNeeded | undefined;
  readonly areNamed?: boolean;
}): AccessEvent {
  const { issuer = null, subject, tokenId, json = {} } = access.signed ?? {};
  const actor = readActorChain(member(json, 'act'));
  const task = member(json, 'task');
  return {
    event: 'tool.access',
    at: new Date(access.at).toISOString(),
    route: access.route,
    decision: access.reason === null ? 'allow' : 'deny',
    reason: access.reason,
    ...(access.areNamed && { issuer }),
    sub: subject ?? null,
    act: actor?.sub ?? null,
    depth: actor?.depth ?? null,
    task_id: isJsonObject(task) ? (textMember(task, 'id') ?? null) : null,
    jti: tokenId ?? null,
    ...(actor?.instance !== undefined && { instance: actor.instance }),
    ...(access.approval !== undefined && { approval: access.approval }),
  };
}

/** The event as one line of JSON, whatever `instance` holds: terminals and line readers interpret what JSON leaves as it is. */
export function eventLine(event: AccessEvent): string {
  return visibleJson(JSON.stringify(event));
}

/** Writes the event to standard output. Rejects if it could not be written. */
export function writeEvent(event: AccessEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${eventLine(event)}\n`, (error) => (error == null ? resolve() : reject(error)));
  });
}
