import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { SecuritySignal } from '../../application/decisions/apply-security-event.ts';
import type { LogoutSignal } from '../../application/decisions/log-out.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import type { BlockKind, BlockSource } from '../../domain/sponsors/block.ts';
import { databases, type Outside } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { copyBlock } from './copied-block.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase, type Stage } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anEntry,
  anOpening,
  aRenewal,
  asEntry,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  said,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const ROUNDS = rounds(8);

const anOccurrence = () => ({
  issuer: 'https://idp.example/realms/main',
  jti: `jti-${randomUUID()}`,
  forgetAt: plusSeconds(LATER, 661),
  at: LATER,
});

function sessionLogout(sessionId: string | undefined, subject?: string): LogoutSignal {
  if (sessionId === undefined) throw new Error('the task has no session');
  return { ...anOccurrence(), loggedOut: { kind: 'session', sessionId, subject } };
}

function personLogout(subject: string): LogoutSignal {
  return { ...anOccurrence(), loggedOut: { kind: 'person', subject } };
}

const ACTIONS = {
  revoked: { reasons: ['ssf_sessions_revoked'], lift: false, block: undefined, end: 'ssf_sessions_revoked' },
  disabled: { reasons: ['ssf_account_disabled'], lift: false, block: 'disabled', end: 'ssf_account_disabled' },
  purged: { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' },
  enabled: { reasons: ['ssf_account_enabled'], lift: true, block: undefined, end: undefined },
} as const satisfies Record<string, Omit<SecurityAction, 'sponsorKey' | 'statedAt'>>;

/** Whole seconds, as a transmitter states them, and some time before it is accepted. */
const STATED = plusSeconds(NOON, 60);

function anEvent(what: keyof typeof ACTIONS, sponsorKey: SponsorKey, statedAt = STATED): SecuritySignal {
  return { ...anOccurrence(), action: { sponsorKey, statedAt, ...ACTIONS[what] } };
}

/** What a record says of an opened task beside its event. */
const about = ({ task }: TaskOpening) => ({
  at: LATER,
  taskId: task.taskId,
  agentId: task.agentId,
  sponsor: task.sponsor,
  audience: task.audience,
  scope: 'jira:read jira:comment',
  delegationDepth: 1,
});

const stateOf = async ({ storage }: Stage, { task, grantHash }: TaskOpening) =>
  (await storage().tasks.findGrant(task.agentId, grantHash))?.taskState.kind;

/** Stated some time before it is accepted, and remembered for a day from then. */
const LOGGED_OUT = plusSeconds(NOON, 80);
const A_DAY = 86_400;
const remembered = (signal: LogoutSignal, statedAt = LOGGED_OUT): LogoutSignal => ({
  ...signal,
  remember: { statedAt, forgetAt: plusSeconds(LATER, A_DAY) },
});

/** An exchange that comes later, with a token that says when it was issued, or does not. */
async function aLaterOpening(
  { storage }: Stage,
  of: Partial<TaskOpening['task']>,
  issuedAt: Instant | undefined,
): Promise<TaskOpening> {
  const createdAt = plusSeconds(LATER, 10);
  const changes = { createdAt, expiresAt: plusSeconds(createdAt, 900), ...of };
  return { ...anOpening(await registeredAgent(storage()), changes), refuseLoggedOut: { issuedAt } };
}

onEveryDatabase('a logout that is remembered', (stage) => {
  const { storage } = stage;
  const logOut = (signal: LogoutSignal) => storage().signals.logOut(signal);
  const open = (opening: TaskOpening) => storage().tasks.open(opening);
  const opening = async (of: Partial<TaskOpening['task']>, issuedAt: Instant | undefined) =>
    open(await aLaterOpening(stage, of, issuedAt));

  it('of a session refuses each of its tokens, however new, and those of no other session', async () => {
    const { sponsor, sessionId = '' } = (await openedTask(storage())).task;
    await logOut(remembered(sessionLogout(sessionId, sponsor)));
    for (const issuedAt of [NOON, LOGGED_OUT, plusSeconds(LATER, 9), undefined]) {
      expect(await opening({ sponsor, sessionId }, issuedAt)).to.deep.equal({ kind: 'logged_out' });
      expect(await opening({ sponsor }, issuedAt)).to.deep.equal({ kind: 'opened' });
      expect(await opening({ sponsor, sessionId: undefined }, issuedAt)).to.deep.equal({ kind: 'opened' });
      const upper = sessionId.toUpperCase();
      expect(await opening({ sponsor, sessionId: upper }, issuedAt)).to.deep.equal({ kind: 'opened' });
    }
  });

  it('of a person refuses tokens that were not issued after it, or do not say when, and nobody else’s', async () => {
    const { sponsor, sponsorKey } = (await openedTask(storage())).task;
    await logOut(remembered(personLogout(sponsor)));
    for (const [issuedAt, kind] of [
      [plusSeconds(LOGGED_OUT, -3600), 'logged_out'],
      [LOGGED_OUT, 'logged_out'],
      [undefined, 'logged_out'],
      [plusSeconds(LOGGED_OUT, 1), 'opened'],
    ] as const) {
      for (const sessionId of ['any-session', undefined]) {
        expect(await opening({ sponsor, sponsorKey, sessionId }, issuedAt)).to.deep.equal({ kind });
        expect(await opening({ sponsor, sessionId }, issuedAt)).to.deep.equal({ kind });
      }
      // By sub, as the tasks that it ends; a session's name is another matter.
      expect(await opening({ sponsorKey }, issuedAt)).to.deep.equal({ kind: 'opened' });
      expect(await opening({ sessionId: sponsor }, issuedAt)).to.deep.equal({ kind: 'opened' });
    }
  });

  it('writes nothing where it refuses: no task, no record, and the assertion is left', async () => {
    const { sponsor } = (await openedTask(storage())).task;
    await logOut(remembered(personLogout(sponsor)));
    const refused = await aLaterOpening(stage, { sponsor }, NOON);
    const records = await recordedBy(storage(), async () => {
      for (let time = 0; time < 2; time += 1) expect(await open(refused)).to.deep.equal({ kind: 'logged_out' });
    });
    expect(records).to.deep.equal([]);
    expect(await stateOf(stage, refused)).to.equal(undefined);
    expect(await open({ ...refused, refuseLoggedOut: undefined })).to.deep.equal({ kind: 'opened' });
    // A replay outranks it, and so does a block.
    expect(await open(refused)).to.deep.equal({ kind: 'replayed' });
    const blocked = await aLaterOpening(stage, { sponsor }, NOON);
    const { sponsorKey } = blocked.task;
    const block = { sponsorKey, source: 'scim', kind: 'disabled', blockedAt: NOON } as const;
    await storage().sponsors.block(block, 'scim_deactivated');
    expect(await open(blocked)).to.deep.equal({ kind: 'sponsor_blocked', block: 'disabled' });
  });

  it('refuses nothing where the exchange does not ask, and is not there where it was not to be remembered', async () => {
    const { sponsor } = (await openedTask(storage())).task;
    await logOut(personLogout(sponsor));
    expect(await opening({ sponsor }, NOON)).to.deep.equal({ kind: 'opened' });
    await logOut(remembered(personLogout(sponsor)));
    await openedTask(storage(), { sponsor });
  });

  it('counts with the latest of several, in whichever order they come', async () => {
    const [earlier, later] = [LOGGED_OUT, plusSeconds(LOGGED_OUT, 5)];
    for (const order of [
      [earlier, later],
      [later, earlier],
    ]) {
      const sponsor = `ada-${randomUUID()}`;
      for (const statedAt of order) await logOut(remembered(personLogout(sponsor), statedAt));
      expect(await opening({ sponsor }, later)).to.deep.equal({ kind: 'logged_out' });
      expect(await opening({ sponsor }, plusSeconds(later, 1))).to.deep.equal({ kind: 'opened' });
    }
  });

  it('is not moved by one that is repeated', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const signal = remembered(personLogout(sponsor));
    await logOut(signal);
    expect(await logOut(remembered(signal, LATER))).to.deep.equal({ kind: 'repeated' });
    expect(await opening({ sponsor }, plusSeconds(LOGGED_OUT, 1))).to.deep.equal({ kind: 'opened' });
  });

  it('refuses until its time is up, swept or not', async () => {
    const [sponsor, sessionId] = [`ada-${randomUUID()}`, `session-${randomUUID()}`];
    await logOut(remembered(personLogout(sponsor)));
    await logOut(remembered(sessionLogout(sessionId)));
    const over = plusSeconds(LATER, A_DAY);
    for (const [createdAt, kind] of [
      [instantFromMicros(over - 1), 'logged_out'],
      [over, 'opened'],
    ] as const) {
      for (const of of [{ sponsor }, { sessionId }]) {
        const lasting = { ...of, createdAt, expiresAt: plusSeconds(createdAt, 900) };
        expect(await opening(lasting, NOON)).to.deep.equal({ kind });
      }
    }
  });

  it('does not end a renewal of a task that was opened after it', async () => {
    const { sponsor } = (await openedTask(storage())).task;
    await logOut(remembered(personLogout(sponsor)));
    const opened = await aLaterOpening(stage, { sponsor }, plusSeconds(LOGGED_OUT, 1));
    await open(opened);
    await logOut(remembered(sessionLogout('another-session', sponsor)));
    expect(await storage().tasks.renew(aRenewal(opened))).to.deep.equal({ kind: 'renewed' });
  });
});

