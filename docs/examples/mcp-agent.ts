/** An agent that does two things for a person, with the tools of an MCP server. */

import { readFile } from 'node:fs/promises';
import { createAgent } from '@mandate/agent';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { MANDATE_ISSUER = '', AGENT_ID = '', KEY_FILE = '', SUBJECT_TOKEN = '', RESOURCE = '' } = process.env;
/** The MCP server's address, if it differs from the audience of its tokens. */
const { MCP_SERVER = RESOURCE } = process.env;

const key = { pem: await readFile(KEY_FILE, 'utf8') };
const agent = createAgent({ issuer: MANDATE_ISSUER, agentId: AGENT_ID, key });
const scope = ['jira:read', 'jira:admin'];
const task = await agent.startTask({ subjectToken: SUBJECT_TOKEN, resource: RESOURCE, scope });

const client = new Client({ name: 'triage', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
try {
  const authProvider = { token: () => task.token() };
  await client.connect(new StreamableHTTPClientTransport(new URL(MCP_SERVER), { authProvider }));
  const { tools } = await client.listTools();
  for (const { name } of tools) {
    const result = await client.callTool({ name, arguments: { key: 'OPS-7' } });
    console.log(name, JSON.stringify(result.content));
  }
} finally {
  await client.close();
  await task.end();
}
