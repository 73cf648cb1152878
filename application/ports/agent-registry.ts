import type { Registration } from '../../domain/agents/agent.ts';
import type { RegistrationPatch } from '../../domain/agents/registration-patch.ts';
import type { FieldError } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';

type RegistryAnswer<Kind extends string> =
  | { readonly kind: Kind }
  | { readonly kind: 'refused'; readonly errors: readonly FieldError[] };

/** The agents of a running service, as its operators reach them from outside: over its admin API. */
export interface AgentRegistry {
  /** @throws RegistryFailure, as all of these do */
  find(agentId: AgentId): Promise<Registration | undefined>;
  /** All of the fields that the agent is to have. */
  register(fields: RegistrationPatch): Promise<RegistryAnswer<'registered' | 'already_exists'>>;
  /** The named fields, and no others. */
  change(agentId: AgentId, fields: RegistrationPatch): Promise<RegistryAnswer<'changed' | 'not_found'>>;
}

/**
 * Nobody answered, or not as the service does, or not with these credentials: there is no use in asking on. Whether the
 * last question was decided is unknown. The message is a sentence for the operator, without anything that was received.
 */
export class RegistryFailure extends Error {
  override readonly name = 'RegistryFailure';
}