onEveryDatabase('a logout', (stage) => {
  const { storage } = stage;
  const logOut = (signal: LogoutSignal) => storage().signals.logOut(signal);

  it('of a session ends its tasks and no others, and records whose they were, then each task with its renewals', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const quiet = await openedTask(storage(), { sponsor });
    const { sessionId } = quiet.task;
    const busy = await openedTask(storage(), { sponsor, sessionId });
    const elsewhere = await openedTask(storage(), { sponsor });
    const nowhere = await openedTask(storage(), { sponsor, sessionId: undefined });
    await renewTimes(storage(), busy, 5);
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(sessionLogout(sessionId))).to.deep.equal({ kind: 'accepted', revokedTasks: 2 });
    });
    const reason = 'sponsor_logged_out';
    expect(records.map(asEntry)).to.deep.equal(
      [
        anEntry('sponsor.signal', { at: LATER, sponsor, reason }),
        anEntry('task.revoked', { ...about(quiet), reason }),
        anEntry('token.refreshed', { ...about(busy), count: 4 }),
        anEntry('task.revoked', { ...about(busy), reason }),
      ].map(said),
    );
    const grant = await storage().tasks.findGrant(busy.task.agentId, busy.grantHash);
    expect(grant).to.deep.include({ taskState: { kind: 'revoked', at: LATER, reason }, revokedAt: LATER });
    for (const other of [elsewhere, nowhere]) expect(await stateOf(stage, other)).to.equal('live');
  });

  it('of a session that ends nothing names nobody; with a sub beside it, whoever that is', async () => {
    const over = await openedTask(storage(), { expiresAt: LATER });
    for (const [signal, sponsor] of [
      [sessionLogout('no-such-session'), undefined],
      [sessionLogout(over.task.sessionId), undefined],
      [sessionLogout('no-such-session', 'grace'), 'grace'],
    ] as const) {
      const records = await recordedBy(storage(), async () => {
        expect(await logOut(signal)).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
      });
      const expected = anEntry('sponsor.signal', { at: LATER, sponsor, reason: 'sponsor_logged_out' });
      expect(records.map(asEntry)).to.deep.equal([said(expected)]);
    }
    expect(await stateOf(stage, over)).to.equal('live');
  });

  it('of a session that several people share ends all of it, and names none of them', async () => {
    const first = await openedTask(storage());
    const second = await openedTask(storage(), { sessionId: first.task.sessionId });
    const records = await recordedBy(storage(), () => logOut(sessionLogout(first.task.sessionId)));
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.signal', 'task.revoked', 'task.revoked']);
    expect(records[0]?.sponsor).to.equal(undefined);
    expect(await stateOf(stage, second)).to.equal('revoked');
  });

  it('of a person ends every task of that sub, whatever the sponsor key, and nobody else’s', async () => {
    const sponsor = `ada-${randomUUID()}`;
    const mine = [await openedTask(storage(), { sponsor }), await openedTask(storage(), { sponsor })];
    const keyed = await openedTask(storage(), { sponsorKey: sponsor as SponsorKey });
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(personLogout(sponsor))).to.deep.equal({ kind: 'accepted', revokedTasks: 2 });
    });
    expect(records[0]).to.include({ event: 'sponsor.signal', sponsor, reason: 'sponsor_logged_out' });
    for (const opening of mine) expect(await stateOf(stage, opening)).to.equal('revoked');
    expect(await stateOf(stage, keyed)).to.equal('live');
  });

  it('blocks nobody: the person may start again', async () => {
    const { task } = await openedTask(storage());
    await logOut(personLogout(task.sponsor));
    const { sponsor, sponsorKey } = task;
    const again = await openedTask(storage(), { sponsor, sponsorKey });
    expect(await stateOf(stage, again)).to.equal('live');
    expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
  });

  it('ends what was delegated from the session’s tasks as delegated', async () => {
    const root = await openedTask(storage());
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId });
    const records = await recordedBy(storage(), async () => {
      expect(await logOut(sessionLogout(root.task.sessionId))).to.deep.include({ revokedTasks: 2 });
    });
    expect(records.map((record) => [record.event, record.taskId, record.reason])).to.deep.equal([
      ['sponsor.signal', undefined, 'sponsor_logged_out'],
      ['task.revoked', root.task.taskId, 'sponsor_logged_out'],
      ['task.revoked', child.task.taskId, 'parent_revoked'],
    ]);
    expect(records[0]?.sponsor).to.equal(root.task.sponsor);
  });

  it('that is repeated writes nothing and ends nothing, whatever else it says; another issuer’s is another', async () => {
    const { task } = await openedTask(storage());
    const signal = personLogout(task.sponsor);
    await logOut(signal);
    const later = await openedTask(storage(), { sponsor: task.sponsor });
    const records = await recordedBy(storage(), async () => {
      for (const again of [signal, { ...signal, loggedOut: sessionLogout(later.task.sessionId).loggedOut }]) {
        expect(await logOut(again)).to.deep.equal({ kind: 'repeated' });
      }
    });
    expect(records).to.deep.equal([]);
    expect(await stateOf(stage, later)).to.equal('live');
    expect(await logOut({ ...signal, issuer: 'https://other.example' })).to.deep.include({ revokedTasks: 1 });
  });

  it('that is a security event’s namesake is another signal', async () => {
    const { task } = await openedTask(storage());
    const signal = personLogout(task.sponsor);
    await logOut(signal);
    const { issuer, jti } = signal;
    const event = { ...anEvent('revoked', task.sponsorKey), issuer, jti };
    expect(await storage().signals.applySecurityEvent(event)).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
  });

  it('is acted on once when twenty equal ones come at once', async () => {
    const { task } = await openedTask(storage());
    const signal = sessionLogout(task.sessionId);
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => logOut(signal)));
      expect(outcomes.filter(({ kind }) => kind === 'accepted')).to.deep.equal([{ kind: 'accepted', revokedTasks: 1 }]);
    });
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.signal', 'task.revoked']);
  });

  it('is told apart by sessions that differ in case only', async () => {
    const opening = await openedTask(storage());
    const { sessionId = '' } = opening.task;
    expect(await logOut(sessionLogout(sessionId.toUpperCase()))).to.deep.include({ revokedTasks: 0 });
    expect(await stateOf(stage, opening)).to.equal('live');
  });
});

