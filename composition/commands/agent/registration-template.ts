/** The registration file that `mandate agent init` writes. */

import type { Jwk } from '../../../domain/agents/public-key.ts';

/** What the arguments say of the agent. */
export interface InitialRegistration {
  readonly agentId: string;
  readonly displayName: string;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  /** Where answers of `/oauth2/authorize` may go. `undefined` for nowhere. */
  readonly redirectUris: readonly string[] | undefined;
  readonly publicClient: boolean;
  readonly clientNames: readonly string[] | undefined;
  readonly clientIdDocument: string | undefined;
}

/** Long enough for a few calls of tools. An operator raises it in the file for longer tasks. */
export const TASK_TTL = 'PT10M';
/** How long a stolen token works at a tool server that does not introspect. */
export const TOKEN_TTL = 'PT2M';

/** The registration file: minimal rights, and an explanation of each line. @param publicJwk `undefined` of a program without a key */
export function registrationTemplate(request: InitialRegistration, publicJwk: Jwk | undefined): string {
  const { agentId, displayName, scopes, audiences } = request;
  return `# An agent of Mandate. Review it, keep it under version control, and apply it with
# "mandate agent apply".
# A field that is left out stays as it is at the service.

# Its name in tokens and in the ledger; it never changes.
agent_id: ${quoted(agentId)}
display_name: ${quoted(displayName)}

# Always true: an agent acts only for a person.
sponsor_required: true

# At most these. A token carries the scopes that the person holds, this list allows and the request names.
allowed_scopes:
${listed(scopes)}
# The tool servers that a token may be for. Each token is for one of them.
allowed_audiences:
${listed(audiences)}
# How long a task may last, and each of its tokens. Short times limit what a stolen token can do.
max_task_ttl: ${TASK_TTL}
max_token_ttl: ${TOKEN_TTL}

# The agent acts for the person itself, and delegates nothing to other agents.
max_delegation_depth: 1

# Those audiences of the list above that introspect the token of every call, so that a revocation works there at once.
high_risk_audiences: []
${clientOf(request)}${publicJwk === undefined ? '' : keyOf(publicJwk)}`;
}

function keyOf(publicJwk: Jwk): string {
  return `
# The public half of the key that the agent signs its assertions with. To change keys: add the new one, apply,
# let the agent sign with it, remove the old one, apply.
jwks:
  keys:
${jwkEntry(publicJwk)}`;
}

/** The fields of a program at which a person starts tasks. Empty of every other agent. */
function clientOf({ redirectUris, publicClient, clientIdDocument, clientNames }: InitialRegistration): string {
  return [
    redirectUris &&
      `# Where answers of /oauth2/authorize may go (Service:Authorize:ClientId). On 127.0.0.1, [::1] and localhost the port is free.
redirect_uris:
${listed(redirectUris)}`,
    publicClient &&
      `# The program has no key: it proves only that it began a request, not its name (Service:Authorize:PublicClients).
public_client: true
`,
    clientIdDocument !== undefined &&
      `# The program describes itself at this URL, which is also its client_id. The redirect_uris of that document count, not those
# of this file.
client_id_document: ${quoted(clientIdDocument)}
`,
    clientNames &&
      `# The names under which the program registers itself (Service:Authorize:Registration). A name that ends in * is a prefix.
client_names:
${listed(clientNames)}`,
  ]
    .map((block) => (block ? `\n${block}` : ''))
    .join('');
}

function listed(items: readonly string[]): string {
  return items.map((item) => `  - ${quoted(item)}\n`).join('');
}

function jwkEntry(jwk: Jwk): string {
  return Object.entries(jwk)
    .map(([name, value], at) => `    ${at === 0 ? '- ' : '  '}${name}: ${quoted(String(value))}\n`)
    .join('');
}

/** Every JSON string is also a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
