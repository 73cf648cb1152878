/**
 * The steps of the quickstart in order. A person signs in, an agent acts for her within limits, and tool servers enforce
 * these. She says yes to a single call. Authority ends when it is revoked, also by the person. The ledger records everything. Each chapter checks its results.
 */

import type { Agent } from '@mandate/agent';
import type { AgentIdentity } from './agent.ts';
import { aStockClientWalksIn } from './chapters/any-client.ts';
import { sheApprovesACall } from './chapters/approval.ts';
import { anAuditorVerifiesTheLedger } from './chapters/audit.ts';
import { theOperatorBlocksHer } from './chapters/block.ts';
import { anOperatorStopsATask } from './chapters/console.ts';
import { theAgentIsDone } from './chapters/end.ts';
import { aReplayIsRefused, aThirdPartyVerifiesIt, theAgentExchangesHerToken } from './chapters/exchange.ts';
import { theOperatorPullsTheKillSwitch } from './chapters/kill-switch.ts';
import { theLedgerHasEveryDecision } from './chapters/ledger.ts';
import { theAgentUsesALibrary } from './chapters/library.ts';
import { theAgentUsesMcpTools } from './chapters/mcp.ts';
import { sheStopsATask } from './chapters/page.ts';
import { anOperatorRegistersAnAgent } from './chapters/registration.ts';
import { theAgentWorksThroughARenewal } from './chapters/renewal.ts';
import { aPersonSignsIn } from './chapters/sign-in.ts';
import { aToolServerChecksEveryRequest } from './chapters/tool-server.ts';
import { text } from './http.ts';
import type { Stage } from './stage.ts';
import type { Terminal } from './terminal.ts';

/** Used by the quickstart after the last step. */
export interface Cast {
  readonly agent: Agent;
  readonly identity: AgentIdentity;
  /** Ada's access token. */
  readonly subjectToken: string;
}

export async function tellStory(stage: Stage, terminal: Terminal): Promise<Cast> {
  const subjectToken = await aPersonSignsIn(stage, terminal);
  const identity = await anOperatorRegistersAnAgent(stage, terminal);
  const exchange = await theAgentExchangesHerToken(stage, terminal, identity, subjectToken);
  await aThirdPartyVerifiesIt(stage, terminal, text(exchange.answer, 'access_token'));
  await aReplayIsRefused(terminal, exchange);
  const { agent, task } = await theAgentUsesALibrary(stage, terminal, identity, subjectToken);
  await aToolServerChecksEveryRequest(stage, terminal, task);
  await theAgentWorksThroughARenewal(stage, terminal, task);
  await theAgentUsesMcpTools(stage, terminal, agent, subjectToken);
  await theAgentIsDone(stage, terminal, task);
  await sheApprovesACall(stage, terminal, agent, subjectToken);
  await sheStopsATask(stage, terminal, agent, subjectToken);
  await aStockClientWalksIn(stage, terminal);
  await anOperatorStopsATask(stage, terminal, agent, subjectToken);
  const killed = await theOperatorPullsTheKillSwitch(stage, terminal, agent, subjectToken);
  await theOperatorBlocksHer(stage, terminal, agent, subjectToken);
  await theLedgerHasEveryDecision(stage, terminal, killed.id);
  await anAuditorVerifiesTheLedger(stage, terminal, killed.id);
  return { agent, identity, subjectToken };
}
