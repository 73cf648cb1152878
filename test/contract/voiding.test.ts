/**
 * What makes requests at `/oauth2/authorize`, and their codes, void: each selection of the effect, the end of everything, and a
 * restore. The effect of one agent is in effects.test.ts.
 */

import { expect } from 'chai';
import { endAllRequests, endOwnTasks, endTasks } from '../../application/decisions/end-tasks.ts';
import type { AuthorizationSelection } from '../../application/decisions/fact.ts';
import type { Authorization } from '../../domain/authorization/authorization.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { anAuthorization } from './authorization-fixtures.ts';
import { anAllowed, kept, voiding } from './effects-of-authorizations.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { type RawStorage, rawStorage } from './raw-storage.ts';
import { aWorld, LATER, store } from './world.ts';

const reason = 'operator_kill_switch' as const;

/** `agent` is the row of the effect. A new kind of selection does not compile without a line. */
const SELECTIONS: Readonly<Record<Exclude<AuthorizationSelection['kind'], 'agent'>, string>> = {
  everything: 'the end of everything',
  requests: 'the end of some requests',
  sponsor: 'an end of the person',
  sponsor_agent: 'an end of the agent for the person',
  session: 'an end of the session',
  session_or_none: 'an end of the session and of what has none',
  subject: 'an end of the person by sub',
};

onEveryDatabase('requests and codes that go void', (stage) => {
  let raw: RawStorage;
  beforeEach(async () => {
    raw = await rawStorage(stage);
  });
  afterEach(() => raw.close());

  for (const [kind, what] of Object.entries(SELECTIONS) as [AuthorizationSelection['kind'], string][]) {
    it(`are those that ${what} names, open or allowed, and no other ones`, async () => {
      const { given = [], effect, seen } = voiding(kind);
      for (const each of given) await raw.apply(each);
      for (const [see, before] of seen) expect(await see(raw), `before: ${see}`).to.deep.equal(before);
      await raw.apply(effect);
      for (const [see, , after] of seen) expect(await see(raw), `after: ${see}`).to.deep.equal(after);
    });
  }

  /** In each state. Only the first two wait. */
  async function inEachState() {
    const [open, refused] = [anAuthorization(), anAuthorization()];
    const [allowed, spent] = [anAllowed(), anAllowed()];
    const no = {
      state: 'refused',
      client: 'key',
      at: LATER,
      code: undefined,
      purpose: undefined,
      forgetAt: LATER,
    } as const;
    for (const effect of [
      kept(open),
      kept(refused),
      { effect: 'answer_authorization', requestId: refused.requestId, ...no } as const,
      ...allowed.given,
      ...spent.given,
      { effect: 'spend_authorization', requestId: spent.authorization.requestId } as const,
    ])
      await raw.apply(effect);
    return [open, allowed.authorization, refused, spent.authorization];
  }
  const stored = async ({ requestId }: Authorization) => {
    const found = await raw.authorizations.find(requestId);
    return [found?.state, found?.voidReason];
  };
  const gone = (why: string) => [
    ['void', why],
    ['void', why],
    ['refused', undefined],
    ['spent', undefined],
  ];

  it('are all that wait, once everything ends, and the count of these ends grows', async () => {
    const all = await inEachState();
    const { agentId } = all[0] ?? anAuthorization();
    const before = await raw.authorizations.countEnds(agentId);
    await stage.storage().decide(endAllRequests, { at: LATER, reason });
    expect(await Promise.all(all.map(stored))).to.deep.equal(gone(reason));
    const after = await raw.authorizations.countEnds(agentId);
    expect(after.agent).to.equal(before.agent);
    expect(after.everything).to.be.greaterThan(before.everything);
  });

  it('are all that wait, after a restore: whether a code was redeemed since the backup is lost', async () => {
    const all = await inEachState();
    // So long ago that no assertion of another test counts as replayed.
    const latest = plusSeconds(NOON, -86_400);
    const outcome = await stage.storage().afterRestore({ at: LATER, latest, above: 0 });
    expect(outcome.kind).to.equal('moved');
    expect(await Promise.all(all.map(stored))).to.deep.equal(gone('database_restored'));
  });

  it('are none, if an operator or the person ends a single task', async () => {
    for (const end of [endTasks, endOwnTasks]) {
      for (const part of ['request', 'allowed'] as const) {
        const world = aWorld();
        await store(stage.storage(), world, undefined as never, ['task', part]);
        const { taskId, sponsorKey } = world.live.task;
        const selection = { kind: 'task', taskId, sponsorKey } as const;
        const ended = await stage.storage().decide(end, { selection, at: NOON, reason });
        expect(ended).to.deep.equal({ kind: 'ended', tasks: 2 });
        expect(await stored(world.request)).to.deep.equal([part === 'request' ? 'open' : 'allowed', undefined]);
      }
    }
  });
});
