/** The example answers of `/me`. */

import { expect } from 'chai';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { type Changes, ME_AUDIENCE } from '../../../support/openapi/send-example.ts';
import { asks } from '../../../support/tool-server/approval-request.ts';
import type { World } from '../world.ts';
import { freshTask, issued, nothing, type Scenario, type Scenarios, sent } from './scenario.ts';

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

/** The person refuses that the agent of the examples hands work over. */
async function refusedByGrace({ mandate }: World): Promise<void> {
  const token = mandate.provider.mintAccessToken({ aud: ME_AUDIENCE, sub: 'grace' });
  const headers = { authorization: `Bearer ${token}` };
  await mandate.send('/me/agents/jira-triage/no-delegation', { method: 'PUT', headers });
}

/** A person with one record. */
export function asHedy(world: World, changes: Changes = {}): Scenario {
  return asPerson(world, changes, { sub: 'hedy' });
}

function asPerson({ mandate }: World, changes: Changes, claims: object): Scenario {
  const token = mandate.provider.mintAccessToken({ aud: ME_AUDIENCE, ...claims });
  return sent({ ...changes, headers: { authorization: `Bearer ${token}` } });
}

export const ofPeople: Scenarios = {
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
    const challenge = 'Bearer error="insufficient_user_authentication", max_age=300';
    return {
      changes: { headers: { authorization: `Bearer ${token}` } },
      followUp: ({ headers }) => expect(headers.get('www-authenticate')).to.equal(challenge),
    };
  },
  'resumeMyAgents 204': nothing,
  'refuseMyAgentsDelegation 204': nothing,
  'refuseMyAgentsDelegation 404 unknown_agent': () => sent({ path: { agent_id: 'nobody' } }),
  async 'allowMyAgentsDelegation 401 sign_in_too_old'(world) {
    await refusedByGrace(world);
    return asPerson(world, {}, { sub: 'grace' });
  },
  async 'allowMyAgentsDelegation 204'(world) {
    await refusedByGrace(world);
    return asPerson(world, {}, { sub: 'grace', auth_time: world.mandate.clock.seconds() });
  },
  'allowMyAgentsDelegation 404 unknown_agent': () => sent({ path: { agent_id: 'nobody' } }),
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
  'answerMyApproval 200 no_and_why': (world) =>
    answeredByGrace(world, { decision: 'refuse', reason: 'Not to this account' }),
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
};
