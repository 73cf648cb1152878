/** The operator's side: registers an agent, uses the kill switch, blocks a person, and reads the ledger. */

import type { AgentIdentity } from './agent.ts';
import { TOKEN_SECONDS } from './authority.ts';
import { type Answer, outcome, send } from './http.ts';
import { must } from './story-broke.ts';

/** A ledger record, as `GET /audit` shows it. */
export type LedgerRow = Readonly<Record<string, unknown>>;

export interface Operator {
  register(agent: AgentIdentity, ceiling: Ceiling): Promise<Answer>;
  /** Ends one task by the kill switch. */
  kill(taskId: string): Promise<Answer>;
  block(person: string): Promise<Answer>;
  unblock(person: string): Promise<Answer>;
  readLedger(): Promise<readonly LedgerRow[]>;
  /** Reads the proof that the sealed ledger holds a record. */
  readProof(seq: unknown): Promise<Answer['body']>;
}

interface Ceiling {
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
}

export function operator(issuer: string, adminKey: string): Operator {
  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    send(`${issuer}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const read = async (path: string): Promise<Answer['body']> => {
    const answer = await ask('GET', path);
    must(answer.status === 200, `GET ${path} should answer 200, not ${outcome(answer)}.`);
    return answer.body;
  };
  return {
    register: (agent, { scopes, audiences }) =>
      ask('POST', '/admin/agents', {
        agent_id: agent.id,
        display_name: 'Sorts incoming issues',
        sponsor_required: true,
        allowed_scopes: scopes,
        allowed_audiences: audiences,
        max_task_ttl: 'PT30M',
        max_token_ttl: `PT${TOKEN_SECONDS}S`,
        max_delegation_depth: 1,
        jwks: agent.jwks,
      }),
    kill: (taskId) => ask('DELETE', `/admin/tasks/${taskId}`),
    block: (person) => ask('PUT', `/admin/sponsors/${person}/block`),
    unblock: (person) => ask('DELETE', `/admin/sponsors/${person}/block`),
    async readLedger() {
      const { records } = await read('/audit?limit=1000');
      must(Array.isArray(records), 'The answer of the ledger should have records, and does not.');
      return records;
    },
    readProof: (seq) => read(`/audit/records/${seq}/proof`),
  };
}
