/**
 * Requests that people answer, their codes and the tasks of these, beside each end: one after the other in random orders, and
 * at once on two replicas. Each rule is checked on what is stored afterwards.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import { answerRequest } from '../../application/decisions/answer-request.ts';
import { applySecurityEvent } from '../../application/decisions/apply-security-event.ts';
import { endAllRequests, endTasks } from '../../application/decisions/end-tasks.ts';
import { keepRequest } from '../../application/decisions/keep-request.ts';
import { logOut } from '../../application/decisions/log-out.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import { placeBlock } from '../../application/decisions/place-block.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { disableAgent } from '../../application/decisions/write-agent.ts';
import { addUser } from '../../application/decisions/write-user.ts';
import type { Authorization, IssuedCode } from '../../domain/authorization/authorization.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { byLength } from '../support/length.ts';
import type { Storage } from '../support/storage.ts';
import { aCode } from './authorization-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, aRenewal, aUser, recordedBy } from './storage-fixtures.ts';
import { answeringRequest, aWorld, keeping, LATER, ROOM, redeeming, rotationOf, store, type World } from './world.ts';

const ROUNDS = byLength({ short: 2, full: 200 });
const RUNS = byLength({ short: 6, full: 200 });
/** Two storages write each round to disk, beside other tests. */
const LIMIT_MS = 30_000 + ROUNDS * 1_000;

const reason = 'operator_kill_switch' as const;

const SIGNAL = { issuer: 'https://idp.example', forgetAt: plusSeconds(LATER, 661), at: LATER };

const logout = (on: Storage, { jti }: World, loggedOut: LoggedOut) => on.decide(logOut, { ...SIGNAL, jti, loggedOut });

function securityEvent(on: Storage, { jti, sponsorKey }: World, action: Pick<SecurityAction, 'block' | 'end'>) {
  const reasons = action.end === undefined ? [] : [action.end];
  return on.decide(applySecurityEvent, {
    ...SIGNAL,
    jti,
    action: { sponsorKey, statedAt: LATER, reasons, lift: false, ...action },
  });
}

/** What ends the request of a world. A stop of one task is none of them. */
const ENDS = {
  'the end of the person’s tasks': (on: Storage, { sponsorKey }: World) =>
    on.decide(endTasks, { selection: { kind: 'sponsor', sponsorKey }, at: LATER, reason }),
  'the end of the agent’s tasks': (on: Storage, { owner: { agentId } }: World) =>
    on.decide(endTasks, { selection: { kind: 'agent', agentId }, at: LATER, reason }),
  'the end of the agent for the person': (on: Storage, { sponsorKey, owner: { agentId } }: World) =>
    on.decide(endTasks, { selection: { kind: 'sponsor_agent', sponsorKey, agentId }, at: LATER, reason }),
  'a logout of the session': (on: Storage, world: World) =>
    logout(on, world, { kind: 'session', sessionId: world.sessionId, subject: undefined }),
  'a logout of the person': (on: Storage, world: World) =>
    logout(on, world, { kind: 'person', subject: world.subject }),
  'a SCIM deactivation': (on: Storage, { sponsorKey }: World) => {
    const user = aUser({ sponsorKey, active: false });
    return on.decide(addUser, { user, statements: statementsOf(undefined, user), at: LATER, maxUsers: ROOM });
  },
  'a security event of a disabled account': (on: Storage, world: World) =>
    securityEvent(on, world, { block: 'disabled', end: 'ssf_account_disabled' }),
  'a security event of revoked sessions, which places no block': (on: Storage, world: World) =>
    securityEvent(on, world, { block: undefined, end: 'ssf_sessions_revoked' }),
  'a block': (on: Storage, { sponsorKey }: World) =>
    on.decide(placeBlock, {
      block: { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: LATER },
      reason: 'sponsor_blocked',
    }),
  'the disabling of the agent': (on: Storage, { owner }: World) =>
    on.decide(disableAgent, {
      agent: { ...owner, enabled: false, revision: owner.revision + 1 },
      entry: anEntry('agent.updated'),
    }),
  'the end of everything': async (on: Storage, { owner: { agentId } }: World) => {
    await on.decide(endAllRequests, { at: LATER, reason });
    // Only the tasks of this world: the others of the suite stay.
    return on.decide(endTasks, { selection: { kind: 'agent', agentId }, at: LATER, reason });
  },
} as const;
type End = keyof typeof ENDS;
const endNames = Object.keys(ENDS) as readonly End[];
/** A disabled agent keeps its tasks: its tokens are refused as long as it is disabled. */
const keepsTasks = (end: End) => end === 'the disabling of the agent';

