/**
 * Routes of `/admin` (specification "Admin API"), relative to that path. audit-router.ts has those of `/audit`.
 *
 * A request first shows the admin key (operator-router.ts) or, with `Service:Operators`, an operator's token (operators.ts).
 * roles.ts names the role that each route needs. Then the route's handler parses the request and calls one use case of
 * `application/admin` or `application/ledger`. If an operator changes something, the operator's act is recorded before
 * the answer. Registrations are handled here; stop-routes.ts, sponsor-routes.ts, act-routes.ts and reading-routes.ts
 * have the rest.
 */

import type { Response, Router } from 'express';
import type { AgentsPage } from '../../../application/admin/list-agents.ts';
import type { RegisterOutcome } from '../../../application/admin/register-agent.ts';
import type { RemoveOutcome } from '../../../application/admin/remove-agent.ts';
import type { UpdateOutcome } from '../../../application/admin/update-agent.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { fieldNames, type KnownFields, type RegistrationDraft } from '../../../domain/agents/registration-draft.ts';
import type { RegistrationPatch } from '../../../domain/agents/registration-patch.ts';
import { fieldErrors } from '../../../domain/field-error.ts';
import { type AgentId, parseAgentId } from '../../../domain/identifiers.ts';
import type { ActedOn } from '../acted-on.ts';
import { discardRest } from '../message/body.ts';
import { CONFLICT_RETRY_AFTER } from '../message/faults.ts';
import { readJsonBody } from '../message/json-body.ts';
import { type Answer, answerInvalid, answerProblem } from '../message/problem-details.ts';
import { PAGE_SIZE_SENTENCE, parsePageSize, readQuery } from '../message/query.ts';
import { issuerPath } from '../routes.ts';
import { type ActsSurface, listActs } from './act-routes.ts';
import { answerUnknownAgent, parsePatch, parseRegistration, presentAgent } from './agent-representation.ts';
import { type AdminAccess, type OperatorRequest, operatorRouter, type Settling } from './operator-router.ts';
import { type ReadingSurface, readingReads, treeReads } from './reading-routes.ts';
import { type SponsorSurface, sponsorChanges, sponsorReads } from './sponsor-routes.ts';
import { type StopSurface, stopChanges } from './stop-routes.ts';

export interface AdminSurface extends AdminAccess, Settling, ReadingSurface, StopSurface, SponsorSurface, ActsSurface {
  /** The `Location` of a new agent begins with the path of this address. */
  readonly issuer: string;
  /** The optional fields that requests and answers have. */
  readonly knows: KnownFields;
  register(draft: RegistrationDraft): Promise<RegisterOutcome>;
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<AgentsPage>;
  find(agentId: AgentId): Promise<Agent | undefined>;
  update(agentId: AgentId, patch: RegistrationPatch): Promise<UpdateOutcome>;
  remove(agentId: AgentId): Promise<RemoveOutcome>;
  readonly log: Log;
}

export function adminRouter(surface: ActedOn<AdminSurface>): Router {
  const hasOperators = surface.operators !== undefined;
  return operatorRouter<AdminSurface>(surface, {
    mount: '/admin',
    reads: {
      'GET /admin/agents': list,
      'GET /admin/agents/{agent_id}': show,
      ...sponsorReads,
      ...(surface.taskTree !== undefined && treeReads),
      ...(hasOperators && { ...readingReads, 'GET /admin/acts': listActs }),
    },
    changes: {
      'POST /admin/agents': register,
      'PATCH /admin/agents/{agent_id}': update,
      'DELETE /admin/agents/{agent_id}': remove,
      ...stopChanges,
      ...sponsorChanges,
    },
    unknownToOthers: hasOperators ? [] : ['/tasks'],
  });
}

async function list(surface: AdminSurface, request: OperatorRequest, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['limit', 'after']);
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE);
  const after = query.read('after', parseAgentId, 'Must be an agent_id.');
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const page = await surface.list({ limit, after });
  response.json({
    agents: page.agents.map((agent) => presentAgent(agent, surface)),
    next_after: page.nextAfter ?? null,
  });
}

