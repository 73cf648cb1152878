/** Changes an agent (specification "Admin API", PATCH /admin/agents/{agent_id}; supplement "Agents"). */

import type { Agent } from '../../domain/agents/agent.ts';
import { isSame, isSameRegistration, type RegistrationVerdict } from '../../domain/agents/registration.ts';
import { fieldNames } from '../../domain/agents/registration-draft.ts';
import {
  carriedFields,
  mergePatch,
  onlyDisables,
  type RegistrationPatch,
} from '../../domain/agents/registration-patch.ts';
import { type FieldError, fieldErrors } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { findAgent } from '../decisions/find.ts';
import { changeAgent, disableAgent } from '../decisions/write-agent.ts';
import type { Agents } from '../ports/agents.ts';
import { type Decisions, foundBy } from '../ports/decisions.ts';
import type { Clock, RetryPause } from '../ports/runtime.ts';
import { judgeDraft, type RegistrationJudgement } from './register-agent.ts';

interface AgentUpdate extends RegistrationJudgement {
  readonly decisions: Decisions;
  readonly agents: Pick<Agents, 'find'>;
  readonly clock: Clock;
  readonly retryPause: RetryPause;
}

export type UpdateOutcome =
  | { readonly kind: 'updated'; readonly agent: Agent }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
  | { readonly kind: 'not_found' }
  /** Another agent has one of the `may_act_names`. The ledger records this as a refusal. */
  | { readonly kind: 'name_taken' }
  /** Another agent has the `client_id_document`. The ledger records this as a refusal. */
  | { readonly kind: 'document_taken' }
  /** Nothing is stored: every attempt met a concurrent change of this agent. */
  | { readonly kind: 'kept_changing' };

/** An attempt fails only if another change of this agent was stored: 30 failures mean hundreds of callers at once. */
const MAX_ATTEMPTS = 30;

/** The longest pause after the first failed attempt, a few times an attempt's duration. Each further attempt doubles it. */
const FIRST_PAUSE_MS = 20;
/** All pauses of a request add up to about eight seconds on average if every attempt fails. */
const LONGEST_PAUSE_MS = 640;

export async function updateAgent(
  service: AgentUpdate,
  agentId: AgentId,
  patch: RegistrationPatch,
): Promise<UpdateOutcome> {
  const disables = patch.enabled === false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await service.retryPause(Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS));

    // 1. Read the stored agent.
    const read = service.agents.find(agentId);
    // The plain read may have asked another server than the decisions do. Disabling needs no plain read at all.
    const found = disables ? await foundBy(read) : await read;
    const stored = found ?? (await service.decisions.decide(findAgent, { agentId }));
    if (stored === undefined) return { kind: 'not_found' };

    // 2. Merge the patch, and check the result as a whole.
    const verdict = await judgePatch(service, stored, patch);
    if (verdict.kind === 'invalid') return verdict;

    // 3. Store it, if the agent has not changed since it was read.
    const at = service.clock.now();
    const unchanged = isSameRegistration(verdict.registration, stored);
    const agent: Agent = {
      ...verdict.registration,
      revision: stored.revision + 1,
      createdAt: stored.createdAt,
      updatedAt: unchanged ? stored.updatedAt : at,
      keysSince: isSame(verdict.registration.keys, stored.keys) ? stored.keysSince : at,
    };
    const about = { at, event: 'agent.updated', agentId } as const;
    const entry: LedgerEntry = {
      ...about,
      decision: 'allow',
      reason: unchanged ? 'no_change' : `changed:${carriedFields(patch).join(',')}`,
    };
    const nameRefusal: LedgerEntry | undefined = isSame(verdict.registration.mayActNames, stored.mayActNames)
      ? undefined
      : { ...about, decision: 'deny', reason: 'may_act_name_taken' };
    const { clientIdDocument } = verdict.registration;
    const documentRefusal: LedgerEntry | undefined =
      clientIdDocument === undefined || clientIdDocument === stored.clientIdDocument
        ? undefined
        : { ...about, decision: 'deny', reason: 'client_id_document_taken' };
    const outcome = await service.decisions.decide(disables ? disableAgent : changeAgent, {
      agent,
      entry,
      nameRefusal,
      documentRefusal,
      newDelegates: !isSame(verdict.registration.delegatesTo, stored.delegatesTo),
    });
    if (typeof outcome !== 'string') return outcome;
    if (outcome === 'replaced') return { kind: 'updated', agent };
    if (outcome !== 'changed') return { kind: outcome };
  }
  return { kind: 'kept_changing' };
}

async function judgePatch(
  service: RegistrationJudgement,
  stored: Agent,
  patch: RegistrationPatch,
): Promise<RegistrationVerdict> {
  if (patch.agentId !== undefined && patch.agentId !== stored.agentId) {
    return {
      kind: 'invalid',
      errors: fieldErrors(fieldNames.agentId, 'Must be the agent_id of the path: it never changes.'),
    };
  }
  if (onlyDisables(patch)) {
    return { kind: 'valid', registration: { ...stored, enabled: false } };
  }
  return judgeDraft(service, mergePatch(stored, patch));
}
