/**
 * Applies declared agents to a service (`mandate agent apply`): registers missing agents, changes the fields that
 * differ, and leaves all other agents and fields unchanged. Idempotent: a second run changes nothing.
 */

import type { Registration } from '../../domain/agents/agent.ts';
import { type Declaration, differingFields, patchOf, registrationFields } from '../../domain/agents/declaration.ts';
import { fieldNames, type RegistrationField } from '../../domain/agents/registration-draft.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { AdminApiFailure } from '../ports/admin-api.ts';
import type { AgentRegistry } from '../ports/agent-registry.ts';

/** A valid declaration, and the registration that it describes. */
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

interface Application {
  readonly registry: AgentRegistry;
  /** Reads the registry and writes nothing. The outcomes are those that a real run would have. */
  readonly dryRun: boolean;
  /** Called after each declaration. */
  readonly applied: (applied: Applied) => void;
}

/** Another client may register or remove the agent between read and write. Three times in a row is unlikely. */
const MAX_ATTEMPTS = 3;

/**
 * Applies the declarations in order. A service knows only registered agents in `delegates_to`, and two agents may name each
 * other. So an agent that names a later one gets this field once all are registered, and is reported then.
 *
 * @throws AdminApiFailure; declarations reported before it stay applied
 */
export async function applyDeclarations(
  { registry, dryRun, applied }: Application,
  declarations: readonly JudgedDeclaration[],
): Promise<void> {
  const later = new Set(declarations.map(({ registration }) => registration.agentId));
  const unfinished: { readonly judged: JudgedDeclaration; readonly first: AppliedOutcome }[] = [];
  for (const judged of declarations) {
    const { agentId, delegatesTo = [] } = judged.registration;
    later.delete(agentId);
    if (dryRun || !delegatesTo.some((delegate) => later.has(delegate))) {
      applied({ agentId, outcome: await applyOne(registry, judged, dryRun) });
      continue;
    }
    const { delegatesTo: _, ...declaration } = judged.declaration;
    const first = await applyOne(registry, { ...judged, declaration }, dryRun);
    if (first.kind === 'refused') applied({ agentId, outcome: first });
    else unfinished.push({ judged, first });
  }
  for (const { judged, first } of unfinished) {
    const outcome = inOne(first, await applyOne(registry, judged, dryRun));
    applied({ agentId: judged.registration.agentId, outcome });
  }
}

/** The outcome of two requests about one agent. */
function inOne(first: AppliedOutcome, second: AppliedOutcome): AppliedOutcome {
  if (second.kind !== 'changed') return second.kind === 'unchanged' ? first : second;
  if (first.kind !== 'changed') return first.kind === 'created' ? first : second;
  const changed = [...first.fields, ...second.fields];
  return { kind: 'changed', fields: Object.values(fieldNames).filter((field) => changed.includes(field)) };
}

async function applyOne(registry: AgentRegistry, judged: JudgedDeclaration, dryRun: boolean): Promise<AppliedOutcome> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await registry.find(judged.registration.agentId);
    const outcome =
      stored === undefined ? await create(registry, judged, dryRun) : await change(registry, judged, stored, dryRun);
    if (outcome !== 'conflict') return outcome;
  }
  throw new AdminApiFailure('Another client registered and removed the same agent during every attempt.');
}

async function create(
  registry: AgentRegistry,
  { declaration, registration }: JudgedDeclaration,
  dryRun: boolean,
): Promise<AppliedOutcome | 'conflict'> {
  if (dryRun) return { kind: 'created' };
  const answer = await registry.register(patchOf(declaration, registrationFields(declaration)));
  if (answer.kind === 'already_exists') return 'conflict';
  if (answer.kind === 'refused') return answer;
  if (registration.enabled) return { kind: 'created' };
  // Agents are registered enabled; disabling one takes a second request.
  const disabled = await registry.change(registration.agentId, patchOf(declaration, [fieldNames.enabled]));
  if (disabled.kind === 'refused') return disabled;
  return disabled.kind === 'not_found' ? 'conflict' : { kind: 'created' };
}

async function change(
  registry: AgentRegistry,
  { declaration, registration }: JudgedDeclaration,
  stored: Registration,
  dryRun: boolean,
): Promise<AppliedOutcome | 'conflict'> {
  const fields = differingFields(declaration, registration, stored);
  if (fields.length === 0) return { kind: 'unchanged' };
  if (dryRun) return { kind: 'changed', fields };
  const answer = await registry.change(registration.agentId, patchOf(declaration, fields));
  if (answer.kind === 'refused') return answer;
  return answer.kind === 'not_found' ? 'conflict' : { kind: 'changed', fields };
}
