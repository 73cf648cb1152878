/** The example answers about tokens, and of approvals to a tool server. */

import { sha256 } from '../../../../adapters/platform/system-crypto.ts';
import { allowedRequest, REDIRECT } from '../../../support/authorize/allowed-request.ts';
import { delegationAt, heldTask } from '../../../support/delegation.ts';
import { type RegisteredAgent, registerAgent } from '../../../support/mandate.ts';
import { ME_AUDIENCE } from '../../../support/openapi/send-example.ts';
import { asks, digestOf } from '../../../support/tool-server/approval-request.ts';
import type { World } from '../world.ts';
import { issued, nothing, type Scenario, type Scenarios, type StartedTask, withBody } from './scenario.ts';

const exchange = ({ agent }: World, form: Readonly<Record<string, unknown>> = {}): Scenario =>
  withBody({ subject_token: agent.subjectToken(), actor_token: agent.assertion(), ...form }, 'exchange');

async function refresh({ agent }: World, form: Readonly<Record<string, unknown>> = {}): Promise<Scenario> {
  const grant = 'refresh_token' in form ? {} : { refresh_token: await agent.grant() };
  return withBody({ ...grant, client_assertion: agent.assertion(), ...form }, 'refresh');
}

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

const TEXT = 'Not to this account';
const SALT = 's'.repeat(43);
const LINE_OF_A_NO = { text: TEXT, salt: SALT, hash: sha256(`${SALT}${TEXT}`) };

/** Two agents, of which the first one may hand work to the second one, and a task of the first one. */
async function handingOver({ mandate }: World) {
  const child = await mandate.agent({ max_delegation_depth: 2 });
  const parent = await mandate.agent({ max_delegation_depth: 2, delegates_to: [child.id] });
  return { parent, child, task: heldTask(await parent.exchange()), at: delegationAt(mandate) };
}

type Handing = Awaited<ReturnType<typeof handingOver>>;

/** The first agent offers a part of its task to the second one, or to another one. */
function offers({ parent, child, task }: Handing, to = child.id): Scenario {
  const asking = { subject_token: task.grant, actor_token: parent.assertion(), audience: `agent:${to}` };
  return withBody(asking, 'offer');
}

/** The second agent takes an offer up, after `meanwhile`. */
async function takesUp(world: World, meanwhile?: (taskId: string) => Promise<unknown>): Promise<Scenario> {
  const { parent, child, task, at } = await handingOver(world);
  const offer = await at.offer(parent, child, task.grant);
  await meanwhile?.(task.taskId);
  return withBody({ subject_token: offer, actor_token: child.assertion() }, 'take_up');
}

/** A public client of the instance where people start tasks. */
function editorAt({ deaf }: World): Promise<RegisteredAgent> {
  return registerAgent(deaf, { jwks: undefined, public_client: true, redirect_uris: [REDIRECT] });
}

/** Redeems a code that the person has just allowed. */
async function redeem(world: World, form: Readonly<Record<string, unknown>> = {}): Promise<Scenario> {
  const editor = await editorAt(world);
  const allowed = (await allowedRequest(world.deaf, editor.id)).form();
  return { ...withBody({ ...allowed, ...form }, 'code'), url: world.deaf.url };
}

/** Refreshes a task that its person started, after `end` if there is one. @param present the grants, the newest last */
async function publicRefresh(
  world: World,
  end?: (taskId: string) => Promise<unknown>,
  present: 'newest' | 'first' = 'newest',
): Promise<Scenario> {
  const { deaf } = world;
  const editor = await editorAt(world);
  const { body } = await deaf.post('/oauth2/token', (await allowedRequest(deaf, editor.id)).form());
  const grants = [String(body.refresh_token)];
  for (const _ of present === 'first' ? [1, 2] : []) {
    const form = { grant_type: 'refresh_token', refresh_token: grants.at(-1), client_id: editor.id };
    grants.push(String((await deaf.post('/oauth2/token', form)).body.refresh_token));
  }
  await end?.(String(body.task_id));
  const refresh_token = present === 'first' ? grants[0] : grants.at(-1);
  return { ...withBody({ refresh_token, client_id: editor.id }, 'public_refresh'), url: deaf.url };
}

