import type { Registration } from '../../domain/agents/agent.ts';
import type { RegistrationPatch } from '../../domain/agents/registration-patch.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';

type RegistryAnswer<Kind extends string> =
  | { readonly kind: Kind }
  | { readonly kind: 'refused'; readonly errors: readonly FieldError[] };

/** The agents of a running service, read and changed through its admin API. */
export interface AgentRegistry {
  /** @throws AdminApiFailure, like all methods here */
  find(agentId: AgentId): Promise<Registration | undefined>;
  /** @param fields all fields of the new agent */
  register(fields: RegistrationPatch): Promise<RegistryAnswer<'registered' | 'already_exists'>>;
  /** @param fields only the fields to change */
  change(agentId: AgentId, fields: RegistrationPatch): Promise<RegistryAnswer<'changed' | 'not_found'>>;
}
