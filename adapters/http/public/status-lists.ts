/** Status lists for tool servers (draft-ietf-oauth-status-list-20 §8.1, §9.3). Mount it at `/status`. */

import express, { type Request, type Response, type Router } from 'express';
import type { PublishedStatusList } from '../../../application/token/status-list.ts';
import { STATUS_LIST_TYPE, statusListUri } from '../../../domain/tasks/status-list.ts';
import { isNotModified } from '../message/head.ts';
import { answerProblem, methodNotAllowed, unknownPath } from '../message/problem-details.ts';

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

export function statusListRouter(surface: StatusListSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router
    .route('/')
    .get(async (_request, response) => {
      const lists = await surface.list();
      allowReading(surface, response).json({ status_lists: lists.map((id) => statusListUri(surface.issuer, id)) });
    })
    .all(READ_ONLY);
  router
    .route('/:listId')
    .get((request, response) => publish(surface, request, response))
    .all(READ_ONLY);
  router.use(unknownPath);
  return router;
}

async function publish(surface: StatusListSurface, request: Request<{ listId: string }>, response: Response) {
  const found = await surface.find(request.params.listId);
  if (found === undefined) {
    return answerProblem(response, {
      status: 404,
      detail: 'There is no such status list.',
      reason: 'unknown_status_list',
    });
  }
  if (request.accepts(MEDIA_TYPE) === false) {
    return answerProblem(response, {
      status: 406,
      detail: `This path answers ${MEDIA_TYPE}.`,
      reason: 'not_acceptable',
    });
  }
  const tag = `"${found.tag}"`;
  // A weak one (RFC 9110 §8.8.1): two tokens with the same statuses differ in their iat and signature.
  allowReading(surface, response).set('ETag', `W/${tag}`);
  if (isNotModified(request, tag)) {
    response.status(304).end();
    return;
  }
  const token = await found.token();
  // Without Express, which reads the request's conditions once more.
  response.set({ 'Content-Type': MEDIA_TYPE, 'Content-Length': String(token.length) }).end(token);
}

/** Scripts of any origin may read a list: an index says nothing by itself. */
function allowReading({ ttl }: StatusListSurface, response: Response): Response {
  return response.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': `public, max-age=${ttl}` });
}
