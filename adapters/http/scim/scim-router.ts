/**
 * Routes of `/scim` (specification "/scim/v2"), relative to that path: an identity provider reports which people are
 * active. A request shows a bearer credential. requests.ts parses its query and body,
 * `application/signals/provision-user.ts` decides the write and its effects on people, and answers.ts writes SCIM
 * messages. self-description.ts says what is supported.
 */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { UsersPage } from '../../../application/ports/users.ts';
import type { removeUser, UsersListing, WriteOutcome } from '../../../application/signals/provision-user.ts';
import { parseUserId, type UserId } from '../../../domain/identifiers.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { type PersonAttribute, USER_SCHEMA } from '../../../domain/signals/user-attribute.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { type BearerAccess, requireBearer } from '../message/bearer.ts';
import { discardRest } from '../message/body.ts';
import { faultHandler } from '../message/faults.ts';
import { neverStored } from '../message/head.ts';
import {
  answerInvalid,
  answerNotHere,
  answerRefusedWrite,
  answerScimError,
  answerUnauthenticated,
  listResponse,
  locationOf,
  presentUser,
  presentUsers,
  scimFaults,
  sendScim,
} from './answers.ts';
import { readListQuery, readScimBody } from './requests.ts';
import { serviceProviderConfig, userResourceType, userSchema } from './self-description.ts';

export interface ScimSurface extends BearerAccess {
  /** The service's own address, without a trailing slash. */
  readonly issuer: string;
  /** The attribute that names the person. */
  readonly person: PersonAttribute;
  create(body: JsonObject): Promise<WriteOutcome>;
  find(userId: UserId): Promise<ProvisionedUser | undefined>;
  list(listing: UsersListing): Promise<UsersPage>;
  replace(userId: UserId, body: JsonObject): Promise<WriteOutcome>;
  patch(userId: UserId, body: JsonObject): Promise<WriteOutcome>;
  remove(userId: UserId): ReturnType<typeof removeUser>;
}

/** @param surface `undefined` if the receiver is not configured: every path is then unknown */
export function scimRouter(surface: ScimSurface | undefined, log: Log): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(neverStored);
  if (surface !== undefined) {
    router.use(requireBearer(surface, answerUnauthenticated));
    router.use('/v2', versionTwo(surface));
  }
  router.use(nothingHere);
  router.use(faultHandler(log, scimFaults));
  return router;
}

function versionTwo(surface: ScimSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const baseUrl = `${surface.issuer}/scim/v2`;
  router.use(toleratedSlashes);
  router
    .route('/Users')
    .get((request, response) => list(surface, baseUrl, request, response))
    .post((request, response) => create(surface, baseUrl, request, response))
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/Users/:userId')
    .get((request, response) => show(surface, baseUrl, request.params.userId, response))
    .put((request, response) => change(surface.replace, baseUrl, request, response))
    .patch((request, response) => change(surface.patch, baseUrl, request, response))
    .delete((request, response) => remove(surface, request, response))
    .all(methodNotAllowed('GET, HEAD, PUT, PATCH, DELETE'));

  const resourceType = userResourceType(baseUrl);
  const schema = userSchema(baseUrl, surface.person);
  const documents: readonly (readonly [path: string, document: unknown])[] = [
    ['/ServiceProviderConfig', serviceProviderConfig(baseUrl)],
    ['/ResourceTypes', listResponse([resourceType])],
    ['/ResourceTypes/User', resourceType],
    ['/Schemas', listResponse([schema])],
    [`/Schemas/${USER_SCHEMA.replaceAll(':', '\\:')}`, schema],
  ];
  for (const [path, document] of documents) {
    router
      .route(path)
      .get((_request, response) => sendScim(response, 200, document))
      .all(methodNotAllowed('GET, HEAD'));
  }
  return router;
}

async function list(surface: ScimSurface, baseUrl: string, request: Request, response: Response): Promise<void> {
  const query = readListQuery(request.originalUrl);
  if (query.kind === 'invalid') return answerInvalid(response, query);
  const { filter, startIndex, count } = query;
  const page = await surface.list({ filter, startIndex, count });
  sendScim(response, 200, presentUsers(page, startIndex, baseUrl));
}

async function create(surface: ScimSurface, baseUrl: string, request: Request, response: Response): Promise<void> {
  const body = await readScimBody(request, response);
  if (body === undefined) return;
  const outcome = await surface.create(body);
  if (outcome.kind !== 'written') return answerRefusedWrite(response, outcome);
  response.setHeader('Location', locationOf(outcome.user, baseUrl));
  sendScim(response, 201, presentUser(outcome.user, baseUrl));
}

async function show(surface: ScimSurface, baseUrl: string, id: string, response: Response): Promise<void> {
  const userId = parseUserId(id);
  const user = userId === undefined ? undefined : await surface.find(userId);
  if (user === undefined) return answerNotHere(response);
  sendScim(response, 200, presentUser(user, baseUrl));
}

async function change(
  write: ScimSurface['replace' | 'patch'],
  baseUrl: string,
  request: Request<{ userId: string }>,
  response: Response,
): Promise<void> {
  const userId = parseUserId(request.params.userId);
  if (userId === undefined) {
    discardRest(request);
    return answerNotHere(response);
  }
  const body = await readScimBody(request, response);
  if (body === undefined) return;
  const outcome = await write(userId, body);
  if (outcome.kind !== 'written') return answerRefusedWrite(response, outcome);
  sendScim(response, 200, presentUser(outcome.user, baseUrl));
}

async function remove(surface: ScimSurface, request: Request<{ userId: string }>, response: Response): Promise<void> {
  discardRest(request);
  const userId = parseUserId(request.params.userId);
  const outcome = userId === undefined ? 'not_found' : await surface.remove(userId);
  if (outcome === 'removed') response.status(204).end();
  else answerRefusedWrite(response, { kind: outcome });
}

/**
 * Operators often enter a base address with a trailing slash (supplement "SCIM"). So `/v2//Users` and `/v2/Users/` become
 * `/v2/Users`. Express routes by the changed `request.url`.
 */
const toleratedSlashes: RequestHandler = (request, _response, next) => {
  request.url = request.url.replace(/^\/\//, '/').replace(/^\/Users\/(?=\?|$)/, '/Users');
  next();
};

const nothingHere: RequestHandler = (request, response) => {
  discardRest(request);
  answerNotHere(response);
};

function methodNotAllowed(allow: string): RequestHandler {
  return (request, response) => {
    discardRest(request);
    response.setHeader('Allow', allow);
    answerScimError(response, { status: 405, detail: `This path answers ${allow}.`, reason: 'method_not_allowed' });
  };
}
