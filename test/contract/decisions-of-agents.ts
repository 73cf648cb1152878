import { type DelegationOffering, offerDelegation } from '../../application/decisions/offer-delegation.ts';
import { openTask, type TakenOffer, type TaskOpening } from '../../application/decisions/open-task.ts';
import { refuse } from '../../application/decisions/refuse.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { spendAssertion } from '../../application/decisions/spend-assertion.ts';
import { addAgent, changeAgent, deleteAgent, disableAgent } from '../../application/decisions/write-agent.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import type { SpentOffer } from '../../domain/delegation/offer.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { type Row, row } from './decision-row.ts';
import {
  aChildOpening,
  anEntry,
  anOpening,
  aPurpose,
  aRefusal,
  aRenewal,
  aRevocation,
  aTokenRevocation,
  newSponsorKey,
} from './storage-fixtures.ts';
import { anAct, redeeming, rotationOf, type World } from './world.ts';

/** Remembered logouts refuse it (`Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`). */
const exchange =
  (
    who: 'owner' | 'idle',
    changes: (world: World) => Partial<Task>,
    open: (agent: Agent, changes: Partial<Task>, world: World) => TaskOpening = anOpening,
  ) =>
  (world: World) => {
    const { sponsorKey, subject: sponsor } = world;
    const opening = open(world[who], { sponsorKey, sponsor, ...changes(world) }, world);
    const refuseLoggedOut = { issuedAt: NOON, earliest: opening.task.createdAt };
    return { ...opening, assertion: world.assertionOf(opening.task.agentId), refuseLoggedOut };
  };

const renewal = (scope: readonly string[]) => (world: World) =>
  aRenewal(world.live, { scope, assertion: world.assertionOf(world.owner.agentId), recordEach: true });

/** The agent `idle` takes up a part of the live task, under which one task is live. */
function takingUp(world: World, changes: Partial<TakenOffer>): TaskOpening {
  const { idle, live, sponsorKey, subject: sponsor, assertionOf } = world;
  const opening = aChildOpening(idle, live, { sponsorKey, sponsor });
  const { delegation } = opening;
  if (delegation === undefined) throw new Error('no task delegates this one');
  return { ...opening, assertion: assertionOf(idle.agentId), delegation: { ...delegation, ...changes } };
}

const offerOf = ({ name }: World): SpentOffer => ({
  offerId: `offer of ${name}`,
  forgetAt: plusSeconds(NOON, 120),
  latestForgetAt: plusSeconds(NOON, 360),
});

const linkOf = ({ task: { taskId, agentId }, grantHash, agentRevision }: TaskOpening) => ({
  taskId,
  agentId,
  grantHash,
  agentRevision,
});

const documentOf = ({ agentId }: Agent) => `https://app.example/new/${agentId}.json`;

