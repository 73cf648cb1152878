/** An agent that calls the tools of an MCP server for a person, and asks for more scopes when a tool needs them. */

import { readFile } from 'node:fs/promises';
import { createAgent } from '@mandate/agent';
import { mcpAuthorization } from '@mandate/agent/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { MANDATE_ISSUER = '', AGENT_ID = '', KEY_FILE = '', SUBJECT_TOKEN = '', MCP_SERVER = '' } = process.env;

const key = { pem: await readFile(KEY_FILE, 'utf8') };
const agent = createAgent({ issuer: MANDATE_ISSUER, agentId: AGENT_ID, key });
const authProvider = mcpAuthorization({ agent, subjectToken: SUBJECT_TOKEN, scope: ['jira:read'] });
const { fetch } = authProvider;

const client = new Client({ name: 'triage', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(MCP_SERVER), { authProvider, fetch }));
  const { tools } = await client.listTools();
  for (const { name } of tools) {
    const result = await client.callTool({ name, arguments: { key: 'OPS-7' } });
    console.log(name, JSON.stringify(result.content));
  }
} finally {
  await client.close();
  await authProvider.end();
}
