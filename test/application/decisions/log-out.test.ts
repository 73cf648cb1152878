import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { type LogoutSignal, logOut } from '../../../application/decisions/log-out.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { sessionKinds } from '../../../domain/sessions/session.ts';
import {
  endEffects,
  gone,
  liveTasks,
  lockNames,
  NO_TASKS,
  revoked,
  signalRecord,
  TASKS,
} from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const at = plusSeconds(NOON, 90);
const reason = 'sponsor_logged_out';
const occurrence = { issuer: 'https://idp.example', jti: 'a "jti"', forgetAt: plusSeconds(NOON, 661), at };
const acceptance = { receiver: 'logout', issuer: occurrence.issuer, jti: occurrence.jti } as const;
const signalLock = 'exclusive signal ["logout","https://idp.example","a \\"jti\\""]';
const times = (statedAt: number, forgetAt: number) => ({
  statedAt: plusSeconds(NOON, statedAt),
  forgetAt: plusSeconds(NOON, forgetAt),
});

const session: LogoutSignal = {
  ...occurrence,
  loggedOut: { kind: 'session', sessionId: 'session-1', subject: undefined },
};
const person: LogoutSignal = { ...occurrence, loggedOut: { kind: 'person', subject: 'ada' } };
const LOGOUTS = [
  {
    title: 'of a session',
    signal: session,
    locks: ['exclusive session session-1'],
    selection: { kind: 'session', sessionId: 'session-1' },
    name: { kind: 'session', name: 'session-1' },
  },
  {
    title: 'of a person',
    signal: person,
    // An exchange shares the sponsor lock if its sub is the sponsor key, otherwise the subject lock.
    locks: ['exclusive sponsor ada', 'exclusive subject ada'],
    selection: { kind: 'subject', subject: 'ada' },
    name: { kind: 'person', name: 'ada' },
  },
] as const;

const [first, child, second] = TASKS;
const live = liveTasks([first, second], [child], ['ada']);

