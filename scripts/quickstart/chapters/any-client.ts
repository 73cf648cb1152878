/** A program that was not written for Mandate asks for a task: Ada starts its task in her browser, and stops it. */

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { allowByScript } from '../../../test/support/clients/person.ts';
import { type SdkHost, sdkHost } from '../../../test/support/clients/sdk-host.ts';
import { warningsOf } from '../../../test/support/clients/warnings.ts';
import { accessTable } from '../access-log.ts';
import { GRANTED, PROGRAM_ID } from '../authority.ts';
import { outcome } from '../http.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';
import { openHerPage } from './page.ts';

/** Where the program waits for the answer, on any port. */
const REDIRECT = 'http://127.0.0.1:8765/callback';
const ISSUE = { arguments: { key: 'OPS-7' } };

export async function aStockClientWalksIn(stage: Stage, terminal: Terminal): Promise<void> {
  const { issuer, operator, jiraMcp, accessLog } = stage;
  terminal.chapter('A stock MCP client walks in, and Ada starts its task herself');
  const registered = await operator.registerProgram(PROGRAM_ID, { scopes: GRANTED, audiences: [jiraMcp.audience] });
  must(registered.status === 201, `Registering the program should answer 201, not ${outcome(registered)}.`);
  terminal.say(
    `The operator registers ${PROGRAM_ID}: a program without a key, and where it takes answers. The client knows nothing`,
    'of Mandate, and nothing of Ada. It has the address of the MCP server, and its own:',
  );
  terminal.command(`new StreamableHTTPClientTransport('${jiraMcp.audience}', { authProvider })`);
  const host = sdkHost({ redirectUrl: REDIRECT, clientName: 'Stock client' });
  const client = new Client({ name: 'stock-client', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const open = () => new StreamableHTTPClientTransport(new URL(jiraMcp.audience), { authProvider: host });
  const first = open();
  await thrownBy(UnauthorizedError, 'Connecting', () => client.connect(first));
  const address = host.opened.at(-1);
  must(address !== undefined, 'The client should want to open the browser.');
  must(address.origin === issuer, `The client should send her to Mandate, not to ${address.origin}.`);
  terminal.confirm(`The server leads it to Mandate. It registers itself, and opens ${issuer}${address.pathname}.`);

  await first.finishAuth((await allowByScript(stage, address, { without: ['jira:comment'] })).searchParams);
  terminal.confirm('She signs in, reads who wants to do what where, takes "Comment in your name" away, and allows.');
  const transport = open();
  await client.connect(transport);
  try {
    terminal.confirm(`read_issue: "${await call(client, 'read_issue')}"`);
    await needsHer(client, host);
    terminal.refused('comment_issue: 403 insufficient_scope. The client opens the browser again, and asks for it.');
    await transport.finishAuth((await allowByScript(stage, String(host.opened.at(-1)))).searchParams);
    terminal.confirm(`She allows it. comment_issue: "${await call(client, 'comment_issue')}"`);

    const page = await openHerPage(issuer);
    must(page.text.includes('This program cannot prove its name.'), 'The page should say that the name is not proven.');
    terminal.say(
      `${issuer}/me shows the program, and that it cannot prove its name. Each Allow started a task, and`,
      'both act for her. She stops the program:',
    );
    await page.stopAgent(PROGRAM_ID, terminal);
    const said = await warningsOf(() => needsHer(client, host));
    terminal.refused(`comment_issue: the token is not active. The client renews it, and says: ${said.join(' ')}`);
    terminal.confirm('The client can only open the browser again, and ask her.');
    terminal.show(accessTable(accessLog.take()));
  } finally {
    await client.close();
  }
}

/** The client opens the browser, in place of an answer. */
async function needsHer(client: Client, host: SdkHost): Promise<void> {
  const before = host.opened.length;
  await thrownBy(UnauthorizedError, 'comment_issue', () => call(client, 'comment_issue'));
  must(host.opened.length === before + 1, 'The client should open the browser once more.');
}

async function call(client: Client, name: string): Promise<string> {
  const { content } = await client.callTool({ name, ...ISSUE });
  const [answer] = Array.isArray(content) ? content : [];
  must(answer?.type === 'text' && answer.text.startsWith('OPS-7, '), `${name} should answer with the issue.`);
  return answer.text;
}
