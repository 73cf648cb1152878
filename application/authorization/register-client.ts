/**
 * Answers a program that registers itself (RFC 7591, `Service:Authorize:Registration`). Nothing is created: an operator has
 * registered every agent, and the answer only tells the program which of them it is.
 *
 * The answer is no credential. A public client's id is no secret, and each task still needs a person's yes.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import { matchesRedirect } from '../../domain/agents/redirect-uri.ts';
import type { Agents } from '../ports/agents.ts';

export interface ClientRegistration {
  readonly redirectUris: readonly string[];
  /** `client_name`; `undefined` if none was sent. */
  readonly clientName: string | undefined;
}

/** A sentence for each names what an operator must register. It repeats nothing that was sent. */
const REFUSALS = {
  no_redirect:
    'No public agent is registered with all of these redirect_uris. An operator registers one: an agent with public_client, and with each of them in its redirect_uris.',
  no_name:
    'No agent with these redirect_uris has this client_name. An operator adds it to client_names of the agent, or a prefix of it that ends in *.',
  several_names:
    'Several agents with these redirect_uris have this client_name. An operator leaves it, or a prefix of it, in client_names of one of them.',
  several_nameless:
    'Several agents have these redirect_uris and no client_names. An operator gives this client_name to one of them, in client_names.',
} as const;

export type RegistrationRefusal = keyof typeof REFUSALS;

export type FoundRegistration =
  | { readonly kind: 'known'; readonly agent: Agent }
  | { readonly kind: 'refused'; readonly refusal: RegistrationRefusal; readonly sentence: string };

/** @throws StorageUnavailable */
export async function registerClient(
  { agents }: { readonly agents: Pick<Agents, 'publicClients'> },
  { redirectUris, clientName }: ClientRegistration,
): Promise<FoundRegistration> {
  const fitting = (await agents.publicClients()).filter(({ redirectUris: registered = [] }) =>
    redirectUris.every((uri) => registered.some((one) => matchesRedirect(one, uri))),
  );
  if (fitting.length === 0) return refused('no_redirect');
  const named = fitting.filter(({ clientNames = [] }) => clientNames.some((name) => fits(name, clientName)));
  if (named.length > 1) return refused('several_names');
  const nameless = fitting.filter(({ clientNames }) => clientNames === undefined);
  if (named.length === 0 && nameless.length > 1) return refused('several_nameless');
  const [agent] = [...named, ...nameless];
  return agent === undefined ? refused('no_name') : { kind: 'known', agent };
}

/** Compared exactly; a name that ends in `*` is a prefix: programs add the name of the server to theirs. */
function fits(name: string, clientName: string | undefined): boolean {
  if (clientName === undefined) return false;
  return name.endsWith('*') ? clientName.startsWith(name.slice(0, -1)) : clientName === name;
}

function refused(refusal: RegistrationRefusal): FoundRegistration {
  return { kind: 'refused', refusal, sentence: REFUSALS[refusal] };
}
