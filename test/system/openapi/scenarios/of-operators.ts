/** The example answers of the admin API, the ledger, and what anybody may read. */

import { getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { delegationAt, heldTask } from '../../../support/delegation.ts';
import { type Mandate, recordsOf, registerAgent } from '../../../support/mandate.ts';
import { operatorToken, ROLE_VALUES } from '../../../support/operators.ts';
import { PUSH_HEADERS } from '../../../support/transmitter.ts';
import type { World } from '../world.ts';
import { asHedy } from './of-people.ts';
import { freshTask, issued, nothing, type Scenarios, sent, unknown, withBody } from './scenario.ts';

async function listOf(world: World) {
  const { uri } = getStatusListFromJWT(String((await issued(world)).access_token));
  return { path: { list_id: uri.split('/').at(-1) ?? '' } };
}

const ACCOUNT_DISABLED = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled';

async function pushed({ mandate, transmitter }: World, person: string): Promise<void> {
  const body = transmitter.event(ACCOUNT_DISABLED, person);
  const answer = await mandate.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
  if (answer.status !== 202) throw new Error(answer.text);
}

const DAY_MS = 86_400_000;
const json = { accept: 'application/json' };
const day = (offset: number) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
/** The headers of a change by Olga, who has every role. */
const byOperator = (mandate: Mandate) => ({
  authorization: `Bearer ${operatorToken(mandate, { roles: Object.values(ROLE_VALUES) })}`,
  'mandate-reason': 'Incident 4711',
});
export const ofRegistrations: Scenarios = {
  'registerAgent 201 agent': nothing,
  'registerAgent 409 agent_already_exists': nothing,
  'registerAgent 409 may_act_name_taken': ({ deaf }) => ({
    // Another agent's id is a name of that agent.
    changes: { body: { agent_id: 'another', may_act_names: [{ sub: 'jira-triage' }] } },
    url: deaf.url,
  }),
  'registerAgent 201 client': ({ deaf }) => ({ url: deaf.url }),
  'registerAgent 409 client_id_document_taken': async ({ deaf }) => {
    const client_id_document = 'https://editor.example/client.json';
    await deaf.admin('PATCH', '/admin/agents/code-editor', { client_id_document });
    return { changes: { request: 'client', body: { agent_id: 'another', client_id_document } }, url: deaf.url };
  },
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
  'updateAgent 409 client_id_document_taken': ({ deaf }) => ({
    changes: {
      path: { agent_id: 'wiki-editor' },
      body: { allowed_scopes: undefined, client_id_document: 'https://editor.example/client.json' },
    },
    url: deaf.url,
  }),
  'updateAgent 400 invalid_fields': () => withBody({ agent_id: 'another' }),
  'updateAgent 404 unknown_agent': () => sent(unknown),
  'updateAgent 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'deleteAgent 204': () => sent({ path: { agent_id: 'wiki-editor' } }),
  'deleteAgent 404 unknown_agent': () => sent(unknown),
  'getAgentKeys 200 keys': nothing,
  'getAgentKeys 404 no_inline_keys': () => sent(unknown),
};

export const ofDocuments: Scenarios = {
  'getOpenIdConfiguration 200 metadata': nothing,
  'getServerMetadata 200 metadata': nothing,
  'getServerMetadata 200 clients': ({ deaf }) => ({ url: deaf.url }),
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
};

export const ofOperators: Scenarios = {
  'deleteAgent 409 agent_has_tasks': nothing,
  async 'deleteAgent 409 agent_named_by_others'({ deaf }) {
    await registerAgent(deaf, { agent_id: 'flight-finder' });
    await registerAgent(deaf, { agent_id: 'travel-planner', delegates_to: ['flight-finder'] });
    return { changes: { path: { agent_id: 'flight-finder' } }, url: deaf.url };
  },
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
  async 'getTaskTree 200 tree'({ mandate }) {
    const child = await registerAgent(mandate, { agent_id: 'hotel-finder', max_delegation_depth: 2 });
    const deep = { agent_id: 'trip-planner', max_delegation_depth: 2, delegates_to: [child.id] };
    const parent = await registerAgent(mandate, deep);
    const { taskId } = await delegationAt(mandate).handOver(parent, child, heldTask(await parent.exchange()));
    return sent({ path: { task_id: taskId } });
  },
  'getTaskTree 400 invalid_fields': () => sent({ query: { limit: '0' } }),
  'getTaskTree 404 unknown_task': nothing,
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
};
