/** The registration file that `agent init` writes: minimal rights, and a reason for each line. */

import type { Jwk } from '../../../domain/agents/jwk.ts';

export interface TemplateFields {
  readonly agentId: string;
  readonly displayName: string;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  readonly publicJwk: Jwk;
}

/** Long enough for a few steps with a tool. A longer task needs a larger value in the file. */
export const TASK_TTL = 'PT10M';
/** How long a stolen token works at a server that does not introspect. */
export const TOKEN_TTL = 'PT2M';

export function registrationTemplate({ agentId, displayName, scopes, audiences, publicJwk }: TemplateFields): string {
  return `# An agent of Mandate. Review it, keep it under version control, and make it so with "mandate agent apply".
# A field that is left out stays as it is at the service.

# Its name in tokens and in the ledger; it never changes.
agent_id: ${quoted(agentId)}
display_name: ${quoted(displayName)}

# An agent acts for a person or not at all.
sponsor_required: true

# The ceiling. A token carries what the person holds, this list allows and the request asks for, and nothing else.
allowed_scopes:
${listed(scopes)}
# The tool servers that a token may be for. Each token is for one of them.
allowed_audiences:
${listed(audiences)}
# How long one task may go on, and how long each of its tokens is good for. Short ones limit what a lost token can do.
max_task_ttl: ${TASK_TTL}
max_token_ttl: ${TOKEN_TTL}

# The agent acts for the person itself, and hands nothing on to other agents.
max_delegation_depth: 1

# Audiences of the list above that must ask this service about every call, so that a revocation works there at once.
high_risk_audiences: []

# The public half of the key that the agent signs its assertions with. To change keys: add the new one, apply, let the
# agent sign with it, take the old one out, apply.
jwks:
  keys:
${jwkEntry(publicJwk)}`;
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
