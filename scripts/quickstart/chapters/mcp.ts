/** An MCP server with a policy for each tool, and the official MCP client. */

import type { Agent } from '@mandate/agent';
import { Client, InsufficientScopeError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { accessTable } from '../access-log.ts';
import { GRANTED } from '../authority.ts';
import { send } from '../http.ts';
import { showToolRefusal, thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

const ISSUE = { arguments: { key: 'OPS-7' } };

export async function theAgentUsesMcpTools(
  { jira, jiraMcp, accessLog }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<void> {
  terminal.chapter('The agent uses the tools of an MCP server');
  terminal.say(
    `${jiraMcp.audience} is guarded in the same way, with a policy for each tool. The official MCP client gets a token`,
    'before each request:',
  );
  terminal.command('new StreamableHTTPClientTransport(url, { authProvider: { token: () => task.token() } })');
  const task = await agent.startTask({ subjectToken, resource: jiraMcp.audience, scope: GRANTED });
  const client = new Client({ name: 'triage-bot', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const authProvider = { token: () => task.token() };
  await client.connect(new StreamableHTTPClientTransport(new URL(jiraMcp.audience), { authProvider }));
  try {
    const { tools } = await client.listTools();
    must(tools.length === 2, `The MCP server should have two tools, not ${tools.length}.`);
    for (const { name } of tools) {
      const { content } = await client.callTool({ name, ...ISSUE });
      const [answer] = Array.isArray(content) ? content : [];
      must(answer?.type === 'text' && answer.text.startsWith('OPS-7, '), `${name} should answer with the issue.`);
      terminal.confirm(`${name}: "${answer.text}"`);
    }
    await task.narrow(['jira:read']);
    const lacking = await thrownBy(InsufficientScopeError, 'comment_issue', () =>
      client.callTool({ name: 'comment_issue', ...ISSUE }),
    );
    terminal.refused(`comment_issue after the task is narrowed to jira:read. ${lacking.name}: "${lacking.message}"`);
    terminal.show(accessTable(accessLog.take()));

    terminal.say('A token for one server is refused at another:');
    const headers = { authorization: `Bearer ${await task.token()}` };
    const elsewhere = await send(`${jira.audience}/issues/OPS-7`, { headers });
    showToolRefusal(terminal, 'The token of the MCP server, sent to Jira', elsewhere, '401 wrong_audience');
    accessLog.take();
  } finally {
    await client.close();
    await task.end();
  }
}
