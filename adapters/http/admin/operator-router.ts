/** The router of `/admin` and `/audit`, with the check of the admin key, and the parser of a path. */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { fieldErrors } from '../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../domain/identifiers.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type ActedOn, actedOnBy } from '../acted-on.ts';
import { requireBearer } from '../message/bearer.ts';
import { discardRest } from '../message/body.ts';
import { neverStored } from '../message/head.ts';
import {
  type Answer,
  answerFaults,
  answerInvalid,
  answerProblem,
  methodNotAllowed,
  unknownPath,
} from '../message/problem-details.ts';
import { authenticateOperator, type OperatorAccess, requireOperator } from './operators.ts';
import type { AdminRoute } from './roles.ts';

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Writes the record of a refused request. */
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
  /** `undefined` without `Service:Operators`. */
  readonly operators?: OperatorAccess | undefined;
}

/** Requires the admin key (specification "Authentication"), or of an operator a valid access token. */
export function requireAdminKey({ apiKey, refuse, operators }: AdminAccess): RequestHandler {
  if (operators !== undefined) return authenticateOperator({ apiKey, refuse }, operators);
  if (apiKey !== undefined) {
    return requireBearer({ credentials: [apiKey], refuse }, (response, reason) =>
      answerProblem(response, { status: 401, detail: 'The admin key is missing or wrong.', reason }),
    );
  }
  return (request, response) => {
    discardRest(request);
    const detail = 'The admin API is disabled: no admin key is configured.';
    answerProblem(response, { status: 503, detail, reason: 'admin_api_disabled' });
  };
}

/** The part of a surface that settles a change before it is answered. */
export interface Settling {
  /** Records the act of the request's operator, unless a decision has. Absent without an act. */
  settle?(): Promise<void>;
}

/** The parameters of the paths. A handler reads those of its own path. */
type PathParameters = Readonly<Record<'agentId' | 'taskId' | 'sponsorKey' | 'seq', string>>;
export type OperatorRequest = Request<PathParameters>;

type ReadRoute = Extract<AdminRoute, `GET ${string}`>;
type Read<Surface> = (surface: Surface, request: OperatorRequest, response: Response) => Promise<void>;
export type Reads<Surface> = { readonly [Route in ReadRoute]?: Read<Surface> };

type ChangeRoute = Exclude<AdminRoute, ReadRoute>;
/**
 * What the handler did is durable, and so is the record of who asked for it, before the answer leaves. It returns
 * `undefined` if the client has disconnected.
 */
type Change<Surface> = (surface: Surface, request: OperatorRequest) => Promise<Answer | undefined>;
export type Changes<Surface> = { readonly [Route in ChangeRoute]?: Change<Surface> };

interface Routes<Surface> {
  /** The path at which the router is mounted: the routes begin with it. */
  readonly mount: string;
  readonly reads: Reads<Surface>;
  readonly changes: Changes<Surface>;
  /** Paths that are unknown to all other methods. Any other path answers these with 405. */
  readonly unknownToOthers?: readonly string[];
}

/** Serves the routes below the mount path to the holder of the admin key, and to operators by role. */
export function operatorRouter<Surface extends AdminAccess & Settling & { readonly log: Log }>(
  surface: ActedOn<Surface>,
  { mount, reads, changes, unknownToOthers = [] }: Routes<Surface>,
): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(neverStored);
  router.use(requireAdminKey(surface));
  const methods = new Map<string, string[]>();
  const serve = (route: AdminRoute, handle: RequestHandler<PathParameters>) => {
    const [method = '', address = ''] = route.split(' ');
    const path = patternOf(address.slice(mount.length));
    const permit = requireOperator(surface.operators, route) as RequestHandler<PathParameters>;
    router[method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete'](path, permit, handle);
    methods.set(path, [...(methods.get(path) ?? []), method === 'GET' ? 'GET, HEAD' : method]);
  };
  for (const [route, read] of Object.entries(reads) as [ReadRoute, Read<Surface>][]) {
    serve(route, (request, response) => read(surface, request, response));
  }
  for (const [route, change] of Object.entries(changes) as [ChangeRoute, Change<Surface>][]) {
    serve(route, async (request, response) => {
      const own = actedOnBy<Surface>(surface, request.act);
      const answer = await change(own, request);
      await own.settle?.();
      answer?.(response);
    });
  }
  for (const [path, allowed] of methods) {
    if (!unknownToOthers.includes(path)) router.all(path, methodNotAllowed(allowed.join(', ')));
  }
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

/** `/agents/{agent_id}` as Express writes it: `/agents/:agentId`. */
function patternOf(path: string): string {
  const camelCase = (name: string) => name.replace(/_(\w)/, (_part, letter) => letter.toUpperCase());
  return path.replace(/\{(\w+)\}/, (_part, name) => `:${camelCase(name)}`) || '/';
}

export const SPONSOR_KEY_SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** Parses a sponsor key in a path (specification "Admin API"). Returns the answer if it is invalid. */
export function readSponsorKey(text: string): SponsorKey | Answer {
  const invalid: Answer = (response) => answerInvalid(response, fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE));
  return parseSponsorKey(text) ?? invalid;
}
