/** An agent that lets a sub-agent read one issue, over A2A. The sub-agent gets an offer, and no token. */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { createAgent, NotNow, Refused, TaskOver } from '@mandate/agent';

const { MANDATE_ISSUER = '', AGENT_ID = '', KEY_FILE = '', SUBJECT_TOKEN = '', RESOURCE = '' } = process.env;
/** The address of the sub-agent, and its id in its registration. */
const { READER = '', READER_ID = '' } = process.env;

const key = { pem: await readFile(KEY_FILE, 'utf8') };
const agent = createAgent({ issuer: MANDATE_ISSUER, agentId: AGENT_ID, key });

try {
  const scope = ['jira:read', 'jira:comment'];
  const task = await agent.startTask({ subjectToken: SUBJECT_TOKEN, resource: RESOURCE, scope });
  try {
    const reader = await new ClientFactory().createFromUrl(READER);
    const offer = await task.handOver({ to: READER_ID, scope: ['jira:read'] });
    const parts = [{ data: { offer: offer.text, issue: 'OPS-7' } }];
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts };
    const answer = await reader.sendMessage(SendMessageRequest.fromJSON({ message }));
    console.log('parts' in answer ? answer.parts[0]?.content?.value : 'The sub-agent has sent no message.');
  } finally {
    // It ends the task of the sub-agent too.
    await task.end();
  }
} catch (error) {
  if (error instanceof TaskOver) console.error(`Stopped: ${error.reason}`);
  else if (error instanceof NotNow) console.error(`Later, in ${error.retryAfterMs} ms`);
  else if (error instanceof Refused) console.error(`No: ${error.reason ?? error.error}`);
  else throw error;
  process.exitCode = 1;
}