export const ofTokens: Scenarios = {
  'requestToken 200 exchange': exchange,
  'requestToken 200 exchange by client': ({ agent }) =>
    withBody({ subject_token: agent.subjectToken(), client_assertion: agent.assertion() }, 'exchange_by_client'),
  'requestToken 200 refresh': refresh,
  'requestToken 200 offer': async (world) => offers(await handingOver(world)),
  'requestToken 200 take_up': (world) => takesUp(world),
  'requestToken 200 public_refresh of a code': (world) => redeem(world),
  'requestToken 200 public_refresh': (world) => publicRefresh(world),
  'requestToken 400 invalid_request': (world) => exchange(world, { subject_token: undefined }),
  'requestToken 400 unsupported_grant_type': () => withBody({ grant_type: 'password' }),
  'requestToken 400 subject_expired': (world) =>
    exchange(world, { subject_token: world.agent.subjectToken({ exp: world.mandate.clock.seconds() - 300 }) }),
  'requestToken 400 grant_not_found': ({ agent }) => withBody({ client_assertion: agent.assertion() }, 'refresh'),
  'requestToken 400 code_unknown': (world) => redeem(world, { code: 'mandate_code_x' }),
  'requestToken 400 code_verifier_mismatch': (world) => redeem(world, { code_verifier: 'x'.repeat(43) }),
  async 'requestToken 400 redirect_uri_not_registered'(world) {
    const { deaf } = world;
    const editor = await editorAt(world);
    const form = (await allowedRequest(deaf, editor.id)).form();
    await deaf.admin('PATCH', `/admin/agents/${editor.id}`, { redirect_uris: ['https://editor.example/callback'] });
    return { ...withBody({ ...form }, 'code'), url: deaf.url };
  },
  'requestToken 400 grant_superseded': (world) => publicRefresh(world, undefined, 'first'),
  'requestToken 400 authorized_task_revoked': (world) =>
    publicRefresh(world, (taskId) => world.deaf.admin('DELETE', `/admin/tasks/${taskId}`)),
  // The offer of the example has no valid signature.
  'requestToken 400 delegation_offer_unknown': ({ agent }) => withBody({ actor_token: agent.assertion() }, 'take_up'),
  'requestToken 400 delegation_not_allowed': async (world) => offers(await handingOver(world), world.agent.id),
  async 'requestToken 400 delegation_refused_by_person'(world) {
    const { mandate } = world;
    const handing = await handingOver(world);
    const headers = { authorization: `Bearer ${mandate.provider.mintAccessToken({ aud: ME_AUDIENCE })}` };
    await mandate.send(`/me/agents/${handing.parent.id}/no-delegation`, { method: 'PUT', headers });
    return offers(handing);
  },
  'requestToken 400 parent_ended': (world) =>
    takesUp(world, (taskId) => world.mandate.admin('DELETE', `/admin/tasks/${taskId}`)),
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
  'requestToken 401 client_not_public': (world) => redeem(world, { client_id: 'jira-triage' }),
  async 'requestToken 503 actor_keys_unavailable'(world) {
    const uri = await world.mandate.keyServer.unusedUri();
    const agent = await world.mandate.agent({ jwks: undefined, jwks_uri: uri });
    return exchange({ ...world, agent });
  },
  async 'requestToken 503 sponsor_status_unavailable'(world) {
    const agent = await world.polling.agent();
    return { ...exchange({ ...world, agent }), url: world.polling.url };
  },
  async 'requestToken 503 authorization_altered'(world) {
    const { deaf } = world;
    const editor = await editorAt(world);
    const { requestId, form } = await allowedRequest(deaf, editor.id);
    await deaf.sql(`update authorizations set sponsor = 'grace' where request_id = '${requestId}'`);
    return { ...withBody({ ...form() }, 'code'), url: deaf.url };
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
  async 'askApproval 200 refused_and_why'(world) {
    const task = await issued(world);
    const { body } = await asks(world.mandate, task.access_token, world.asking.request(task.task_id));
    await world.mandate.answer(String(body.approval_id), 'refuse', { says: LINE_OF_A_NO });
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

  async 'registerClient 201 client'({ deaf }) {
    await registerAgent(deaf, {
      agent_id: 'wiki-reader',
      display_name: 'Code editor',
      allowed_scopes: ['wiki:read'],
      jwks: undefined,
      public_client: true,
      redirect_uris: ['http://127.0.0.1/oauth/callback'],
      client_names: ['Code editor (*'],
    });
    return { url: deaf.url };
  },
  'registerClient 400 invalid_redirect_uri': ({ deaf }) => ({
    ...withBody({ redirect_uris: ['https://elsewhere.example/callback'] }),
    url: deaf.url,
  }),
  'registerClient 400 invalid_client_metadata': ({ deaf }) => ({
    ...withBody({ client_name: 'Another' }),
    url: deaf.url,
  }),
};
