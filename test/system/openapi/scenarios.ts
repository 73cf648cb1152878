/**
 * How a test gets each example answer of the OpenAPI document: it makes the state that the answer needs, and replaces
 * values of the example request. The scenarios run in this order. A key is the operation, the status and the name of
 * the example, if there is one.
 */

import { getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import { type Answer, type Mandate, recordsOf } from '../../support/mandate.ts';
import { type Changes, ME_AUDIENCE } from '../../support/openapi/send-example.ts';

import { operatorToken, ROLE_VALUES } from '../../support/operators.ts';
import { scimClient } from '../../support/scim-client.ts';
import { asks, digestOf } from '../../support/tool-server/approval-request.ts';
import { PUSH_HEADERS } from '../../support/transmitter.ts';
import type { World } from './world.ts';

export interface Scenario {
  readonly changes?: Changes;
  /** The address to which the request is sent, by default that of `mandate`. */
  readonly url?: string;
  /** Keeps a part of the answer for later scenarios, or restores the state. */
  followUp?(answer: Answer): unknown;
}

type Arrange = (world: World) => Scenario | Promise<Scenario>;

const sent = (changes: Changes): Scenario => ({ changes });
const nothing: Arrange = () => ({});
const withBody = (body: Changes['body'] & object, request?: string): Scenario =>
  sent(request === undefined ? { body } : { body, request });

const exchange = ({ agent }: World, form: Readonly<Record<string, unknown>> = {}): Scenario =>
  withBody({ subject_token: agent.subjectToken(), actor_token: agent.assertion(), ...form }, 'exchange');

async function refresh({ agent }: World, form: Readonly<Record<string, unknown>> = {}): Promise<Scenario> {
  const grant = 'refresh_token' in form ? {} : { refresh_token: await agent.grant() };
  return withBody({ ...grant, client_assertion: agent.assertion(), ...form }, 'refresh');
}

async function issued({ agent }: World, instance?: string): Promise<Readonly<Record<string, string>>> {
  const answer = await agent.exchange(instance === undefined ? {} : { actor_token: agent.assertion({ instance }) });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body as Record<string, string>;
}

type StartedTask = Awaited<ReturnType<typeof issued>>;

/** A request of the tool server about a task, by default a new one. */
async function asked(world: World, task?: StartedTask, claims: object = {}): Promise<Scenario> {
  const { access_token: token, task_id: taskId } = task ?? (await issued(world));
  return withBody({ token, request: world.asking.request(taskId, claims) });
}

/** The person answers what the tool server asks about the task. */
async function answered({ mandate, asking }: World, task: StartedTask, answer: 'approve' | 'refuse') {
  const { body } = await asks(mandate, task.access_token, asking.request(task.task_id));
  await mandate.answer(String(body.approval_id), answer);
}

async function listOf(world: World) {
  const { uri } = getStatusListFromJWT(String((await issued(world)).access_token));
  return { path: { list_id: uri.split('/').at(-1) ?? '' } };
}

/** Ends the tasks of the person and starts a new one. */
async function freshTask(world: World, sponsor: string): Promise<void> {
  await world.mandate.admin('DELETE', `/admin/sponsors/${sponsor}/tasks`);
  await issued(world);
}

export const SESSION_REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const ACCOUNT_DISABLED = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled';

async function pushed({ mandate, transmitter }: World, person: string): Promise<void> {
  const body = transmitter.event(ACCOUNT_DISABLED, person);
  const answer = await mandate.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
  if (answer.status !== 202) throw new Error(answer.text);
}

/** The approval of a new task of another person than that of the examples. */
async function approvalOfGrace({ mandate, agent, asking }: World): Promise<TaskApproval> {
  await mandate.admin('DELETE', '/admin/sponsors/grace/tasks');
  const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: 'grace' })).body;
  return mandate.approval(String((await asks(mandate, token, asking.request(taskId))).body.approval_id));
}

async function answeredByGrace(world: World, body: object = {}, claims: object = {}, given?: TaskApproval) {
  const { approvalId, commitment } = given ?? (await approvalOfGrace(world));
  const signedIn = { sub: 'grace', auth_time: world.mandate.clock.seconds(), ...claims };
  return asPerson(world, { path: { approval_id: approvalId }, body: { commitment, ...body } }, signedIn);
}

