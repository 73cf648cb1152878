/** Compares declared agents with the registered ones. Changes nothing: it says what `mandate agent apply` would do. */

import type { Agent } from '../../domain/agents/agent.ts';
import { differingFields, draftOf, patchOf } from '../../domain/agents/declaration.ts';
import { unregisteredProblems } from '../../domain/agents/field-rules.ts';
import { shownRegistration } from '../../domain/agents/registration.ts';
import {
  fieldNames,
  type RegistrationField,
  UNKNOWN_FIELD,
  unknownFields,
} from '../../domain/agents/registration-draft.ts';
import { carriedFields, mergePatch, onlyDisables } from '../../domain/agents/registration-patch.ts';
import { type FieldError, fieldErrors } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Agents } from '../ports/agents.ts';
import type { JudgedDeclaration } from './apply-declarations.ts';
import { judgeDraft, type RegistrationJudgement } from './register-agent.ts';

export interface ComparedDeclaration extends JudgedDeclaration {
  /** `undefined` if no agent with this id is registered. */
  readonly stored: Agent | undefined;
  /** The declared fields whose registered value differs. */
  readonly fields: readonly RegistrationField[];
  /** Why this service would refuse the change. */
  readonly errors: readonly FieldError[];
}

interface Comparison extends RegistrationJudgement {
  readonly agents: Pick<Agents, 'find'>;
}

export async function compareDeclarations(
  service: Comparison,
  declarations: readonly JudgedDeclaration[],
): Promise<readonly ComparedDeclaration[]> {
  const compared: ComparedDeclaration[] = [];
  const declared = new Set(declarations.map(({ registration }) => registration.agentId));
  for (const judged of declarations) {
    const { declaration, registration } = judged;
    const found = await service.agents.find(registration.agentId);
    const stored = found && shownRegistration(found, service.rules.knows);
    const fields = stored === undefined ? [] : differingFields(declaration, registration, stored);
    const errors =
      stored !== undefined && fields.length === 0 ? [] : await refusal(service, judged, stored, fields, declared);
    compared.push({ ...judged, stored, fields, errors });
  }
  return compared;
}

/** The errors that the request would get which registers or changes the agent. */
async function refusal(
  service: Comparison,
  { declaration }: JudgedDeclaration,
  stored: Agent | undefined,
  fields: readonly RegistrationField[],
  declared: ReadonlySet<AgentId>,
): Promise<readonly FieldError[]> {
  const patch = patchOf(declaration, fields);
  const carried = carriedFields(declaration);
  const unknown = unknownFields(service.rules.knows).filter((field) => carried.includes(field));
  if (unknown.length > 0) return unknown.flatMap((field) => fieldErrors(field, UNKNOWN_FIELD));
  if (stored !== undefined && onlyDisables(patch)) return [];
  const verdict = await judgeDraft(service, stored === undefined ? draftOf(declaration) : mergePatch(stored, patch));
  if (verdict.kind === 'invalid') return verdict.errors;
  const { delegatesTo = [] } = verdict.registration;
  return stored === undefined || fields.includes(fieldNames.delegatesTo)
    ? unregisteredDelegates(service, delegatesTo, declared)
    : [];
}

/** `mandate agent apply` registers those that the file declares. */
async function unregisteredDelegates(
  { agents }: Comparison,
  delegates: readonly AgentId[],
  declared: ReadonlySet<AgentId>,
): Promise<readonly FieldError[]> {
  const registered = new Set(declared);
  for (const agentId of delegates) {
    if (!registered.has(agentId) && (await agents.find(agentId)) !== undefined) registered.add(agentId);
  }
  const problems = unregisteredProblems(delegates, (agentId) => registered.has(agentId));
  return fieldErrors(fieldNames.delegatesTo, ...problems);
}