onEveryDatabase('requests that people answer', ({ storage, database, kind }) => {
  let other: Storage;
  before(async () => {
    other = kind.engine === 'postgres' ? await database().open() : storage();
  });
  after(async () => {
    if (other !== storage()) await other.close();
  });

  const worldWith = async (part: 'counted' | 'request' | 'allowed' | 'redeemed') => {
    const world = aWorld();
    await store(storage(), world, undefined as never, [part]);
    return world;
  };
  const stored = async ({ request }: World) => {
    const found = await storage().authorizations.find(request.requestId);
    if (found === undefined) throw new Error('the request is not stored');
    return found;
  };
  const taskState = async ({ owner, ...world }: World) =>
    (await storage().tasks.findGrant(owner.agentId, rotationOf({ owner, ...world } as World, 'family')))?.taskState
      .kind;

  it('have one answer: of a yes and a no at once, the first one decides', async function () {
    this.timeout(LIMIT_MS);
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldWith('request');
      const [yes, no] = await Promise.all([
        storage().decide(answerRequest, answeringRequest(world, 'allow')),
        other.decide(answerRequest, answeringRequest(world, 'refuse')),
      ]);
      const { state } = await stored(world);
      expect([yes.kind, no.kind, state]).to.deep.be.oneOf([
        ['allowed', 'answered', 'allowed'],
        ['answered', 'refused', 'refused'],
      ]);
    }
  });

  it('have one answer of two browsers at once: that of the browser which began it, and no record of the other one', async function () {
    this.timeout(LIMIT_MS);
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldWith('request');
      const strange = {
        ...answeringRequest(world, round % 4 < 2 ? 'allow' : 'refuse'),
        browserHash: 'of another browser',
      };
      const answers = [
        () => storage().decide(answerRequest, answeringRequest(world, 'allow')),
        () => other.decide(answerRequest, strange),
      ];
      const order = round % 2 === 0 ? answers : answers.toReversed();
      let verdicts: string[] = [];
      const records = await recordedBy(storage(), async () => {
        verdicts = (await Promise.all(order.map((answer) => answer()))).map(({ kind: of }) => of);
      });
      expect(verdicts.toSorted()).to.deep.equal(['allowed', 'not_found']);
      const { state, code } = await stored(world);
      expect([state, code?.hash]).to.deep.equal(['allowed', world.code.hash]);
      expect(records.map(({ event }) => event)).to.deep.equal(['authorization.allowed']);
    }
  });

  it('open one task, however often their code is presented at once', async function () {
    this.timeout(LIMIT_MS);
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldWith('allowed');
      const opening = redeeming(world);
      const verdicts = await Promise.all(
        [storage(), other, storage(), other].map((on) => on.decide(openTask, opening)),
      );
      expect(verdicts.map((verdict) => verdict.kind).toSorted()).to.deep.equal([
        'code_spent',
        'code_spent',
        'code_spent',
        'opened',
      ]);
      expect(await taskState(world)).to.equal('live');
    }
  });

  it('have a grant of which two refreshes at once leave one newest rotation', async function () {
    this.timeout(LIMIT_MS);
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldWith('redeemed');
      const refresh = (on: Storage, next: string) =>
        on.decide(
          renewGrant,
          aRenewal(redeeming(world), {
            rotation: { presented: rotationOf(world, 'first'), next },
            assertion: undefined,
          }),
        );
      const both = await Promise.all([refresh(storage(), 'a'), refresh(other, 'b')]);
      // The second one looks like a client that lost the first answer.
      expect(both.map((verdict) => verdict.kind)).to.deep.equal(['renewed', 'renewed']);
      const grant = await storage().tasks.findGrant(world.owner.agentId, rotationOf(world, 'family'));
      expect(grant?.rotation?.previous).to.equal(rotationOf(world, 'first'));
      expect(grant?.rotation?.current).to.be.oneOf(['a', 'b']);
    }
  });

  it('have a grant that a stop ends, whichever of a refresh and the stop is first', async function () {
    this.timeout(LIMIT_MS);
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldWith('redeemed');
      const rotation = { presented: rotationOf(world, 'first'), next: 'next' };
      const [, refreshed] = await Promise.all([
        ENDS['the end of the person’s tasks'](storage(), world),
        other.decide(renewGrant, aRenewal(redeeming(world), { rotation, assertion: undefined })),
      ]);
      expect(refreshed.kind).to.be.oneOf(['renewed', 'grant_changed']);
      expect(await taskState(world)).to.equal('revoked');
    }
  });

  for (const end of endNames) {
    it(`open no task that outlives ${end} at the same time, and none afterwards`, async function () {
      this.timeout(LIMIT_MS);
      for (let round = 0; round < ROUNDS; round++) {
        const isAnswer = round % 2 === 0;
        const world = await worldWith(isAnswer ? 'request' : 'allowed');
        const act = isAnswer
          ? () => other.decide(answerRequest, answeringRequest(world, 'allow'))
          : () => other.decide(openTask, redeeming(world));
        const [, verdict] = await Promise.all([ENDS[end](storage(), world), act()]);
        const afterwards = await storage().decide(openTask, redeeming(world));
        expect(afterwards.kind, verdict.kind).to.not.equal('opened');
        if (verdict.kind !== 'opened') {
          expect(await taskState(world), 'no task').to.equal(undefined);
          expect((await stored(world)).state).to.equal('void');
        } else if (!keepsTasks(end)) expect(await taskState(world)).to.equal('revoked');
      }
    });
  }

  it('are ended by the end of their agent while the person is still at the provider', async () => {
    for (const end of ['the end of the agent’s tasks', 'the end of everything'] as const) {
      const world = await worldWith('counted');
      await ENDS[end](storage(), world);
      const verdict = await storage().decide(keepRequest, keeping(world, world.request));
      expect(verdict).to.deep.equal({ kind: 'ended', reason });
      const again = await worldWith('request');
      expect((await stored(again)).state, 'one that began afterwards').to.equal('open');
    }
  });

  /** A person, in a random order: answers with some boxes, the client redeems, something ends it. */
  const steps = fc.array(
    fc.oneof(
      fc.record({
        step: fc.constant('answer' as const),
        boxes: fc.subarray(['jira:read', 'jira:write']),
        lasts: fc.integer({ min: 1, max: 1800 }),
      }),
      fc.record({ step: fc.constant('refuse' as const) }),
      fc.record({ step: fc.constant('redeem' as const) }),
      fc.record({ step: fc.constant('end' as const), end: fc.constantFrom(...endNames) }),
    ),
    { minLength: 2, maxLength: 7 },
  );

  it('open at most one task, within what the person left ticked, and none after an end', async function () {
    this.timeout(30_000 + RUNS * 1_000);
    await fc.assert(
      fc.asyncProperty(steps, async (acts) => {
        const world = await worldWith('request');
        let code: IssuedCode = world.code;
        let [hasEnded, opened] = [false, 0];
        for (const act of acts) {
          if (act.step === 'end') {
            await ENDS[act.end](storage(), world);
            hasEnded = true;
          } else if (act.step === 'refuse') await storage().decide(answerRequest, answeringRequest(world, 'refuse'));
          else if (act.step === 'answer') {
            const given = { ...aCode(), scope: act.boxes, taskEndsAt: plusSeconds(NOON, act.lasts) };
            const answering = { ...answeringRequest(world, 'allow'), answer: { kind: 'allow' as const, code: given } };
            const { kind: answered } = await other.decide(answerRequest, answering);
            if (answered === 'allowed') {
              expect(hasEnded, 'allowed after an end').to.equal(false);
              code = given;
            }
          } else {
            const verdict = await storage().decide(openTask, redeeming({ ...world, code }));
            if (verdict.kind !== 'opened') continue;
            expect(hasEnded, 'opened after an end').to.equal(false);
            opened += 1;
          }
        }
        expect(opened).to.be.at.most(1);
        const { state, offered, code: kept }: Authorization = await stored(world);
        if (opened === 1) expect(state).to.equal('spent');
        const grant = await storage().tasks.findGrant(world.owner.agentId, rotationOf(world, 'family'));
        expect(grant === undefined).to.equal(opened === 0);
        if (grant === undefined || kept === undefined) return;
        expect(kept.scope.every((scope) => offered.includes(scope))).to.equal(true);
        expect(grant.task.scope.every((scope) => kept.scope.includes(scope))).to.equal(true);
        expect(grant.task.expiresAt).to.be.at.most(kept.taskEndsAt);
      }),
      { numRuns: RUNS },
    );
  });
});