/** The owner of the database has changed its words. */
async function alteredOfGrace(world: World): Promise<TaskApproval> {
  const approval = await approvalOfGrace(world);
  await world.mandate.sql(`update approvals set title = 'Pay 5 EUR' where approval_id = '${approval.approvalId}'`);
  return approval;
}

/** A person with one record. */
function asHedy(world: World, changes: Changes = {}): Scenario {
  return asPerson(world, changes, { sub: 'hedy' });
}

function asPerson({ mandate }: World, changes: Changes, claims: object): Scenario {
  const token = mandate.provider.mintAccessToken({ aud: ME_AUDIENCE, ...claims });
  return sent({ ...changes, headers: { authorization: `Bearer ${token}` } });
}

const DAY_MS = 86_400_000;
const day = (offset: number) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
const unknown = { path: { agent_id: 'nobody' } };
const user = ({ userId }: World): Scenario => sent({ path: { id: userId } });
/** The headers of a change by Olga, who has every role. */
const byOperator = (mandate: Mandate) => ({
  authorization: `Bearer ${operatorToken(mandate, { roles: Object.values(ROLE_VALUES) })}`,
  'mandate-reason': 'Incident 4711',
});
const json: Changes['headers'] = { accept: 'application/json' };

export const scenarios: Readonly<Record<string, Arrange>> = {
  'registerAgent 201 agent': nothing,
  'registerAgent 409 agent_already_exists': nothing,
  'registerAgent 409 may_act_name_taken': ({ deaf }) => ({
    // Another agent's id is a name of that agent.
    changes: { body: { agent_id: 'another', may_act_names: [{ sub: 'jira-triage' }] } },
    url: deaf.url,
  }),
  'registerAgent 400 invalid_fields': () => withBody({ allowed_scopes: [], max_delegation_depth: 9 }),
  'registerAgent 400 malformed_body': () => sent({ text: '[]' }),
  'registerAgent 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'listAgents 200 page': nothing,
  'listAgents 400 invalid_fields': () => sent({ query: { limit: '0' } }),
  'getAgent 200 agent': nothing,
  'getAgent 404 unknown_agent': () => sent(unknown),
  'updateAgent 200 narrow': ({ mandate }) => ({
    followUp: () =>
      mandate.admin('PATCH', '/admin/agents/jira-triage', {
        allowed_scopes: ['jira:read', 'jira:comment', 'jira:admin'],
      }),
  }),
  'updateAgent 200 disable': ({ mandate }) => ({
    followUp: () => mandate.admin('PATCH', '/admin/agents/jira-triage', { enabled: true }),
  }),
  'updateAgent 200 name': ({ deaf }) => ({ url: deaf.url }),
  'updateAgent 409 may_act_name_taken': ({ deaf }) => ({
    changes: { path: { agent_id: 'wiki-editor' }, request: 'name' },
    url: deaf.url,
  }),
  'updateAgent 400 invalid_fields': () => withBody({ agent_id: 'another' }),
  'updateAgent 404 unknown_agent': () => sent(unknown),
  'updateAgent 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'deleteAgent 204': () => sent({ path: { agent_id: 'wiki-editor' } }),
  'deleteAgent 404 unknown_agent': () => sent(unknown),
  'getAgentKeys 200 keys': nothing,
  'getAgentKeys 404 no_inline_keys': () => sent(unknown),

  async 'listMyTasks 200 page'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'listMyTasks 400 invalid_fields': () => sent({ query: { limit: '0' } }),
  'listMyTasks 503 subject_keys_unavailable': ({ lonely }) => ({ url: lonely.url }),
  async 'stopMyTask 200 stopped'(world) {
    const { task_id = '' } = await issued(world);
    return sent({ path: { task_id } });
  },
  async 'stopMyTask 200 repeated'(world) {
    const { task_id = '' } = await issued(world);
    await world.mandate.admin('DELETE', `/admin/tasks/${task_id}`);
    return sent({ path: { task_id } });
  },
  'stopMyTask 404 unknown_task': nothing,
  async 'stopMyAgent 200 stopped'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'stopMyAgent 200 repeated': nothing,
  async 'stopMyTasks 200 stopped'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'stopMyTasks 200 repeated': nothing,
  'resumeMyAgents 404 not_blocked': nothing,
  async 'resumeMyAgents 409 sponsor_block_not_owned'({ mandate }) {
    await mandate.block('ada', 'disabled');
    return { followUp: () => mandate.admin('DELETE', '/admin/sponsors/ada/block') };
  },
  'pauseMyAgents 409 pause_not_liftable': ({ mandate }) => {
    const token = mandate.provider.mintAccessToken({ aud: ME_AUDIENCE });
    return sent({ headers: { authorization: `Bearer ${token}` } });
  },
  async 'pauseMyAgents 200 paused'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'resumeMyAgents 401 sign_in_too_old': ({ mandate }) => {
    const token = mandate.provider.mintAccessToken({ aud: ME_AUDIENCE });
    return sent({ headers: { authorization: `Bearer ${token}` } });
  },
  'resumeMyAgents 204': nothing,
  async 'listMyApprovals 200 waiting'(world) {
    await approvalOfGrace(world);
    return asPerson(world, {}, { sub: 'grace' });
  },
  async 'listMyApprovals 409 altered'(world) {
    await alteredOfGrace(world);
    return asPerson(world, {}, { sub: 'grace' });
  },
  'answerMyApproval 200 yes': (world) => answeredByGrace(world),
  'answerMyApproval 200 no': (world) => answeredByGrace(world, { decision: 'refuse' }),
  'answerMyApproval 400 invalid_fields': (world) => answeredByGrace(world, { decision: 'always' }),
  'answerMyApproval 401 approver_not_fresh': (world) => answeredByGrace(world, {}, { auth_time: undefined }),
  'answerMyApproval 404 unknown_approval': nothing,
  async 'answerMyApproval 409 altered'(world) {
    return answeredByGrace(world, {}, {}, await alteredOfGrace(world));
  },
  'answerMyApproval 409 other_words': (world) => answeredByGrace(world, { commitment: 'a'.repeat(64) }),
  async 'answerMyApproval 409 not_waiting'(world) {
    const approval = await approvalOfGrace(world);
    await world.mandate.answer(approval.approvalId, 'approve');
    return answeredByGrace(world, { decision: 'refuse' }, {}, approval);
  },
  async 'readMyRecords 200 page'(world) {
    await world.agent.exchangeFor({ sub: 'hedy' });
    return asHedy(world);
  },
  'readMyRecords 400 invalid_fields': () => sent({ query: { sponsor: 'grace' } }),
  'proveMyRecord 404 unknown_record': () => sent({ path: { seq: '999999999' } }),

  'requestToken 200 exchange': exchange,
  'requestToken 200 exchange by client': ({ agent }) =>
    withBody({ subject_token: agent.subjectToken(), client_assertion: agent.assertion() }, 'exchange_by_client'),
  'requestToken 200 refresh': refresh,
  'requestToken 400 invalid_request': (world) => exchange(world, { subject_token: undefined }),
  'requestToken 400 unsupported_grant_type': () => withBody({ grant_type: 'password' }),
  'requestToken 400 subject_expired': (world) =>
    exchange(world, { subject_token: world.agent.subjectToken({ exp: world.mandate.clock.seconds() - 300 }) }),
  'requestToken 400 grant_not_found': ({ agent }) => withBody({ client_assertion: agent.assertion() }, 'refresh'),
  'requestToken 400 scope_intersection_empty': (world) => exchange(world, { scope: 'jira:delete' }),
  'requestToken 400 scope_widened': (world) => refresh(world, { scope: 'jira:admin' }),
  'requestToken 400 audience_not_allowed': (world) => exchange(world, { resource: 'https://payroll.example' }),
  'requestToken 400 audience_mismatch': (world) => refresh(world, { resource: 'https://wiki.example' }),
  async 'requestToken 400 agent_disabled'(world) {
    const agent = await world.mandate.agent();
    await world.mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
    return exchange({ ...world, agent });
  },
  async 'requestToken 400 sponsor_disabled'(world) {
    await world.mandate.block('edsger', 'disabled');
    return exchange(world, { subject_token: world.agent.subjectToken({ sub: 'edsger' }) });
  },
  async 'requestToken 400 task_revoked'(world) {
    const { task_id, refresh_token } = await issued(world);
    await world.mandate.admin('DELETE', `/admin/tasks/${task_id}`);
    return refresh(world, { refresh_token });
  },
  async 'requestToken 400 task_ending'(world) {
    const agent = await world.mandate.agent({ max_task_ttl: 'PT1M', max_token_ttl: 'PT1M' });
    // A busy machine may take longer than the rest of the task, so the clock stands still.
    world.mandate.clock.standStill();
    const grant = await agent.grant();
    world.mandate.clock.advance(57);
    return refresh({ ...world, agent }, { refresh_token: grant });
  },
  async 'requestToken 401 actor_invalid_signature'(world) {
    const { key } = await world.mandate.agent();
    return exchange(world, { actor_token: key.signAssertion('jira-triage', { aud: world.mandate.issuer }) });
  },
  async 'requestToken 401 actor_replayed'(world) {
    const actorToken = world.agent.assertion();
    await world.agent.exchange({ actor_token: actorToken });
    return exchange(world, { actor_token: actorToken });
  },
  async 'requestToken 503 actor_keys_unavailable'(world) {
    const uri = await world.mandate.keyServer.unusedUri();
    const agent = await world.mandate.agent({ jwks: undefined, jwks_uri: uri });
    return exchange({ ...world, agent });
  },
  async 'requestToken 503 sponsor_status_unavailable'(world) {
    const agent = await world.polling.agent();
    return { ...exchange({ ...world, agent }), url: world.polling.url };
  },

  async 'introspectToken 200 active'(world) {
    return withBody({ token: (await issued(world, 'pod-7')).access_token });
  },
  'introspectToken 200 inactive': nothing,
  async 'introspectToken 200 revoked'(world) {
    const { task_id, access_token } = await issued(world);
    await world.mandate.admin('DELETE', `/admin/tasks/${task_id}`);
    return withBody({ token: access_token });
  },
  async 'introspectToken 200 agent_disabled'(world) {
    const agent = await world.mandate.agent();
    const { access_token } = await issued({ ...world, agent });
    await world.mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
    return withBody({ token: access_token });
  },
  'introspectToken 400 invalid_request': () => withBody({ token: undefined }),

  'askApproval 200 pending': (world) => asked(world),
  async 'askApproval 200 granted'(world) {
    const task = await issued(world);
    await answered(world, task, 'approve');
    return asked(world, task);
  },
  async 'askApproval 200 refused'(world) {
    const task = await issued(world);
    await answered(world, task, 'refuse');
    return asked(world, task);
  },
  async 'askApproval 200 spent'(world) {
    const task = await issued(world);
    await answered(world, task, 'approve');
    await asks(world.mandate, task.access_token, world.asking.request(task.task_id));
    return asked(world, task);
  },
  'askApproval 200 inactive': nothing,
  'askApproval 400 invalid_request': () => withBody({ request: undefined }),
  'askApproval 400 approval_issuer_unknown': (world) => asked(world, undefined, { iss: 'https://files.example' }),
  async 'askApproval 429 too_many_pending'(world) {
    const task = await issued(world);
    for (const nth of ['1', '2', '3']) {
      await asks(world.mandate, task.access_token, world.asking.request(task.task_id, { digest: digestOf(nth) }));
    }
    return asked(world, task);
  },
  async 'askApproval 503 approval_altered'(world) {
    const task = await issued(world);
    await asks(world.mandate, task.access_token, world.asking.request(task.task_id));
    await world.mandate.sql(`update approvals set title = 'Pay 5 EUR' where task_id = '${task.task_id}'`);
    return asked(world, task);
  },
  async 'askApproval 429 too_many_questions'(world) {
    const { sparing, asking } = world;
    const task = await issued({ ...world, agent: await sparing.agent() });
    await asks(sparing, task.access_token, asking.request(task.task_id, { digest: digestOf('first') }));
    return { ...(await asked(world, task)), url: sparing.url };
  },
  async 'askApproval 503 approval_keys_unavailable'(world) {
    const { keyless } = world;
    const task = await issued({ ...world, agent: await keyless.agent() });
    return { ...(await asked(world, task)), url: keyless.url };
  },

  async 'revokeToken 200'(world) {
    const { refresh_token } = await issued(world);
    return withBody({ token: refresh_token, client_assertion: world.agent.assertion() });
  },
  'revokeToken 400 invalid_request': () => withBody({ token: undefined }),
  'revokeToken 400 unsupported_token_type': () => withBody({ token_type_hint: 'id_token' }),
  'revokeToken 401 actor_malformed': () => withBody({ client_assertion: undefined, client_assertion_type: undefined }),
  async 'revokeToken 503 actor_keys_unavailable'({ mandate }) {
    const agent = await mandate.agent({ jwks: undefined, jwks_uri: await mandate.keyServer.unusedUri() });
    return withBody({ client_assertion: agent.assertion() });
  },

  'getOpenIdConfiguration 200 metadata': nothing,
  'getServerMetadata 200 metadata': nothing,
  'listStatusLists 200 lists': nothing,
  'getStatusList 200 list': async (world) => sent(await listOf(world)),
  async 'getStatusList 304'(world) {
    const list = await listOf(world);
    const { headers } = await world.mandate.get(`/status/${list.path.list_id}`);
    return sent({ ...list, headers: { 'if-none-match': String(headers.get('etag')) } });
  },
  'getStatusList 404 unknown_status_list': nothing,
  'getStatusList 406 not_acceptable': async (world) => sent({ ...(await listOf(world)), headers: json }),
  'getServiceKeys 200 keys': nothing,
  'getHealth 200 text': nothing,
  'getHealth 200 json': () => sent({ headers: json }),
  async 'getReadiness 200 text'({ mandate }) {
    await mandate.untilReady();
    return {};
  },
  'getReadiness 200 json': () => sent({ headers: json }),
  'getReadiness 503 text': ({ lonely }) => ({ url: lonely.url }),
  'getReadiness 503 json': ({ lonely }) => ({ url: lonely.url, changes: { headers: json } }),
  'getMetrics 200': ({ metricsUrl }) => ({ url: metricsUrl }),

  'deleteAgent 409 agent_has_tasks': nothing,
  async 'stopAgentTasks 200 ended'(world) {
    const agent = await world.mandate.agent();
    await issued({ ...world, agent });
    return sent({ path: { agent_id: agent.id } });
  },
  'stopAgentTasks 404 unknown_agent': () => sent(unknown),
  async 'stopEverything 200 ended'(world) {
    await world.mandate.admin('DELETE', '/admin/tasks');
    await issued(world);
    return {};
  },
  'stopEverything 200 repeated': nothing,
  'stopEverything 400 invalid_fields': () => sent({ query: { agent_id: 'jira-triage' } }),
  'stopEverything 400 unexpected_body': () => sent({ text: '{}', headers: { 'content-type': 'application/json' } }),
  'stopEverything 403 stop_everything_off': ({ mandate, polling }) => ({
    url: polling.url,
    changes: { headers: byOperator(mandate) },
  }),
  async 'stopTask 200 ended'(world) {
    return sent({ path: { task_id: (await issued(world)).task_id ?? '' } });
  },
  async 'stopTask 200 repeated'(world) {
    const { task_id = '' } = await issued(world);
    await world.mandate.admin('DELETE', `/admin/tasks/${task_id}`);
    return sent({ path: { task_id } });
  },
  'stopTask 404 unknown_task': nothing,
  async 'listTasks 200 page'(world) {
    await freshTask(world, 'ada');
    return sent({ query: { sponsor: 'ada' } });
  },
  'listTasks 400 invalid_fields': () => sent({ query: { state: 'dead' } }),
  async 'getTask 200 task'(world) {
    return sent({ path: { task_id: (await issued(world)).task_id ?? '' } });
  },
  'getTask 404 unknown_task': nothing,
  async 'stopSponsorTasks 200 ended'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'stopSponsorTasks 400 invalid_fields': () => sent({ path: { sponsor_key: 'a%20b' } }),

  'getSponsor 404 not_blocked': nothing,
  'getSponsor 400 invalid_fields': () => sent({ path: { sponsor_key: 'a%20b' } }),
  async 'blockSponsor 200 blocked'(world) {
    await freshTask(world, 'ada');
    return {};
  },
  'blockSponsor 400 invalid_fields': () => sent({ path: { sponsor_key: 'a%20b' } }),
  'getSponsor 200 blocked': nothing,
  'unblockSponsor 202 pending': ({ mandate }) => sent({ headers: byOperator(mandate) }),
  'unblockSponsor 204': nothing,
  async 'unblockSponsor 403 operator_is_sponsor'({ mandate }) {
    await mandate.admin('PUT', '/admin/sponsors/olga/block');
    const followUp = () => mandate.admin('DELETE', '/admin/sponsors/olga/block');
    return { changes: { path: { sponsor_key: 'olga' }, headers: byOperator(mandate) }, followUp };
  },
  async 'listActs 200 page'({ mandate }) {
    const acts = await mandate.recorded(() =>
      mandate.send('/admin/sponsors/edsger/block', { method: 'PUT', headers: byOperator(mandate) }),
    );
    return sent({ query: { seq: String(acts.at(-1)?.seq) } });
  },
  'listActs 400 invalid_fields': () => sent({ query: { seq: 'the-first' } }),
  'listAgents 401 invalid_api_key': ({ lonely }) => ({ url: lonely.url, changes: { headers: { authorization: '' } } }),
  'unblockSponsor 404 not_blocked': nothing,
  'unblockSponsor 400 invalid_fields': () => sent({ path: { sponsor_key: 'a%20b' } }),
  async 'listBlocks 200 page'(world) {
    await pushed(world, 'barbara');
    return sent({ query: { source: 'ssf' } });
  },
  'listBlocks 400 invalid_fields': () => sent({ query: { source: 'x' } }),
  async 'unblockSponsor 409 sponsor_block_not_owned'(world) {
    await pushed(world, 'grace');
    return sent({ path: { sponsor_key: 'grace' } });
  },
  async 'getSponsor 200 blocked_twice'({ mandate }) {
    // The answer lists blocks in the order of their times.
    mandate.clock.advance(1);
    await mandate.admin('PUT', '/admin/sponsors/grace/block');
    return sent({ path: { sponsor_key: 'grace' } });
  },

  'streamRecords 200': nothing,
  'streamRecords 400 invalid_fields': () => sent({ headers: { 'last-event-id': 'x' } }),
  async 'readLedger 200 page'(world) {
    const { task_id } = await issued(world);
    return sent({ query: { task_id, from: day(-1), to: day(1) } });
  },
  'readLedger 400 invalid_fields': () => sent({ query: { decision: 'maybe', sponser: 'ada' } }),
  async 'listCheckpoints 200 page'({ mandate }) {
    await mandate.jobs.seal();
    return {};
  },
  'listCheckpoints 400 invalid_fields': () => sent({ query: { after: 'the-first' } }),
  'proveRecord 200 proof': () => sent({ path: { seq: '2' } }),
  async 'proveRecord 200 logged'({ mandate }) {
    await mandate.block('hopper', 'disabled');
    await mandate.jobs.seal();
    await mandate.jobs.growLog();
    mandate.clock.advance(1);
    return sent({ path: { seq: '2' }, query: { log: 'true' } });
  },
  'proveRecord 400 invalid_fields': () => sent({ query: { log: 'maybe' } }),
  async 'getLogCheckpoint 404 no_log_checkpoint'({ mandate }) {
    await mandate.sql('update log_state set published_size = null, published_note = null');
    mandate.clock.advance(1);
    return {
      async followUp() {
        await mandate.sql('update log_state set published_size = size, published_note = note');
        mandate.clock.advance(1);
      },
    };
  },
  'getLogCheckpoint 200 note': nothing,
  'listLogKeys 200 keys': nothing,
  'getLogTile 200': () => sent({ path: { index: '000.p/2' } }),
  'getLogTile 404 no_log_tile': nothing,
  'proveRecord 404 no_sealed_record': () => sent({ path: { seq: '9999999' } }),
  async 'proveMyRecord 200 proof'(world) {
    await world.mandate.jobs.seal();
    const [record] = (await recordsOf(world.mandate.admin, '&sponsor=hedy')).slice(-1);
    return asHedy(world, { path: { seq: String(record?.seq) } });
  },

  'receiveLogout 200': ({ mandate }) =>
    withBody({ logout_token: mandate.provider.signLogoutToken({ sub: 'somebody' }) }),
  'receiveLogout 400 refused': nothing,
  'receiveLogout 400 missing': () => withBody({ logout_token: undefined }),
  'receiveLogout 404 unknown_path': ({ lonely }) => ({ url: lonely.url }),
  'receiveLogout 503 logout_keys_unavailable': ({ deaf, mandate }) => ({
    ...withBody({ logout_token: mandate.provider.signLogoutToken({ sub: 'somebody' }) }),
    url: deaf.url,
  }),
  'receiveEvent 202': ({ transmitter }) => sent({ text: transmitter.event(SESSION_REVOKED, 'somebody') }),
  'receiveEvent 400 ssf_malformed': () => sent({ text: 'nonsense' }),
  'receiveEvent 400 ssf_invalid_signature': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody').replace(/[^.]{4}$/, 'AAAA') }),
  'receiveEvent 400 ssf_untrusted_issuer': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody', { iss: 'https://another.example' }) }),
  'receiveEvent 400 ssf_audience_mismatch': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody', { aud: 'https://another.example' }) }),
  'receiveEvent 404 unknown_path': ({ lonely }) => ({ url: lonely.url }),
  'receiveEvent 503 ssf_keys_unavailable': ({ deaf, transmitter }) => ({
    ...sent({ text: transmitter.event(SESSION_REVOKED, 'somebody') }),
    url: deaf.url,
  }),

  'createUser 201 user': (world) => ({
    followUp: ({ body }) => {
      world.userId = String(body.id);
    },
  }),
  'createUser 409 scim_uniqueness': nothing,
  'createUser 400 scim_invalid_value': () => withBody({ externalId: undefined }),
  'createUser 400 scim_invalid_syntax': () => sent({ text: '[]' }),
  'createUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'createUser 507 scim_full': ({ deaf }) => ({ ...withBody({ userName: 'another@example.com' }), url: deaf.url }),
  'listUsers 200 found': nothing,
  'listUsers 400 scim_invalid_filter': () => sent({ query: { filter: 'title eq "Countess"' } }),
  'getUser 200 user': user,
  'getUser 404 scim_not_found': nothing,
  'replaceUser 200 deactivate': user,
  'replaceUser 400 scim_invalid_value': (world) => sent({ ...user(world).changes, body: { active: 'perhaps' } }),
  'replaceUser 404 scim_not_found': nothing,
  async 'replaceUser 409 scim_uniqueness'(world) {
    return sent({ path: { id: await anotherUser(world, 'replaced') } });
  },
  'replaceUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'patchUser 200 deactivate': user,
  'patchUser 200 reactivate': user,
  'patchUser 400 scim_invalid_value': (world) =>
    sent({ ...user(world).changes, body: { Operations: [{ op: 'replace', path: 'active', value: 'perhaps' }] } }),
  'patchUser 404 scim_not_found': nothing,
  async 'patchUser 409 scim_uniqueness'(world) {
    const id = await anotherUser(world, 'patched');
    const Operations = [{ op: 'replace', path: 'userName', value: 'ADA@example.com' }];
    return sent({ path: { id }, body: { Operations } });
  },
  'patchUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  async 'deleteUser 204'(world) {
    return sent({ path: { id: await anotherUser(world, 'deleted') } });
  },
  'deleteUser 404 scim_not_found': nothing,
  'getServiceProviderConfig 200 config': nothing,
  'listResourceTypes 200 document': nothing,
  'getUserResourceType 200 document': nothing,
  'listSchemas 200 document': nothing,
  'getUserSchema 200 document': nothing,
};

async function anotherUser({ mandate }: World, name: string): Promise<string> {
  const { body, status, text } = await scimClient(mandate).send('POST', '/Users', { userName: name, externalId: name });
  if (status !== 201) throw new Error(text);
  return String(body.id);
}
