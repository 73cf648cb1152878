/** A sub-agent that other agents reach over A2A: it takes up the offer in a message, reads the issue, and answers. */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AgentCard, Message } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { createAgent, Refused } from '@mandate/agent';
import express from 'express';

const { MANDATE_ISSUER = '', AGENT_ID = '', KEY_FILE = '', TOOL_SERVER = '', PORT = '0' } = process.env;

const key = { pem: await readFile(KEY_FILE, 'utf8') };
const agent = createAgent({ issuer: MANDATE_ISSUER, agentId: AGENT_ID, key, instance: `reader-${process.pid}` });

async function readIssue({ offer = '', issue = '' }: { readonly offer?: string; readonly issue?: string }) {
  // The token goes to this tool server only, whatever the offer says.
  const task = await agent.takeUp(offer, { origins: [TOOL_SERVER] });
  try {
    const answer = await task.fetch(`${TOOL_SERVER}/issues/${encodeURIComponent(issue)}`);
    return await answer.text();
  } finally {
    await task.end();
  }
}

const executor: AgentExecutor = {
  async execute({ userMessage, contextId }, bus) {
    const content = userMessage.parts[0]?.content;
    const text = await readIssue(content?.$case === 'data' ? content.value : {}).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      return `No: ${error.reason ?? error.error}`;
    });
    bus.publish(
      AgentEvent.message(
        Message.fromJSON({ messageId: randomUUID(), contextId, role: 'ROLE_AGENT', parts: [{ text }] }),
      ),
    );
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const card = AgentCard.fromJSON({
    name: 'Reader',
    description: 'Reads an issue. The first part of a message is data: {offer, issue}.',
    version: '1.0.0',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [
      { id: 'read', name: 'Read an issue', description: 'Reads one issue for the person of the offer.', tags: [] },
    ],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  // An offer works for this agent only, so a message needs no other credential. Add your own sign-in if you want one.
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(`Listening on ${url}`);
});