async function register(surface: AdminSurface, request: OperatorRequest): Promise<Answer | undefined> {
  const body = await readJsonBody(request);
  if (body === undefined || typeof body === 'function') return body;
  const parsed = parseRegistration(body, surface);
  if (parsed.kind === 'invalid') return (response) => answerInvalid(response, parsed.errors);
  const outcome = await surface.register(parsed.value);
  return (response) => {
    switch (outcome.kind) {
      case 'invalid':
        return answerInvalid(response, outcome.errors);
      case 'name_taken':
        return answerNameTaken(response);
      case 'document_taken':
        return answerDocumentTaken(response);
      case 'already_exists': {
        const detail = 'An agent with this agent_id is registered already.';
        return answerProblem(response, { status: 409, detail, reason: 'agent_already_exists' });
      }
      case 'registered':
        response
          .status(201)
          .location(`${issuerPath(surface.issuer)}/admin/agents/${outcome.agent.agentId}`)
          .json(presentAgent(outcome.agent, surface));
    }
  };
}

async function show(surface: AdminSurface, request: OperatorRequest, response: Response): Promise<void> {
  const agentId = parseAgentId(request.params.agentId);
  const agent = agentId === undefined ? undefined : await surface.find(agentId);
  if (agent === undefined) return answerUnknownAgent(response);
  response.json(presentAgent(agent, surface));
}

const NAME_TAKEN = 'Another agent has one of these names, or has one as its agent_id, or has this agent_id as a name.';

function answerNameTaken(response: Response): void {
  const errors = fieldErrors(fieldNames.mayActNames, NAME_TAKEN);
  const detail = 'A name of the agent is the name of another one: errors says which field has it.';
  answerProblem(response, { status: 409, detail, errors, reason: 'may_act_name_taken' });
}

function answerDocumentTaken(response: Response): void {
  const errors = fieldErrors(fieldNames.clientIdDocument, 'Another agent has this document.');
  const detail = 'The URL of the document is a client_id, and names another agent.';
  answerProblem(response, { status: 409, detail, errors, reason: 'client_id_document_taken' });
}

async function update(surface: AdminSurface, request: OperatorRequest): Promise<Answer | undefined> {
  const agentId = parseAgentId(request.params.agentId);
  if (agentId === undefined) {
    discardRest(request);
    return answerUnknownAgent;
  }
  const body = await readJsonBody(request);
  if (body === undefined || typeof body === 'function') return body;
  const parsed = parsePatch(body, surface);
  if (parsed.kind === 'invalid') return (response) => answerInvalid(response, parsed.errors);
  const outcome = await surface.update(agentId, parsed.value);
  return (response) => {
    switch (outcome.kind) {
      case 'invalid':
        return answerInvalid(response, outcome.errors);
      case 'not_found':
        return answerUnknownAgent(response);
      case 'name_taken':
        return answerNameTaken(response);
      case 'document_taken':
        return answerDocumentTaken(response);
      case 'kept_changing': {
        response.set('Retry-After', String(CONFLICT_RETRY_AFTER));
        const detail = 'Other changes of this agent were stored first, and this one was not stored. Retry the request.';
        return answerProblem(response, {
          status: 503,
          error: 'temporarily_unavailable',
          detail,
          reason: 'agent_kept_changing',
        });
      }
      case 'updated':
        response.json(presentAgent(outcome.agent, surface));
    }
  };
}

async function remove(surface: AdminSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const agentId = parseAgentId(request.params.agentId);
  const outcome = agentId === undefined ? 'not_found' : await surface.remove(agentId);
  return (response) => {
    switch (outcome) {
      case 'not_found':
        return answerUnknownAgent(response);
      case 'has_tasks': {
        const detail =
          'Tasks of this agent are still stored. Stop them, disable the agent, and delete it once they are gone.';
        return answerProblem(response, { status: 409, detail, reason: 'agent_has_tasks' });
      }
      case 'named_by_others': {
        const detail = 'Another agent names this one in its delegates_to. Take it out there, and delete it then.';
        return answerProblem(response, { status: 409, detail, reason: 'agent_named_by_others' });
      }
      case 'removed':
        response.status(204).end();
    }
  };
}
