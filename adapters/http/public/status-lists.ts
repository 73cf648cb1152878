/** Status lists for tool servers (draft-ietf-oauth-status-list-20 §8.1, §9.3), at `/status`. */

import express, { type Request, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { PublishedStatusList } from '../../../application/token/status-list.ts';
import {
  isStatusListId,
  STATUS_LIST_PATH,
  STATUS_LIST_TYPE,
  statusListUri,
} from '../../../domain/tasks/status-list.ts';
import { faultAnswer } from '../message/faults.ts';
import { isNotModified } from '../message/head.ts';
import { answerProblem, methodNotAllowed, problemFaults, unknownPath } from '../message/problem-details.ts';
import { type FrontHandler, type OptionalPath, OTHER, pathOf } from '../routes.ts';
import type { ServedRequest, ServedResponse } from '../server/message-classes.ts';

export interface StatusListSurface {
  /** `undefined` if there is no such list. */
  find(listId: string): Promise<PublishedStatusList | undefined>;
  /** The ids of all lists. */
  list(): Promise<readonly string[]>;
  readonly issuer: string;
  /** Seconds: `Service:StatusLists:Ttl`. */
  readonly ttl: number;
}

const MEDIA_TYPE = `application/${STATUS_LIST_TYPE}`;
const READ_ONLY = methodNotAllowed('GET, HEAD');

const LIST_PREFIX = `${STATUS_LIST_PATH}/`;
const LIST_ROUTE = `${LIST_PREFIX}:listId`;

/** With `Service:StatusLists:Enabled`. A tool server asks for a list instead of introspecting. */
export function statusListPath(surface: StatusListSurface, log: Log): OptionalPath {
  return {
    path: STATUS_LIST_PATH,
    route: { ...OTHER, bucket: 'introspection', work: 'introspection', metric: 'status_lists' },
    router: statusListRouter(surface),
    inFront: statusListEndpoint(surface, log),
    // draft-ietf-oauth-status-list-20 §9.1.
    advertisedAs: 'status_list_aggregation_endpoint',
  };
}

/** In front of Express, which would take much of a poll's CPU time. */
function statusListEndpoint(surface: StatusListSurface, log: Log) {
  const answerError = faultAnswer(log, problemFaults);
  return ({ method, url = '' }: ServedRequest): FrontHandler | undefined => {
    if (!url.startsWith(LIST_PREFIX) || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const listId = pathOf(url).slice(LIST_PREFIX.length);
    if (!isStatusListId(listId)) return undefined;
    const serve = (request: ServedRequest, response: ServedResponse) => {
      publish(surface, listId, request, response).catch((error: unknown) => {
        if (response.headersSent) request.socket.destroy();
        else answerError(error, request, response);
      });
    };
    return { route: LIST_ROUTE, serve };
  };
}

function statusListRouter(surface: StatusListSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router
    .route('/')
    .get(async (_request, response) => {
      const lists = await surface.list();
      response.set(readable(surface)).json({ status_lists: lists.map((id) => statusListUri(surface.issuer, id)) });
    })
    .all(READ_ONLY);
  router
    .route('/:listId')
    .get((request, response) => publish(surface, request.params.listId, request, response))
    .all(READ_ONLY);
  router.use(unknownPath);
  return router;
}

async function publish(
  surface: StatusListSurface,
  listId: string,
  request: ServedRequest,
  response: ServedResponse,
): Promise<void> {
  const found = await surface.find(listId);
  if (found === undefined) {
    return answerProblem(response, {
      status: 404,
      detail: 'There is no such status list.',
      reason: 'unknown_status_list',
    });
  }
  if (!accepts(request)) {
    return answerProblem(response, {
      status: 406,
      detail: `This path answers ${MEDIA_TYPE}.`,
      reason: 'not_acceptable',
    });
  }
  const tag = `"${found.tag}"`;
  // A weak one (RFC 9110 §8.8.1): two tokens with the same statuses differ in their iat and signature.
  const headers = { ...readable(surface), ETag: `W/${tag}` };
  if (isNotModified(request, tag)) {
    response.writeHead(304, headers).end();
    return;
  }
  const token = await found.token();
  response.writeHead(200, { ...headers, 'Content-Type': MEDIA_TYPE, 'Content-Length': token.length }).end(token);
}

/** Tool servers send exactly this type. */
function accepts(request: ServedRequest): boolean {
  const { accept } = request.headers;
  // Each request has Express's prototype, also in front of Express (`messageClasses`).
  return accept === undefined || accept === MEDIA_TYPE || (request as Request).accepts(MEDIA_TYPE) !== false;
}

/** Scripts of any origin may read a list: an index says nothing by itself. */
function readable({ ttl }: StatusListSurface) {
  return { 'Access-Control-Allow-Origin': '*', 'Cache-Control': `public, max-age=${ttl}` };
}
