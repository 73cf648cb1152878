/** The operator's side: registering an agent, and reading the ledger. */

import type { Agent } from './agent.ts';
import { type Answer, send } from './http.ts';
import { must } from './story-broke.ts';

/** A ledger record, as `GET /audit` shows it. */
export type LedgerRow = Readonly<Record<string, unknown>>;

export function registerAgent(
  issuer: string,
  adminKey: string,
  agent: Agent,
  ceiling: { readonly scopes: readonly string[]; readonly audience: string },
): Promise<Answer> {
  return send(`${issuer}/admin/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      agent_id: agent.id,
      display_name: 'Sorts what comes in',
      sponsor_required: true,
      allowed_scopes: ceiling.scopes,
      allowed_audiences: [ceiling.audience],
      max_task_ttl: 'PT30M',
      max_token_ttl: 'PT5M',
      max_delegation_depth: 1,
      jwks: agent.key.jwks,
    }),
  });
}

export async function readLedger(issuer: string, adminKey: string): Promise<readonly LedgerRow[]> {
  const answer = await send(`${issuer}/audit?limit=1000`, { headers: { authorization: `Bearer ${adminKey}` } });
  must(answer.status === 200, `The ledger should be readable with the admin key; the answer was ${answer.status}.`);
  const { records } = answer.body;
  must(Array.isArray(records), 'The answer of the ledger should hold records, and does not.');
  return records;
}
