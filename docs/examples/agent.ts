/** An agent that reads one issue for a person, at a tool server over HTTP. */

import { readFile } from 'node:fs/promises';
import { createAgent, NotNow, Refused, TaskOver } from '@mandate/agent';

const { MANDATE_ISSUER = '', AGENT_ID = '', KEY_FILE = '', SUBJECT_TOKEN = '', RESOURCE = '' } = process.env;
/** The tool server's address, if it differs from the audience of its tokens. */
const { TOOL_SERVER = RESOURCE } = process.env;

const key = { pem: await readFile(KEY_FILE, 'utf8') };
const agent = createAgent({ issuer: MANDATE_ISSUER, agentId: AGENT_ID, key });

try {
  const scope = ['jira:read', 'jira:comment'];
  const task = await agent.startTask({
    subjectToken: SUBJECT_TOKEN,
    resource: RESOURCE,
    scope,
    origins: [TOOL_SERVER],
  });
  try {
    await task.narrow(['jira:read']);
    const answer = await task.fetch(`${TOOL_SERVER}/issues/OPS-7`);
    console.log(await answer.text());
  } finally {
    await task.end();
  }
} catch (error) {
  if (error instanceof TaskOver) console.error(`Stopped: ${error.reason}`);
  else if (error instanceof NotNow) console.error(`Later, in ${error.retryAfterMs} ms`);
  else if (error instanceof Refused) console.error(`No: ${error.reason ?? error.error}`);
  else throw error;
  process.exitCode = 1;
}