onEveryDatabase('a security event', (stage) => {
  const { storage } = stage;
  const apply = (signal: SecuritySignal) => storage().signals.applySecurityEvent(signal);
  const blocksOf = (sponsorKey: SponsorKey) => storage().sponsors.findBlocks(sponsorKey);
  /** The receiver's own. */
  const blockOf = async (sponsorKey: SponsorKey) => (await blocksOf(sponsorKey)).find(({ source }) => source === 'ssf');
  const placed = (sponsorKey: SponsorKey, source: BlockSource, kind: BlockKind) =>
    storage().sponsors.block({ sponsorKey, source, kind, blockedAt: NOON }, 'sponsor_blocked');

  for (const [what, kind] of [
    ['disabled', 'disabled'],
    ['purged', 'deleted'],
    ['revoked', undefined],
  ] as const) {
    it(`${what} ends the person’s tasks, ${kind === undefined ? 'and blocks nobody' : `and blocks as ${kind}`}`, async () => {
      const opening = await openedTask(storage());
      const { sponsorKey } = opening.task;
      const stranger = await openedTask(storage(), { sponsor: opening.task.sponsor });
      await renewTimes(storage(), opening, 3);
      const [reason] = ACTIONS[what].reasons;
      const records = await recordedBy(storage(), async () => {
        expect(await apply(anEvent(what, sponsorKey))).to.deep.equal({ kind: 'accepted', revokedTasks: 1 });
      });
      expect(records.map(asEntry)).to.deep.equal(
        [
          anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason }),
          anEntry('token.refreshed', { ...about(opening), count: 2 }),
          anEntry('task.revoked', { ...about(opening), reason }),
        ].map(said),
      );
      const block = kind && { sponsorKey, source: 'ssf', kind, blockedAt: LATER };
      expect(await blockOf(sponsorKey)).to.deep.equal(block);
      expect(await stateOf(stage, stranger)).to.equal('live');
    });
  }

  it('enabled lifts the receiver’s own block, brings no task back, and is recorded where there was none', async () => {
    const opening = await openedTask(storage());
    const { sponsorKey } = opening.task;
    await apply(anEvent('purged', sponsorKey));
    for (const _ of ['with a block', 'without one']) {
      const records = await recordedBy(storage(), async () => {
        expect(await apply(anEvent('enabled', sponsorKey))).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
      });
      const expected = anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason: 'ssf_account_enabled' });
      expect(records.map(asEntry)).to.deep.equal([said(expected)]);
      expect(await blockOf(sponsorKey)).to.equal(undefined);
    }
    expect(await stateOf(stage, opening)).to.equal('revoked');
  });

  for (const source of ['admin', 'scim'] as const) {
    it(`places, restates and lifts the receiver’s own block beside one of ${source}, which it leaves, each on record`, async () => {
      const sponsorKey = newSponsorKey();
      await placed(sponsorKey, source, 'disabled');
      const other = { sponsorKey, source, kind: 'disabled', blockedAt: NOON };
      for (const [what, kind] of [
        ['disabled', 'disabled'],
        ['purged', 'deleted'],
        ['revoked', 'deleted'],
        ['enabled', undefined],
        ['enabled', undefined],
        ['purged', 'deleted'],
        ['enabled', undefined],
      ] as const) {
        const records = await recordedBy(storage(), async () => {
          const accepted = { kind: 'accepted', revokedTasks: 0 };
          expect(await apply(anEvent(what, sponsorKey)), what).to.deep.equal(accepted);
        });
        const [reason] = ACTIONS[what].reasons;
        const expected = anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason });
        expect(records.map(asEntry), what).to.deep.equal([said(expected)]);
        const own = kind === undefined ? [] : [{ sponsorKey, source: 'ssf', kind, blockedAt: LATER }];
        expect(await blocksOf(sponsorKey), what).to.deep.equal([other, ...own]);
      }
    });
  }

  it('makes deleted of the receiver’s own disabled, never the reverse, and keeps the time of the block', async () => {
    const sponsorKey = newSponsorKey();
    const block = { sponsorKey, source: 'ssf', blockedAt: NOON } as const;
    await apply({ ...anEvent('disabled', sponsorKey), at: NOON });
    await apply(anEvent('disabled', sponsorKey));
    expect(await blockOf(sponsorKey)).to.deep.equal({ ...block, kind: 'disabled' });
    for (const what of ['purged', 'disabled'] as const) {
      await apply(anEvent(what, sponsorKey));
      expect(await blockOf(sponsorKey), what).to.deep.equal({ ...block, kind: 'deleted' });
    }
  });

  it('of several kinds in one token is recorded by each of them, before the tasks', async () => {
    const opening = await openedTask(storage());
    const { sponsorKey } = opening.task;
    const reasons = ['ssf_account_enabled', 'ssf_sessions_revoked', 'ssf_account_purged'] as const;
    const more = { lift: false, block: 'deleted', end: 'ssf_account_purged' } as const;
    const action = { sponsorKey, statedAt: STATED, reasons, ...more };
    const records = await recordedBy(storage(), () => apply({ ...anOccurrence(), action }));
    expect(records.map((record) => [record.event, record.reason])).to.deep.equal([
      ...reasons.map((reason) => ['sponsor.signal', reason]),
      ['task.revoked', 'ssf_account_purged'],
    ]);
    expect(await blockOf(sponsorKey)).to.deep.include({ kind: 'deleted' });
  });

  it('enabled lifts no block that was stated later, and is then recorded as outdated; one of the same second it lifts', async () => {
    for (const what of ['disabled', 'purged'] as const) {
      const opening = await openedTask(storage());
      const { sponsorKey } = opening.task;
      await apply(anEvent(what, sponsorKey));
      const standing = await blockOf(sponsorKey);
      const stale = anEvent('enabled', sponsorKey, plusSeconds(STATED, -1));
      const records = await recordedBy(storage(), async () => {
        expect(await apply(stale)).to.deep.equal({ kind: 'outdated', revokedTasks: 0 });
        expect(await apply(stale)).to.deep.equal({ kind: 'repeated' });
      });
      const reason = 'ssf_account_enabled_outdated';
      const expected = anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason });
      expect(records.map(asEntry)).to.deep.equal([said(expected)]);
      expect(await blockOf(sponsorKey)).to.deep.equal(standing);
      expect((await apply(anEvent('enabled', sponsorKey, STATED))).kind).to.equal('accepted');
      expect(await blockOf(sponsorKey)).to.equal(undefined);
    }
  });

  it('disabled or purged again has the block stand by the latest statement, from when it was placed', async () => {
    for (const again of ['disabled', 'purged'] as const) {
      const sponsorKey = newSponsorKey();
      const at = (seconds: number) => plusSeconds(STATED, seconds);
      // Delivered in any order: the one stated last counts.
      for (const seconds of [0, 20, 10]) await apply(anEvent(again, sponsorKey, at(seconds)));
      expect(await apply(anEvent('enabled', sponsorKey, at(19)))).to.deep.include({ kind: 'outdated' });
      expect(await blockOf(sponsorKey)).to.deep.include({ blockedAt: LATER });
      expect(await apply(anEvent('enabled', sponsorKey, at(20)))).to.deep.include({ kind: 'accepted' });
      expect(await blockOf(sponsorKey)).to.equal(undefined);
    }
  });

  it('enabled that is outdated leaves what its token says beside it to be done and recorded', async () => {
    const sponsorKey = newSponsorKey();
    await apply(anEvent('disabled', sponsorKey));
    const reasons = ['ssf_account_enabled', 'ssf_sessions_revoked'] as const;
    const statedAt = plusSeconds(STATED, -1);
    const action = {
      sponsorKey,
      statedAt,
      reasons,
      lift: true,
      block: undefined,
      end: 'ssf_sessions_revoked',
    } as const;
    const records = await recordedBy(storage(), async () => {
      expect((await apply({ ...anOccurrence(), action })).kind).to.equal('outdated');
    });
    expect(records.map((record) => [record.event, record.reason])).to.deep.equal([
      ['sponsor.signal', 'ssf_account_enabled_outdated'],
      ['sponsor.signal', 'ssf_sessions_revoked'],
    ]);
    expect(await blockOf(sponsorKey)).to.deep.include({ source: 'ssf' });
  });

  it('enabled is outdated by this receiver’s own blocks only', async () => {
    const sponsorKey = newSponsorKey();
    await placed(sponsorKey, 'scim', 'disabled');
    await placed(sponsorKey, 'admin', 'disabled');
    const early = anEvent('enabled', sponsorKey, plusSeconds(NOON, -3600));
    const records = await recordedBy(storage(), async () => {
      expect(await apply(early)).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
    });
    expect(records.map(({ reason }) => reason)).to.deep.equal(['ssf_account_enabled']);
    expect((await blocksOf(sponsorKey)).map(({ source }) => source)).to.deep.equal(['admin', 'scim']);
  });

  it('that is repeated writes nothing: the block that was lifted meanwhile stays lifted', async () => {
    const sponsorKey = newSponsorKey();
    const signal = anEvent('disabled', sponsorKey);
    await apply(signal);
    await apply(anEvent('enabled', sponsorKey));
    const records = await recordedBy(storage(), async () => {
      expect(await apply(signal)).to.deep.equal({ kind: 'repeated' });
    });
    expect(records).to.deep.equal([]);
    expect(await blockOf(sponsorKey)).to.equal(undefined);
  });

  it('is acted on once when twenty equal ones come at once', async () => {
    const { task } = await openedTask(storage());
    const signal = anEvent('disabled', task.sponsorKey);
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => apply(signal)));
      expect(outcomes.filter(({ kind }) => kind === 'accepted')).to.have.length(1);
    });
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.signal', 'task.revoked']);
  });
});

