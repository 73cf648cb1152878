/** Shows commands to copy and try, after the last step. */

import type { Task } from '@mandate/agent';
import { ada, olga } from './authority.ts';
import type { Stage } from './stage.ts';
import type { Terminal } from './terminal.ts';

/** @param task the task whose token `keepTokenFresh` writes to the file */
export function invite(stage: Stage, terminal: Terminal, task: Task): void {
  const { issuer, provider, jira, jiraMcp } = stage;
  terminal.chapter('Now you');
  terminal.say('Everything keeps running until Ctrl-C, and is removed afterwards.');
  terminal.show({
    columns: [
      { title: 'what', width: 20 },
      { title: 'where', width: 76 },
    ],
    rows: [
      ['Mandate', issuer],
      ["Ada's page", `${issuer}/me`],
      ['console', `${stage.consoleOrigin} (name ${olga.username}, password ${olga.password})`],
      ['identity provider', `${provider.issuer} (name ${ada.username}, password ${ada.password})`],
      ['Jira, over HTTP', jira.audience],
      ['Jira, over MCP', jiraMcp.audience],
      ['admin key', `${stage.adminKeyFile} (readable only by you)`],
      ["the agent's token", `${stage.taskTokenFile} (likewise; always a valid one)`],
      ["Mandate's log", stage.logFile],
    ],
  });
  const asAgent = `-H "Authorization: Bearer $(cat ${stage.taskTokenFile})"`;
  const asOperator = `-H "Authorization: Bearer $(cat ${stage.adminKeyFile})"`;
  terminal.say('The agent has a task. Use its token; the decisions of Jira show up here:');
  terminal.command(`curl -s ${asAgent} ${jira.audience}/issues/OPS-7`);
  terminal.command(`curl -s -X POST ${asAgent} ${jira.audience}/issues/OPS-7/comments`);
  terminal.command(`curl -s ${jira.audience}/issues/OPS-7`);
  terminal.say(
    "Deleting needs Ada's yes. Open the approval_uri of the answer, sign in as Ada, say yes, and send the same command again:",
  );
  terminal.command(`curl -s -X DELETE ${asAgent} ${jira.audience}/issues/OPS-9`);
  terminal.say('The metadata that an MCP client fetches by itself (RFC 9728):');
  terminal.command(`curl -s ${new URL('/.well-known/oauth-protected-resource/mcp', jiraMcp.audience)}`);
  terminal.say(
    'Or connect your own MCP client. It registers itself, and opens your browser, where you sign in as Ada:',
  );
  terminal.command(`claude mcp add --transport http jira ${jiraMcp.audience}`);
  terminal.command(`npx mcp-remote ${jiraMcp.audience} --auth-timeout 300`);
  terminal.say('Read the ledger, and the proof of a record:');
  terminal.command(`curl -s ${asOperator} ${issuer}/audit`);
  terminal.command(`curl -s ${asOperator} ${issuer}/audit/records/2/proof`);
  terminal.say('Pull the kill switch, and use the token again, at once and some seconds later:');
  terminal.command(`curl -s -X DELETE ${asOperator} ${issuer}/admin/tasks/${task.id}`);
  terminal.say('Start the agent again, as often as you like. It gets a new task, reads an issue, and ends the task:');
  terminal.command(`sh ${stage.agentFile}`);
  terminal.say(
    'The page and the console are two sites for two people. The provider keeps one of them signed in, so open the second',
    'in a private window.',
  );
}
