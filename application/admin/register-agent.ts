/** Registers an agent (specification "Admin API", POST /admin/agents). */

import type { Agent } from '../../domain/agents/agent.ts';
import { judgeKeySource } from '../../domain/agents/field-rules.ts';
import {
  judgeRegistration,
  type RegistrationRules,
  type RegistrationVerdict,
} from '../../domain/agents/registration.ts';
import { fieldNames, type RegistrationDraft } from '../../domain/agents/registration-draft.ts';
import { type FieldError, fieldErrors } from '../../domain/field-error.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { addAgent } from '../decisions/write-agent.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { AgentKeys } from '../ports/keys.ts';
import type { Clock } from '../ports/runtime.ts';

interface AgentRegistration extends RegistrationJudgement {
  readonly decisions: Decisions;
  readonly clock: Clock;
}

export type RegisterOutcome =
  | { readonly kind: 'registered'; readonly agent: Agent }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
  /** The ledger records this as a refusal. */
  | { readonly kind: 'already_exists' }
  /** Another agent has one of its `may_act_names`. The ledger records this as a refusal. */
  | { readonly kind: 'name_taken' }
  /** Another agent has its `client_id_document`. The ledger records this as a refusal. */
  | { readonly kind: 'document_taken' };

export async function registerAgent(service: AgentRegistration, draft: RegistrationDraft): Promise<RegisterOutcome> {
  // 1. The registration is valid.
  const verdict = await judgeDraft(service, draft);
  if (verdict.kind === 'invalid') return verdict;

  // 2. The agents that it names are registered, its id is free, and no other agent has one of its names or its document. Storage
  // decides this atomically: of two concurrent registrations one is refused.
  const at = service.clock.now();
  const agent: Agent = { ...verdict.registration, revision: at, createdAt: at, updatedAt: at, keysSince: at };
  const about = { at, event: 'agent.registered', agentId: agent.agentId } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'agent_already_exists' };
  const nameRefusal: LedgerEntry = { ...about, decision: 'deny', reason: 'may_act_name_taken' };
  const documentRefusal: LedgerEntry = { ...about, decision: 'deny', reason: 'client_id_document_taken' };
  const stored = await service.decisions.decide(addAgent, {
    agent,
    entry,
    refusal,
    // The id of the new agent is a name too, which another agent may have.
    nameRefusal: service.rules.knows.has(fieldNames.mayActNames) ? nameRefusal : undefined,
    documentRefusal: agent.clientIdDocument === undefined ? undefined : documentRefusal,
    newDelegates: agent.delegatesTo !== undefined,
  });
  if (typeof stored !== 'string') return stored;
  return stored === 'registered' ? { kind: 'registered', agent } : { kind: stored };
}

export interface RegistrationJudgement {
  readonly agentKeys: Pick<AgentKeys, 'isUsable'>;
  readonly rules: RegistrationRules;
}

/** The second validation of a registration (specification "Validation errors"): all rules, and a test of each key. */
export async function judgeDraft(
  { agentKeys, rules }: RegistrationJudgement,
  draft: RegistrationDraft,
): Promise<RegistrationVerdict> {
  const verdict = judgeRegistration(draft, rules);
  const keySource = judgeKeySource(draft, rules.issuer);
  if (keySource.kind === 'refused' || keySource.source.kind !== 'inline') return verdict;
  const { keys } = keySource.source.jwks;
  const usable = await Promise.all(keys.map((key) => agentKeys.isUsable(key)));
  const problems = usable.flatMap((works, index) =>
    works ? [] : [`keys[${index}] is not a key that a signature can be verified with.`],
  );
  if (problems.length === 0) return verdict;
  const others = verdict.kind === 'invalid' ? verdict.errors : [];
  return { kind: 'invalid', errors: [...others, ...fieldErrors(fieldNames.jwks, ...problems)] };
}
