/**
 * Makes the agents of a service what files declare (`mandate agent apply`): registers what is missing,
 * changes the fields that differ, leaves everything else. Doing so twice is doing it once.
 */

import type { Registration } from '../../domain/agents/agent.ts';
import { type Declaration, differingFields, patchOf, registrationFields } from '../../domain/agents/declaration.ts';
import { fieldNames, type RegistrationField } from '../../domain/agents/registration-draft.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { type AgentRegistry, RegistryFailure } from '../ports/agent-registry.ts';

/** A declaration that was judged. */
export interface JudgedDeclaration {
  readonly declaration: Declaration;
  readonly registration: Registration;
}

type AppliedOutcome =
  | { readonly kind: 'created' }
  | { readonly kind: 'changed'; readonly fields: readonly RegistrationField[] }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly errors: readonly FieldError[] };

export interface Applied {
  readonly agentId: AgentId;
  readonly outcome: AppliedOutcome;
}

export interface Application {
  readonly registry: AgentRegistry;
  /** Asks, and writes nothing: the outcomes are what would be. */
  readonly dryRun: boolean;
  /** Told of each as soon as it is done. */
  readonly applied: (applied: Applied) => void;
}

/** Others may register or remove the agent between our question and our write; nobody does so again and again. */
const MAX_ROUNDS = 3;

/** One after the other, in their order. @throws RegistryFailure; what was told of until then is done */
export async function applyDeclarations(
  { registry, dryRun, applied }: Application,
  declarations: readonly JudgedDeclaration[],
): Promise<void> {
  for (const judged of declarations) {
    applied({ agentId: judged.registration.agentId, outcome: await applyOne(registry, judged, dryRun) });
  }
}

async function applyOne(registry: AgentRegistry, judged: JudgedDeclaration, dryRun: boolean): Promise<AppliedOutcome> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const stored = await registry.find(judged.registration.agentId);
    const outcome =
      stored === undefined ? await create(registry, judged, dryRun) : await change(registry, judged, stored, dryRun);
    if (outcome !== 'overtaken') return outcome;
  }
  throw new RegistryFailure('An agent came and went under the change.');
}

async function create(
  registry: AgentRegistry,
  { declaration, registration }: JudgedDeclaration,
  dryRun: boolean,
): Promise<AppliedOutcome | 'overtaken'> {
  if (dryRun) return { kind: 'created' };
  const answer = await registry.register(patchOf(declaration, registrationFields(declaration)));
  if (answer.kind === 'already_exists') return 'overtaken';
  if (answer.kind === 'refused') return answer;
  if (registration.enabled) return { kind: 'created' };
  // An agent is always registered enabled; only a change disables it.
  const disabled = await registry.change(registration.agentId, patchOf(declaration, [fieldNames.enabled]));
  if (disabled.kind === 'refused') return disabled;
  return disabled.kind === 'not_found' ? 'overtaken' : { kind: 'created' };
}

async function change(
  registry: AgentRegistry,
  { declaration, registration }: JudgedDeclaration,
  stored: Registration,
  dryRun: boolean,
): Promise<AppliedOutcome | 'overtaken'> {
  const fields = differingFields(declaration, registration, stored);
  if (fields.length === 0) return { kind: 'unchanged' };
  if (dryRun) return { kind: 'changed', fields };
  const answer = await registry.change(registration.agentId, patchOf(declaration, fields));
  if (answer.kind === 'refused') return answer;
  return answer.kind === 'not_found' ? 'overtaken' : { kind: 'changed', fields };
}
