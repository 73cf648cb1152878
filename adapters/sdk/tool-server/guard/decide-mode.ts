/**
 * The mode `decide`: a gateway asks at `/decide` whether a request may pass, and passes it on itself. The gateway reads the
 * status of the answer, and copies headers from it to the request.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { authorizationHeaders } from '../core/bearer-token.ts';
import { answerRefusal, type Refusal } from '../core/refusal.ts';
import type { ToolServer } from '../core/tool-server.ts';
import type { GuardConfiguration } from './configuration.ts';
import { replacesRequest } from './forwarded-headers.ts';
import type { GuardMode } from './guard-mode.ts';
import { guardRoutes, MALFORMED } from './guard-routes.ts';
import { type IdentityHeaders, identityHeaders, type Naming, namingOf } from './identity-headers.ts';
import { originalRequest } from './original-request.ts';
import { closeOwnAnswer, openOwnAnswer } from './own-answer.ts';
import { hasBody } from './request-body.ts';

/** Some gateways append the query of the request that they ask about. */
const QUESTION = /^\/decide(?:\?|$)/;

/** A body is neither needed nor read. */
const REQUEST_MS = 30_000;

export function decideMode(toolServer: ToolServer, configuration: GuardConfiguration): GuardMode {
  let rules = rulesOf(toolServer, configuration);
  return {
    requestMs: REQUEST_MS,
    use(nextServer, next) {
      rules = rulesOf(nextServer, next);
    },
    answer(request, response, isMalformed) {
      // A gateway that keeps the body back, but not its length, sends its next question where the body would be.
      if (hasBody(request)) response.setHeader('Connection', 'close');
      return decide(rules, request, response, isMalformed);
    },
    close: () => undefined,
  };
}

interface Rules {
  readonly toolServer: ToolServer;
  readonly configuration: GuardConfiguration;
  readonly naming: Naming;
  readonly find: ReturnType<typeof guardRoutes>;
}

function rulesOf(toolServer: ToolServer, configuration: GuardConfiguration): Rules {
  const naming = namingOf(configuration);
  return { toolServer, configuration, naming, find: guardRoutes(toolServer, configuration) };
}

async function decide(
  { toolServer, configuration, naming, find }: Rules,
  request: IncomingMessage,
  response: ServerResponse,
  isMalformed: boolean,
): Promise<void> {
  const { url = '', rawHeaders, headers } = request;
  openOwnAnswer(configuration.origins, request, response);
  // The gateway would pass a header on that replaces the request.
  const isQuestion = !isMalformed && QUESTION.test(url) && !replacesRequest(rawHeaders);
  const original = isQuestion ? originalRequest(rawHeaders) : undefined;
  const found = original === undefined ? MALFORMED : find(original.method, original.path);
  if (found === 'open') {
    allow(response, identityHeaders(undefined, naming));
    return;
  }
  const authorization = authorizationHeaders(rawHeaders, headers);
  const { route, policy } = found;
  const access = await toolServer.authorize({ route, policy, authorization, headers });
  if (access.kind === 'refused') answerRefusal(response, forGateway(access));
  else allow(response, identityHeaders(access.claims, naming));
}

function allow(response: ServerResponse, headers: IdentityHeaders): void {
  closeOwnAnswer(response);
  // A gateway that caches answers would let a later request pass undecided.
  response.writeHead(204, { ...headers, 'Cache-Control': 'no-store' }).end();
}

/** nginx makes a 500 of each refusal but 401 and 403. Others would pass a 400 on, but only this way all do the same. */
function forGateway(refusal: Refusal): Refusal {
  return refusal.status === 400 ? { ...refusal, status: 403 } : refusal;
}
