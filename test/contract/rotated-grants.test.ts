/**
 * Whether a rotated grant is an older one, which ends its task. A plain read may be outdated, and would then end the task of the
 * newest grant (docs/decisions/0027-a-switch-that-finds-nothing.md).
 */

import { expect } from 'chai';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { findGrantOwner } from '../../application/decisions/find.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { type RefreshRequest, refreshToken } from '../../application/token/refresh.ts';
import type { GrantRotation } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { agreeing } from '../support/moved-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, aRenewal, registeredAgent } from './storage-fixtures.ts';
import { aWorld, redeeming, store } from './world.ts';

const NOTHING_ELSE = { resource: undefined, scope: undefined, clientAssertion: undefined };

onEveryDatabase('a grant that rotates', ({ storage }) => {
  const family = (name: string) => `task_grant_${sha256(name).slice(0, 43)}`;
  const nth = (name: string, rotation: string) => `${family(name)}.${sha256(`${name} ${rotation}`).slice(0, 43)}`;

  /** Its rotations are first, second and third. The third is the newest. */
  async function rotatedTwice() {
    const world = aWorld();
    await store(storage(), world, undefined as never, ['allowed']);
    const { code, ...redeemed } = redeeming(world);
    if (code === undefined) throw new Error('no code');
    const [first, second, third] = ['first', 'second', 'third'].map((each) => nth(world.name, each)) as never as [
      string,
      string,
      string,
    ];
    const grantHash = sha256(family(world.name));
    const opening = { ...redeemed, grantHash, code: { ...code, rotation: sha256(first) } };
    await storage().decide(openTask, opening);
    for (const [presented, next] of [
      [first, second],
      [second, third],
    ] as const) {
      const rotation = { presented: sha256(presented), next: sha256(next) };
      const renewal = aRenewal(opening, { rotation, assertion: undefined });
      expect(await storage().decide(renewGrant, renewal)).to.have.property('kind', 'renewed');
    }
    const newest: GrantRotation = { current: sha256(third), previous: sha256(second) };
    return { owner: world.owner, sponsorKey: world.sponsorKey, grantHash, first, second, third, newest };
  }

  it('is found with its newest rotation, for its own agent alone; another grant has none', async () => {
    const { owner, sponsorKey, grantHash, newest } = await rotatedTwice();
    const find = (agentId: typeof owner.agentId, hash: string) =>
      storage().decide(findGrantOwner, { agentId, grantHash: hash });
    expect(await find(owner.agentId, grantHash)).to.deep.include({
      agentId: owner.agentId,
      sponsorKey,
      rotation: newest,
    });
    const other = await registeredAgent(storage());
    expect(await find(other.agentId, grantHash)).to.equal(undefined);
    expect(await find(owner.agentId, sha256('no grant'))).to.equal(undefined);
    const exchanged = anOpening(other);
    await storage().decide(openTask, exchanged);
    expect(await find(other.agentId, exchanged.grantHash)).to.include({
      agentId: other.agentId,
      rotation: undefined,
    });
  });

  it('is an older one only if the deciding server says so, whatever a plain read says', async () => {
    const { owner, grantHash, first, second, third } = await rotatedTwice();
    const clock = { now: () => NOON };
    const stored = await storage().tasks.findGrant(owner.agentId, grantHash);
    if (stored === undefined) throw new Error('the grant is not stored');
    // As a standby has it that is two renewals behind.
    const outdated = { ...stored, rotation: { current: sha256(first), previous: undefined } };
    // A disabled agent is refused right after the rotation was judged.
    const agent = { ...owner, publicClient: true, clientIdDocument: undefined, enabled: false };
    const judged = async (read: typeof stored, presented: string) => {
      const service = {
        agentCache: () => ({ find: async () => agent, confirm: async () => true, forget: () => undefined }),
        clients: { publicClients: true, findByDocument: async () => undefined },
        tasks: { findGrant: async () => read },
        decisions: storage(),
        clock,
        sharedTime: agreeing(clock),
        digest: sha256,
      };
      const request: RefreshRequest = { ...NOTHING_ELSE, refreshToken: presented, clientId: owner.agentId };
      const outcome = await refreshToken(service as never, request);
      return outcome.kind === 'denied' && outcome.denial.reason;
    };
    expect(await judged(outdated as never, third)).to.equal('agent_disabled');
    expect(await judged(outdated as never, second)).to.equal('agent_disabled');
    expect(await judged(stored, second)).to.equal('agent_disabled');
    expect(await judged(stored, first)).to.equal('grant_superseded');
  });
});