onEveryDatabase(
  'a signal, seen from outside,',
  (stage) => {
    const { storage, database, kind } = stage;
    let connection: Outside;
    beforeEach(async () => {
      const opened = await database().outside?.();
      if (opened === undefined) throw new Error('this database cannot be reached from outside');
      connection = opened;
    });
    afterEach(() => connection.close());

    const accepted = () => connection.sql('select * from accepted_signals order by jti');

    it('is remembered under its receiver and issuer until it can be forgotten', async () => {
      const logout = personLogout('nobody');
      const event = anEvent('enabled', newSponsorKey());
      await storage().signals.logOut(logout);
      await storage().signals.applySecurityEvent({ ...event, issuer: 'https://transmitter.example' });
      const rows = (await accepted()).map(({ receiver, issuer, jti, forget_at }) => ({
        ...{ receiver, issuer, jti },
        forgetAt: forget_at instanceof Date ? forget_at.getTime() : Math.floor(Number(forget_at) / 1000),
      }));
      const forgetAt = Math.floor(logout.forgetAt / 1000);
      const ours = rows.filter(({ jti }) => jti === logout.jti || jti === event.jti);
      expect(ours).to.have.deep.members([
        { receiver: 'logout', issuer: logout.issuer, jti: logout.jti, forgetAt },
        { receiver: 'ssf', issuer: 'https://transmitter.example', jti: event.jti, forgetAt },
      ]);
    });

    for (const fault of [
      { table: 'accepted_signals' },
      { table: 'logouts' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`leaves nothing behind when writing to ${fault.table} fails, its jti neither, and is acted on when it comes again`, async () => {
        const { task } = await openedTask(storage());
        const logout = remembered(personLogout(task.sponsor));
        const event = anEvent('disabled', task.sponsorKey);
        const before = [await contentsOf(connection), await accepted()];
        const both = [() => storage().signals.logOut(logout), () => storage().signals.applySecurityEvent(event)];
        // An event names nobody who has logged out.
        for (const send of fault.table === 'logouts' ? both.slice(0, 1) : both) {
          const outcome = await whileFailing(kind, connection, fault, () => send().catch((error: unknown) => error));
          expect(outcome).to.be.instanceOf(Error);
          expect([await contentsOf(connection), await accepted()]).to.deep.equal(before);
        }
        expect(await storage().signals.applySecurityEvent(event)).to.deep.include({ revokedTasks: 1 });
        expect(await storage().signals.logOut(logout)).to.deep.include({ kind: 'accepted' });
      });
    }

    /** The person's sub and sponsor key are one where the claim is `sub`, and two where it is another. */
    const people = [
      ['sub is the sponsor key', () => personNamed(randomUUID())],
      ['sub is another than the sponsor key', () => ({})],
    ] as const;
    const personNamed = (name: string) => ({ sponsor: name, sponsorKey: name as SponsorKey });
    type Send = (opening: TaskOpening) => Promise<unknown>;
    const signals: readonly (readonly [string, Send])[] = [
      ['logout of the person', ({ task }) => storage().signals.logOut(personLogout(task.sponsor))],
      ['logout of the session', ({ task }) => storage().signals.logOut(sessionLogout(task.sessionId))],
      ['session-revoked', ({ task }) => storage().signals.applySecurityEvent(anEvent('revoked', task.sponsorKey))],
    ];

    for (const [who, changes] of people) {
      for (const [what, send] of signals) {
        it(`as a ${what} ends an exchange that commits first, which it waits for (${who})`, async () => {
          const opening = anOpening(await registeredAgent(storage()), changes());
          const hold = await holdAppends(kind, connection);
          const opened = storage().tasks.open(opening);
          await hold.waiting(1);
          const sent = send(opening);
          await hold.waiting(2);
          await hold.release();
          expect(await opened).to.deep.equal({ kind: 'opened' });
          expect(await sent).to.deep.equal({ kind: 'accepted', revokedTasks: 1 });
          expect(await stateOf(stage, opening)).to.equal('revoked');
        });

        it(`as a ${what} under way is waited for by an exchange (${who})`, async () => {
          const opening = anOpening(await registeredAgent(storage()), changes());
          const hold = await holdAppends(kind, connection);
          const sent = send(opening);
          await hold.waiting(1);
          const opened = storage().tasks.open(opening);
          await hold.waiting(2);
          await hold.release();
          expect(await sent).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
          expect(await opened).to.deep.equal({ kind: 'opened' });
        });
      }
    }

    it('that blocks beside another source’s block ends the tasks that run, in the same transaction', async () => {
      for (const [what, kind] of [
        ['disabled', 'disabled'],
        ['purged', 'deleted'],
      ] as const) {
        const opening = await openedTask(storage());
        const { sponsorKey } = opening.task;
        const other = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON } as const;
        await copyBlock(storage(), connection, other);
        const [reason] = ACTIONS[what].reasons;
        const records = await recordedBy(storage(), async () => {
          const sent = await storage().signals.applySecurityEvent(anEvent(what, sponsorKey));
          expect(sent).to.deep.equal({ kind: 'accepted', revokedTasks: 1 });
        });
        expect(records.map(asEntry)).to.deep.equal(
          [
            anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason }),
            anEntry('task.revoked', { ...about(opening), reason }),
          ].map(said),
        );
        const own = { sponsorKey, source: 'ssf', kind, blockedAt: LATER };
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([other, own]);
      }
    });

    for (const [who, changes] of people) {
      for (const [what, logout] of [
        ['person', ({ task }: TaskOpening) => personLogout(task.sponsor)],
        ['session', ({ task }: TaskOpening) => sessionLogout(task.sessionId)],
      ] as const) {
        it(`as a remembered logout of the ${what} under way refuses an exchange, which waits for it (${who})`, async () => {
          const opening = await aLaterOpening(stage, changes(), LOGGED_OUT);
          const hold = await holdAppends(kind, connection);
          const sent = storage().signals.logOut(remembered(logout(opening)));
          await hold.waiting(1);
          const opened = storage().tasks.open(opening);
          await hold.waiting(2);
          await hold.release();
          expect(await sent).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
          expect(await opened).to.deep.equal({ kind: 'logged_out' });
        });
      }
    }

    it('as a remembered logout lets no exchange with an older token go on, on whichever of three processes', async function () {
      this.timeout(30_000 + ROUNDS * 1_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const nth = (index: number) => processes[index % 3] ?? storage();
      for (let round = 0; round < ROUNDS; round++) {
        const opening = await aLaterOpening(stage, {}, LOGGED_OUT);
        const { sponsor, sessionId } = opening.task;
        const logout = round % 4 < 2 ? personLogout(sponsor) : sessionLogout(sessionId, sponsor);
        const send = () => nth(round).signals.logOut(remembered(logout));
        const open = () => nth(round + 1).tasks.open(opening);
        const [one, other] = await Promise.all(round % 2 === 0 ? [open(), send()] : [send(), open()]);
        const outcome = round % 2 === 0 ? one : other;
        if (outcome.kind === 'logged_out') expect(await stateOf(stage, opening)).to.equal(undefined);
        else expect(await stateOf(stage, opening)).to.equal('revoked');
      }
      await Promise.all(processes.map((process) => process.close()));
    });

    it('that blocks ends an exchange that commits first, which it waits for', async () => {
      const opening = anOpening(await registeredAgent(storage()));
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const sent = storage().signals.applySecurityEvent(anEvent('disabled', opening.task.sponsorKey));
      await hold.waiting(2);
      await hold.release();
      expect(await opened).to.deep.equal({ kind: 'opened' });
      expect(await sent).to.deep.equal({ kind: 'accepted', revokedTasks: 1 });
      expect(await stateOf(stage, opening)).to.equal('revoked');
    });

    it('that blocks refuses an exchange that came after it', async () => {
      const opening = anOpening(await registeredAgent(storage()));
      const hold = await holdAppends(kind, connection);
      const sent = storage().signals.applySecurityEvent(anEvent('purged', opening.task.sponsorKey));
      await hold.waiting(1);
      const opened = storage().tasks.open(opening);
      await hold.waiting(2);
      await hold.release();
      await sent;
      expect(await opened).to.deep.equal({ kind: 'sponsor_blocked', block: 'deleted' });
    });

    it('as a logout of a session names nobody whose tasks another decision is ending, which it waits for', async () => {
      const { task } = await openedTask(storage());
      const hold = await holdAppends(kind, connection);
      const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
      const killing = storage().tasks.end({ kind: 'agent', agentId: task.agentId }, kill);
      await hold.waiting(1);
      const logout = storage().signals.logOut(sessionLogout(task.sessionId));
      await hold.blocked(2);
      const records = await recordedBy(storage(), async () => {
        await hold.release();
        expect(await killing).to.deep.equal({ kind: 'ended', tasks: 1 });
        expect(await logout).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
      });
      expect(records.map(({ event, sponsor }) => [event, sponsor])).to.deep.equal([
        ['task.revoked', task.sponsor],
        ['sponsor.signal', undefined],
      ]);
    });

    it('is outlived by no task that was opened before it, on whichever of three processes', async function () {
      this.timeout(30_000 + ROUNDS * 1_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const nth = (index: number) => processes[index % 3] ?? storage();
      const agent = await registeredAgent(storage());
      for (let round = 0; round < ROUNDS; round++) {
        const opening = anOpening(agent, { expiresAt: plusSeconds(LATER, 900) });
        const { taskId, sponsor, sponsorKey, sessionId } = opening.task;
        const { signals } = nth(round);
        const send = [
          () => signals.logOut(personLogout(sponsor)),
          () => signals.logOut(sessionLogout(sessionId, sponsor)),
          () => signals.applySecurityEvent(anEvent('disabled', sponsorKey)),
        ][round % 3];
        const open = () => nth(round + 1).tasks.open(opening);
        if (round % 2 === 0) await Promise.all([open(), send?.()]);
        else await Promise.all([send?.(), open()]);
        if ((await stateOf(stage, opening)) !== 'live') continue;
        // Still alive: then the signal came first, blocked nobody, and its record stands before the task's.
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
        const { records } = await storage().ledger.page({ sponsor, limit: 10, now: NOON });
        const inOrder = records.toSorted((one, other) => one.seq - other.seq);
        expect(inOrder.map((record) => [record.event, record.taskId])).to.deep.equal([
          ['sponsor.signal', undefined],
          ['token.issued', taskId],
        ]);
      }
      await Promise.all(processes.map((process) => process.close()));
    });
  },
  databases,
);
