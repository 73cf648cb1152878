/** The task that a take-up opens, where the clock of the replica is behind. */

import { expect } from 'chai';
import { sha256, systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { TaskOpening } from '../../../application/decisions/open-task.ts';
import { startTask } from '../../../application/token/start-task.ts';
import { makeOfferId } from '../../../domain/delegation/offer.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { anAssertion } from '../../contract/storage-fixtures.ts';
import { agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';

const child = anAgent({ agentId: agentIdOf('wiki-writer') });
const lead = anAgent({ delegatesTo: [child.agentId] });
const parent = aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), createdAt: NOON });
const { sponsor: subject, sponsorKey, sessionId, audience, scope } = parent;

describe('a delegated task', () => {
  it('begins after the one above it, by whatever clock', async () => {
    let opened: TaskOpening | undefined;
    for (const [behind, begins] of [
      [-30, 0],
      [30, 30],
    ] as const) {
      const now = () => plusSeconds(NOON, behind);
      const service = {
        decisions: {
          decide: async (_: unknown, opening: TaskOpening) => {
            opened = opening;
            return { kind: 'opened' };
          },
        },
        sponsors: { findBlocks: async () => [] },
        directory: undefined,
        agents: { find: async () => lead },
        clock: { now },
        sharedTime: { earliest: now, latest: now, undoubted: now },
        delegation: { maxDepth: 2, maxChildrenPerTask: 1, offerTtl: 60 },
        signingKeys: await newKeys(),
        randomness: systemRandomness(),
        digest: sha256,
        issuer: 'https://mandate.example',
        statusLists: undefined,
        refuseLoggedOut: false,
        keepOrigin: false,
      } as unknown as Parameters<typeof startTask>[0];
      const asking = { agent: child, assertion: anAssertion(child.agentId), provedBy: undefined, instance: undefined };
      const offered = {
        offerId: makeOfferId('01M31S7W68TMK7WDX8YKPSYTEB'),
        taskId: parent.taskId,
        child: child.agentId,
      };
      const times = { issuedAt: NOON, expiresAt: plusSeconds(NOON, 60) };
      const started = await startTask(service, asking, {
        person: { subject, sponsorKey, sessionId, scope, issuedAt: undefined, authenticatedAt: undefined },
        audience,
        requested: scope,
        purpose: undefined,
        delegated: {
          offer: { ...offered, ...times, instance: undefined, audience, scope },
          above: [{ task: parent, state: { kind: 'live' }, scope, grantHash: 'above', agentEnabled: true }],
        },
      });
      expect(started).to.deep.include({ kind: 'allowed' });
      expect(opened?.task.createdAt).to.equal(plusSeconds(NOON, begins));
    }
  });
});