export const decisionsOfAgents: Readonly<Record<string, Row>> = {
  'an exchange': row(
    openTask,
    ['owner'],
    exchange('owner', ({ sessionId }) => ({ sessionId })),
  ),
  'an exchange without a session': row(
    openTask,
    ['owner'],
    exchange('owner', () => ({ sessionId: undefined })),
  ),
  'an exchange with a purpose': row(openTask, ['owner'], (world) => {
    const opening = exchange('owner', ({ sessionId }) => ({ sessionId }))(world);
    return { ...opening, purpose: aPurpose(opening.task) };
  }),
  'a delegated exchange for another person': row(
    openTask,
    ['idle', 'task'],
    exchange(
      'idle',
      () => ({ sponsorKey: newSponsorKey(), sponsor: 'another', sessionId: undefined }),
      (agent, changes, { live }) => aChildOpening(agent, live, changes),
    ),
  ),
  'a delegated exchange that takes the last place': row(openTask, ['idle', 'task'], (world) =>
    takingUp(world, { maxChildren: 2 }),
  ),
  'a delegated exchange with one offer': row(openTask, ['idle', 'task'], (world) =>
    takingUp(world, { offer: offerOf(world) }),
  ),
  'an offer to another agent': row(
    offerDelegation,
    ['task'],
    ({ live, sponsorKey, owner, assertionOf }): DelegationOffering => ({
      taskId: live.task.taskId,
      sponsorKey,
      scope: live.task.scope,
      ancestors: [linkOf(live)],
      assertion: assertionOf(owner.agentId),
      maxChildren: 2,
      entry: anEntry('delegation.offered'),
    }),
  ),
  'a refresh of a delegated task': row(renewGrant, ['task'], ({ live, child, owner, assertionOf }) =>
    aRenewal(child, { ancestors: [linkOf(live)], assertion: assertionOf(owner.agentId), recordEach: true }),
  ),
  'the redemption of a code': row(openTask, ['allowed'], redeeming),
  'a refresh of a grant that rotates': row(renewGrant, ['redeemed'], (world) => {
    const [presented, next] = [rotationOf(world, 'first'), rotationOf(world, 'second')];
    return aRenewal(redeeming(world), { rotation: { presented, next }, assertion: undefined });
  }),
  'a refusal of an older grant': row(refuse, ['task'], ({ live, sponsorKey, assertionOf, owner }) => ({
    entry: aRefusal('grant_superseded', { agentId: owner.agentId, taskId: live.task.taskId }),
    assertion: assertionOf(owner.agentId),
    misusedTask: { taskId: live.task.taskId, sponsorKey, endsAt: NOON },
  })),
  'a refresh': row(renewGrant, ['task'], (world) => renewal(world.live.task.scope)(world)),
  'a refresh that narrows': row(renewGrant, ['task'], renewal(['jira:read'])),
  'a refusal': row(refuse, ['owner'], ({ owner, sponsorKey, assertionOf }) => ({
    entry: aRefusal('scope_widened', { agentId: owner.agentId }),
    sponsorKey,
    assertion: assertionOf(owner.agentId),
  })),
  'the use of an assertion': row(spendAssertion, [], ({ owner, jti }) => ({
    agentId: owner.agentId,
    jti,
    forgetAt: plusSeconds(NOON, 360),
  })),
  'a revocation by grant': row(revokeGrant, ['task'], ({ live, owner, assertionOf }) =>
    aRevocation(live, { assertion: assertionOf(owner.agentId) }),
  ),
  'a revocation by grant of a task without delegated ones': row(
    revokeGrant,
    ['task'],
    ({ child, owner, assertionOf }) => aRevocation(child, { assertion: assertionOf(owner.agentId) }),
  ),
  'a revocation of a token': row(revokeSingleToken, ['task'], ({ live, owner, assertionOf }) => {
    const { jti: tokenId = 'jti' as never } = live.entry;
    return aTokenRevocation(live, { tokenId, assertion: assertionOf(owner.agentId) });
  }),

  'a registration': row(addAgent, [], ({ newcomer: agent }) => ({
    agent,
    entry: anEntry('agent.registered'),
    refusal: aRefusal('agent_already_exists'),
  })),
  'a registration with names': row(addAgent, ['idle'], ({ newcomer: agent }) => ({
    agent: { ...agent, mayActNames: [{ sub: agent.agentId, clientId: 'client' }] },
    entry: anEntry('agent.registered'),
    refusal: aRefusal('agent_already_exists'),
    nameRefusal: aRefusal('may_act_name_taken'),
  })),
  // The same name as that of the registration.
  'a change of names': row(changeAgent, ['idle'], ({ idle, newcomer }) => ({
    agent: { ...idle, mayActNames: [{ sub: newcomer.agentId, clientId: 'client' }], revision: 2 },
    entry: anEntry('agent.updated'),
    nameRefusal: aRefusal('may_act_name_taken'),
  })),
  'a registration with a document': row(addAgent, ['idle'], ({ newcomer }) => ({
    agent: { ...newcomer, clientIdDocument: documentOf(newcomer) },
    entry: anEntry('agent.registered'),
    refusal: aRefusal('agent_already_exists'),
    documentRefusal: aRefusal('client_id_document_taken'),
  })),
  // The same document as that of the registration.
  'a change of a document': row(changeAgent, ['idle'], ({ idle, newcomer }) => ({
    agent: { ...idle, clientIdDocument: documentOf(newcomer), revision: 2 },
    entry: anEntry('agent.updated'),
    documentRefusal: aRefusal('client_id_document_taken'),
  })),
  'a registration that hands work to an agent': row(addAgent, ['idle'], ({ newcomer, idle }) => ({
    agent: { ...newcomer, delegatesTo: [newcomer.agentId, idle.agentId] },
    entry: anEntry('agent.registered'),
    refusal: aRefusal('agent_already_exists'),
    newDelegates: true,
  })),
  'a change of the agents that it hands work to': row(changeAgent, ['owner'], ({ owner, idle }) => ({
    agent: { ...owner, delegatesTo: [idle.agentId], revision: 2 },
    entry: anEntry('agent.updated'),
    newDelegates: true,
  })),
  'a change of an agent': row(changeAgent, ['owner'], ({ owner }) => ({
    agent: { ...owner, displayName: 'Another', revision: 2 },
    entry: anEntry('agent.updated'),
  })),
  'the disabling of an agent': row(disableAgent, ['owner'], ({ owner }) => ({
    agent: { ...owner, enabled: false, revision: 2 },
    entry: anEntry('agent.updated'),
    act: anAct('PATCH agent'),
  })),
  'the removal of an agent': row(deleteAgent, ['refusal'], ({ idle: { agentId } }) => ({
    agentId,
    entry: anEntry('agent.deleted'),
    refusal: aRefusal('agent_has_tasks'),
    namedRefusal: aRefusal('agent_named_by_others'),
  })),
};
