/** The operator's side: registers an agent, uses the kill switch, blocks a person, and reads the ledger. */

import type { AgentIdentity } from './agent.ts';
import { TOKEN_SECONDS } from './authority.ts';
import { type Answer, outcome, send } from './http.ts';
import { must } from './story-broke.ts';

/** A ledger record, as `GET /audit` shows it. */
export type LedgerRow = Readonly<Record<string, unknown>>;

export interface Operator {
  register(agent: AgentIdentity, ceiling: Ceiling): Promise<Answer>;
  /** Registers a program that only PKCE authenticates. */
  registerProgram(id: string, ceiling: Ceiling): Promise<Answer>;
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

/** Where programs on this computer take the answer, at any port: SDKs and Claude Code, mcp-remote, the inspector. */
const REDIRECT_URIS = ['127.0.0.1', 'localhost'].flatMap((host) => [
  `http://${host}/callback`,
  `http://${host}/oauth/callback`,
  `http://${host}/`,
]);

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
    registerProgram: (id, { scopes, audiences }) =>
      ask('POST', '/admin/agents', {
        agent_id: id,
        display_name: 'Your MCP client',
        sponsor_required: true,
        allowed_scopes: scopes,
        allowed_audiences: audiences,
        max_task_ttl: 'PT30M',
        max_token_ttl: 'PT5M',
        max_delegation_depth: 1,
        public_client: true,
        redirect_uris: REDIRECT_URIS,
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
