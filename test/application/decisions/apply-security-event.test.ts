import { expect } from 'chai';
import { applySecurityEvent, type SecuritySignal } from '../../../application/decisions/apply-security-event.ts';
import { ask } from '../../../application/decisions/fact.ts';
import { instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import type { SecurityAction } from '../../../domain/signals/security-event.ts';
import type { StatedBlock } from '../../../domain/sponsors/block.ts';
import {
  ADA,
  aStatedBlock,
  endsOf,
  goneOf,
  liveTasks,
  lockNames,
  NO_TASKS,
  revoked,
  signalRecord,
  TASKS,
} from '../../support/decision-fixtures.ts';

import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 90_000_007);
const forgetAt = plusSeconds(at, 661);
/** The transmitter states the event at this whole second, before the service accepts it. */
const STATED = plusSeconds(NOON, 60);
const [EARLIER, LATER] = [plusSeconds(STATED, -1), plusSeconds(STATED, 1)];

const ACTIONS = {
  'session-revoked': { reasons: ['ssf_sessions_revoked'], lift: false, block: undefined, end: 'ssf_sessions_revoked' },
  'account-disabled': {
    reasons: ['ssf_account_disabled'],
    lift: false,
    block: 'disabled',
    end: 'ssf_account_disabled',
  },
  'account-purged': { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' },
  'account-enabled': { reasons: ['ssf_account_enabled'], lift: true, block: undefined, end: undefined },
  enabledAndRevoked: {
    reasons: ['ssf_account_enabled', 'ssf_sessions_revoked'],
    lift: true,
    block: undefined,
    end: 'ssf_sessions_revoked',
  },
  enabledAndPurged: {
    reasons: ['ssf_account_enabled', 'ssf_sessions_revoked', 'ssf_account_purged'],
    lift: false,
    block: 'deleted',
    end: 'ssf_account_purged',
  },
} as const satisfies Record<string, Omit<SecurityAction, 'sponsorKey' | 'statedAt'>>;

const anEvent = (action: keyof typeof ACTIONS, statedAt = STATED): SecuritySignal => ({
  issuer: 'https://transmitter.example',
  jti: 'a "jti"',
  forgetAt,
  at,
  action: { sponsorKey: ADA, statedAt, ...ACTIONS[action] },
});

const NAME = { receiver: 'ssf', issuer: 'https://transmitter.example', jti: 'a "jti"' } as const;
const accepted = { effect: 'accept_signal', ...NAME, forgetAt };
const lifted = { effect: 'remove_block', sponsorKey: ADA, source: 'ssf' };
const put = (changes: Partial<StatedBlock>) => ({ effect: 'put_block', sponsorKey: ADA, source: 'ssf', ...changes });
const appended = (...reasons: readonly string[]) => ({
  effect: 'append',
  entries: reasons.map((reason) => signalRecord(ADA, at, reason)),
});

const own = aStatedBlock({ kind: 'disabled', statedAt: STATED });
const purged = aStatedBlock({ kind: 'deleted', statedAt: STATED });
const others = [aStatedBlock({ source: 'admin', statedAt: LATER }), aStatedBlock({ source: 'scim', statedAt: LATER })];
const [task, child] = TASKS;
const live = liveTasks([task], [child]);

describe('applySecurityEvent', () => {
  it('locks the person and the signal exclusively', () => {
    const signal = 'exclusive signal ["ssf","https://transmitter.example","a \\"jti\\""]';
    expect(lockNames(applySecurityEvent.locks(anEvent('account-enabled')))).to.deep.equal([
      `exclusive sponsor ${ADA}`,
      signal,
    ]);
  });

  it('reads the blocks, and the live tasks only if the event ends tasks', () => {
    const asked = { accepted: ask('signal_accepted', NAME), blocks: ask('blocks', ADA) };
    const none = { live: undefined, isKnown: undefined };
    expect(applySecurityEvent.asks(anEvent('account-enabled'))).to.deep.equal({ ...asked, ...none });
    const live = ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey: ADA }, at });
    const isKnown = ask('person_known', ADA);
    expect(applySecurityEvent.asks(anEvent('session-revoked'))).to.deep.equal({ ...asked, live, isKnown });
    expect(applySecurityEvent.asks(anEvent('enabledAndRevoked'))).to.deep.equal({ ...asked, live, isKnown });
    expect(applySecurityEvent.asks(anEvent('account-disabled'))).to.deep.equal({ ...asked, live, isKnown: undefined });
  });

  it('of no person who is known accepts the signal, and names no person in a record, except in that of a lift', () => {
    const facts = { accepted: false, blocks: [], live: NO_TASKS, isKnown: false };
    const verdict = { kind: 'nothing_ended' };
    const gone = goneOf(ADA, 'ssf_sessions_revoked');
    expect(applySecurityEvent.judge(anEvent('session-revoked'), facts)).to.deep.equal({
      verdict,
      effects: [accepted, gone],
    });
    expect(applySecurityEvent.judge(anEvent('enabledAndRevoked'), facts)).to.deep.equal({
      verdict,
      effects: [accepted, lifted, gone, appended('ssf_account_enabled')],
    });
  });

  it('writes nothing for a signal that was accepted before', () => {
    for (const action of Object.keys(ACTIONS) as readonly (keyof typeof ACTIONS)[]) {
      const facts = { accepted: true, blocks: [own], live };
      const judgement = { verdict: { kind: 'repeated' }, effects: [] };
      expect(applySecurityEvent.judge(anEvent(action), facts), action).to.deep.equal(judgement);
    }
  });

  for (const [action, reason, placed] of [
    ['session-revoked', 'ssf_sessions_revoked', []],
    ['account-disabled', 'ssf_account_disabled', [put({ kind: 'disabled', blockedAt: at, statedAt: STATED })]],
    ['account-purged', 'ssf_account_purged', [put({ kind: 'deleted', blockedAt: at, statedAt: STATED })]],
  ] as const) {
    for (const blocks of [[], others]) {
      const places = placed.length === 0 ? '' : 'places the block, ';
      const beside = blocks.length === 0 ? '' : ', also if other sources block the person';
      it(`for ${action} ${places}ends the tasks, and records the signal before their ends${beside}`, () => {
        const ended = revoked(at, [task, reason], [child, 'parent_revoked']);
        expect(applySecurityEvent.judge(anEvent(action), { accepted: false, blocks, live })).to.deep.equal({
          verdict: { kind: 'accepted', revokedTasks: 2 },
          effects: [accepted, ...placed, ...endsOf(ADA, reason, ended, signalRecord(ADA, at, reason))],
        });
      });
    }
  }

  const kept = { blockedAt: own.blockedAt };
  const CASES: readonly {
    readonly title: string;
    readonly event: SecuritySignal;
    readonly blocks: readonly StatedBlock[];
    readonly kind?: 'outdated';
    readonly effects: readonly object[];
  }[] = [
    {
      title: 'keeps the time of a block that is stated again, and stores the time of the later statement',
      event: anEvent('account-disabled', LATER),
      blocks: [own],
      effects: [
        put({ ...kept, kind: 'disabled', statedAt: LATER }),
        goneOf(ADA, 'ssf_account_disabled'),
        appended('ssf_account_disabled'),
      ],
    },
    {
      title: 'keeps the later statement of a block that is stated again out of order',
      event: anEvent('account-purged', EARLIER),
      blocks: [purged],
      effects: [
        put({ ...kept, kind: 'deleted', statedAt: STATED }),
        goneOf(ADA, 'ssf_account_purged'),
        appended('ssf_account_purged'),
      ],
    },
    {
      title: 'makes a disabled block deleted',
      event: anEvent('account-purged', LATER),
      blocks: [...others, own],
      effects: [
        put({ ...kept, kind: 'deleted', statedAt: LATER }),
        goneOf(ADA, 'ssf_account_purged'),
        appended('ssf_account_purged'),
      ],
    },
    {
      title: 'never makes a deleted block disabled',
      event: anEvent('account-disabled', LATER),
      blocks: [purged],
      effects: [
        put({ ...kept, kind: 'deleted', statedAt: LATER }),
        goneOf(ADA, 'ssf_account_disabled'),
        appended('ssf_account_disabled'),
      ],
    },
    {
      title: 'leaves a block as it is when sessions are revoked',
      event: anEvent('session-revoked', LATER),
      blocks: [own],
      effects: [goneOf(ADA, 'ssf_sessions_revoked'), appended('ssf_sessions_revoked')],
    },
    {
      title: 'names a person who is known, and has no live task',
      event: anEvent('session-revoked'),
      blocks: [],
      effects: [goneOf(ADA, 'ssf_sessions_revoked'), appended('ssf_sessions_revoked')],
    },
    {
      title: 'lifts a block that was stated earlier',
      event: anEvent('account-enabled', LATER),
      blocks: [...others, own],
      effects: [lifted, appended('ssf_account_enabled')],
    },
    {
      title: 'lifts a block that was stated in the same second',
      event: anEvent('account-enabled'),
      blocks: [purged],
      effects: [lifted, appended('ssf_account_enabled')],
    },
    {
      title: 'keeps a block that was stated after the account-enabled, which is recorded as outdated',
      event: anEvent('account-enabled', EARLIER),
      blocks: [own],
      kind: 'outdated',
      effects: [appended('ssf_account_enabled_outdated')],
    },
    {
      title: 'accepts an account-enabled if only other sources stated a later block',
      event: anEvent('account-enabled', EARLIER),
      blocks: others,
      effects: [lifted, appended('ssf_account_enabled')],
    },
    {
      title: 'records an account-enabled of a person without a block',
      event: anEvent('account-enabled'),
      blocks: [],
      effects: [lifted, appended('ssf_account_enabled')],
    },
    {
      title: 'records each reason of a token that blocks, and does not record its account-enabled as outdated',
      event: anEvent('enabledAndPurged', EARLIER),
      blocks: [own],
      effects: [
        put({ ...kept, kind: 'deleted', statedAt: STATED }),
        goneOf(ADA, 'ssf_account_purged'),
        appended('ssf_account_enabled', 'ssf_sessions_revoked', 'ssf_account_purged'),
      ],
    },
  ];
  for (const { title, event, blocks, kind = 'accepted', effects } of CASES) {
    it(title, () => {
      expect(applySecurityEvent.judge(event, { accepted: false, blocks, live: NO_TASKS })).to.deep.equal({
        verdict: { kind, revokedTasks: 0 },
        effects: [accepted, ...effects],
      });
    });
  }

  it('ends the tasks although an account-enabled event of the same token is outdated', () => {
    const reason = 'ssf_sessions_revoked';
    const entries = ['ssf_account_enabled_outdated', reason].map((one) => signalRecord(ADA, at, one));
    const facts = { accepted: false, blocks: [own], live: liveTasks([task]) };
    expect(applySecurityEvent.judge(anEvent('enabledAndRevoked', EARLIER), facts)).to.deep.equal({
      verdict: { kind: 'outdated', revokedTasks: 1 },
      effects: [accepted, ...endsOf(ADA, reason, revoked(at, [task, reason]), ...entries)],
    });
  });
});