describe('logOut', () => {
  for (const { title, signal, locks, selection, name } of LOGOUTS) {
    describe(title, () => {
      const remember = times(80, 86_400);

      it('locks the signal exclusively, and the session or both keys of the person', () => {
        expect(lockNames(logOut.locks(signal))).to.deep.equal([...locks, signalLock]);
      });

      it('reads the live tasks, and the stored logout only if this logout is to be stored', () => {
        const asked = { accepted: ask('signal_accepted', acceptance), live: ask('live_tasks', { selection, at }) };
        const none = {
          remembered: undefined,
          rememberedByPages: [],
          sessions: [],
          rememberedWithoutSession: undefined,
          isLeft: undefined,
        };
        expect(logOut.asks(signal)).to.deep.equal({ ...asked, ...none });
        const remembered = ask('logout', name);
        expect(logOut.asks({ ...signal, remember })).to.deep.equal({ ...asked, ...none, remembered });
      });

      it('accepts the signal, ends the tasks, and records the signal before the ends', () => {
        const ended = revoked(at, [first, reason], [child, 'parent_revoked'], [second, reason]);
        const accepted = { effect: 'accept_signal', ...acceptance, forgetAt: occurrence.forgetAt };
        const [tasks, records] = endEffects(ended, signalRecord('ada', at, reason));
        expect(logOut.judge(signal, { accepted: false, remembered: undefined, live })).to.deep.equal({
          verdict: { kind: 'accepted', revokedTasks: 3 },
          effects: [accepted, tasks, gone(selection, reason), records],
        });
      });

      it('from the client of the page closes and refuses its sessions, and reads and ends no task and no authorization', () => {
        const page = { ...signal, keepsTasks: true, closes: { me: remember } } as const;
        const pageName = { ...name, kind: `me_${name.kind}` } as const;
        const sessions = [ask('sessions', { of: 'me', which: signal.loggedOut })];
        expect(logOut.asks(page)).to.deep.equal({
          accepted: ask('signal_accepted', acceptance),
          remembered: undefined,
          live: undefined,
          rememberedByPages: [ask('logout', pageName)],
          sessions,
          rememberedWithoutSession: undefined,
          isLeft: undefined,
        });
        const open = { kind: 'me', sessionHash: 'a-hash', expiresAt: plusSeconds(at, 1) };
        const { verdict, effects } = logOut.judge(page, { accepted: false, sessions: [[open]] });
        expect(verdict).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
        expect(effects.slice(1, -1)).to.deep.equal([
          { effect: 'put_logout', ...pageName, ...remember },
          { effect: 'close_session', sessionHash: 'a-hash' },
        ]);
      });

      it('writes nothing for a signal that was accepted before', () => {
        const facts = { accepted: true, remembered: times(1, 2), live };
        const judgement = { verdict: { kind: 'repeated' }, effects: [] };
        expect(logOut.judge({ ...signal, remember }, facts)).to.deep.equal(judgement);
      });

      for (const [which, known, kept] of [
        ['the new times if no logout is known', undefined, remember],
        ['the new times if both are later', times(79, 86_399), remember],
        ['the known times if both are later', times(81, 86_401), times(81, 86_401)],
        ['the known statement and the new end if each is later', times(81, 86_399), times(81, 86_400)],
        ['the new statement and the known end if each is later', times(79, 86_401), times(80, 86_401)],
      ] as const) {
        it(`stores ${which}`, () => {
          const facts = { accepted: false, remembered: known, live: NO_TASKS };
          const { effects } = logOut.judge({ ...signal, remember }, facts);
          expect(effects.map(({ effect }) => effect)).to.deep.equal([
            ...['accept_signal', 'put_logout', 'void_authorizations', 'append'],
          ]);
          expect(effects[1]).to.deep.equal({ effect: 'put_logout', ...name, ...kept });
        });
      }
    });
  }

  describe('of a person and a session', () => {
    const both: LogoutSignal = { ...session, loggedOut: { kind: 'session', sessionId: 'session-1', subject: 'ada' } };
    const ending: LogoutSignal = { ...both, endsTasksWithoutSession: true };
    const remember = times(80, 86_400);

    it('without the setting ends the tasks of the session, and reads whether tasks without a session go on', () => {
      expect(lockNames(logOut.locks(both))).to.deep.equal(['exclusive session session-1', signalLock]);
      expect(logOut.asks({ ...both, remember })).to.deep.include({
        live: ask('live_tasks', { selection: { kind: 'session', sessionId: 'session-1' }, at }),
        isLeft: ask('live_task_without_session', { subject: 'ada', at }),
        rememberedWithoutSession: undefined,
      });
      expect(logOut.asks({ ...both, keepsTasks: true })).to.deep.include({ live: undefined, isLeft: undefined });
      // A setting about tasks changes no logout for the client of the page.
      expect(logOut.asks({ ...ending, keepsTasks: true })).to.deep.include({ live: undefined, isLeft: undefined });
      expect(lockNames(logOut.locks({ ...ending, keepsTasks: true }))).to.deep.equal(lockNames(logOut.locks(both)));
    });

    for (const [title, ended, isLeft, recorded, verdict] of [
      ['a task ended and none goes on', live, false, reason, { revokedTasks: 3 }],
      ['a task ended and one goes on', live, true, reason, { revokedTasks: 3, leavesTasksWithoutSession: true }],
      ['no task ended and none goes on', NO_TASKS, false, reason, { revokedTasks: 0 }],
      [
        ...(['no task ended and one goes on', NO_TASKS, true] as const),
        ...(['sponsor_logged_out_no_tasks', { revokedTasks: 0, leavesTasksWithoutSession: true }] as const),
      ],
    ] as const) {
      it(`records ${recorded} if ${title}`, () => {
        const judged = logOut.judge(both, { accepted: false, live: ended, isLeft });
        expect(judged.verdict).to.deep.equal({ kind: 'accepted', ...verdict });
        const [append] = judged.effects.flatMap((one) => (one.effect === 'append' ? [one] : []));
        expect(append?.entries).to.deep.equal([signalRecord('ada', at, recorded)]);
        const ends = append?.ended?.tasks.map(({ end }) => end.record.reason) ?? [];
        expect(ends).to.deep.equal(ended === live ? [reason, 'parent_revoked', reason] : []);
      });
    }

    it('with the setting also locks the person, ends tasks without a session, and remembers the logout for them', () => {
      expect(lockNames(logOut.locks(ending))).to.deep.equal([
        ...['exclusive session session-1', 'exclusive sponsor ada', 'exclusive subject ada'],
        signalLock,
      ]);
      const name = { kind: 'person_without_session', name: 'ada' } as const;
      expect(logOut.asks({ ...ending, remember })).to.deep.include({
        live: ask('live_tasks', { selection: { kind: 'session_or_none', sessionId: 'session-1', subject: 'ada' }, at }),
        isLeft: undefined,
        rememberedWithoutSession: ask('logout', name),
      });
      const known = { remembered: times(81, 1), rememberedWithoutSession: times(79, 86_401) };
      const { effects } = logOut.judge({ ...ending, remember }, { accepted: false, ...known, live: NO_TASKS });
      expect(effects.slice(1, -1)).to.deep.equal([
        { effect: 'put_logout', kind: 'session', name: 'session-1', ...times(81, 86_400) },
        { effect: 'put_logout', ...name, ...times(80, 86_401) },
        gone({ kind: 'session_or_none', sessionId: 'session-1', subject: 'ada' }, reason),
      ]);
    });

    it('from the client of a page locks the person, and refuses the person’s sign-ins without a session', () => {
      for (const page of sessionKinds) {
        const signal: LogoutSignal = { ...both, keepsTasks: true, closes: { [page]: remember } };
        expect(lockNames(logOut.locks(signal))).to.deep.equal([
          ...['exclusive session session-1', 'exclusive subject ada'],
          signalLock,
        ]);
        const names = [
          { kind: `${page}_session`, name: 'session-1' },
          { kind: `${page}_person_without_session`, name: 'ada' },
        ] as const;
        expect(logOut.asks(signal)).to.deep.include({ rememberedByPages: names.map((name) => ask('logout', name)) });
        const { effects } = logOut.judge(signal, { accepted: false, rememberedByPages: [undefined, times(81, 1)] });
        expect(effects.filter(({ effect }) => effect === 'put_logout')).to.deep.equal([
          { effect: 'put_logout', ...names[0], ...remember },
          { effect: 'put_logout', ...names[1], ...times(81, 86_400) },
        ]);
      }
    });

    it('with the setting is as before if it names the session or the person alone', () => {
      for (const signal of [session, person]) {
        const set: LogoutSignal = { ...signal, endsTasksWithoutSession: true };
        expect(lockNames(logOut.locks(set))).to.deep.equal(lockNames(logOut.locks(signal)));
        expect(logOut.asks({ ...set, remember })).to.deep.equal(logOut.asks({ ...signal, remember }));
      }
    });
  });

  for (const [title, subject, sponsors, sponsor] of [
    ['the person of the signal', 'ada', [], 'ada'],
    ['the person of the signal, even if the tasks are of another person', 'ada', ['grace'], 'ada'],
    ['no person if no task ends', undefined, [], undefined],
    ['the only person whose tasks end', undefined, ['grace'], 'grace'],
    ['no person if several share the session', undefined, ['ada', 'grace'], undefined],
  ] as const) {
    it(`of a session records ${title}`, () => {
      const signal: LogoutSignal = { ...session, loggedOut: { kind: 'session', sessionId: 'session-1', subject } };
      const facts = { accepted: false, remembered: undefined, live: { ...live, sponsors } };
      const [append] = logOut.judge(signal, facts).effects.flatMap((one) => (one.effect === 'append' ? [one] : []));
      expect(append?.entries).to.deep.equal([signalRecord(sponsor, at, reason)]);
    });
  }
});
