/**
 * A model of one person's blocks, for random tests. It predicts the blocks and the records after each act of an
 * operator, the person, SCIM or Shared Signals (specification "Sponsor block").
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { ulid } from 'ulid';
import { blockSponsor, unblockSponsor } from '../../application/admin/block-sponsor.ts';
import { applySecurityEvent } from '../../application/decisions/apply-security-event.ts';
import { addUser, changeUser, deleteUser } from '../../application/decisions/write-user.ts';
import { pauseAgents, resumeAgents } from '../../application/me/pause.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import { makeUserId, type SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { BlockKind, BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import { NOON } from './domain-fixtures.ts';
import { agreeing } from './moved-clock.ts';

type OperatorAct = 'block' | 'lift';
type ScimAct = 'off' | 'on' | 'remove';
/** An act, and the `iat` of its token in seconds after noon. */
type SignalAct = readonly ['disabled' | 'purged' | 'enabled', number];
export type Act =
  | { readonly source: 'admin'; readonly act: OperatorAct }
  | { readonly source: 'scim'; readonly act: ScimAct }
  | { readonly source: 'self'; readonly act: OperatorAct }
  | { readonly source: 'ssf'; readonly act: SignalAct };

export const anyAct = {
  admin: fc.constantFrom<OperatorAct>('block', 'lift').map((act): Act => ({ source: 'admin', act })),
  self: fc.constantFrom<OperatorAct>('block', 'lift').map((act): Act => ({ source: 'self', act })),
  scim: fc.constantFrom<ScimAct>('off', 'off', 'on', 'remove').map((act): Act => ({ source: 'scim', act })),
  ssf: fc
    .tuple(fc.constantFrom<SignalAct[0][]>('disabled', 'purged', 'enabled', 'enabled'), fc.nat(3))
    .map((act): Act => ({ source: 'ssf', act })),
};

/** The reasons in the records of acts by hand. */
const BY_HAND = {
  admin: { placed: 'sponsor_blocked', lifted: 'operator_unblocked' },
  self: { placed: 'sponsor_paused', lifted: 'sponsor_resumed' },
} as const;

const SIGNALS = {
  disabled: { reasons: ['ssf_account_disabled'], lift: false, block: 'disabled', end: 'ssf_account_disabled' },
  purged: { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' },
  enabled: { reasons: ['ssf_account_enabled'], lift: true, block: undefined, end: undefined },
} as const;

export function blockModel(sponsorKey: SponsorKey) {
  const blocks = new Map<BlockSource, SponsorBlock>();
  let user: ProvisionedUser | undefined;
  let statedAt = NOON;

  const place = (source: BlockSource, kind: BlockKind, at: Instant) =>
    blocks.set(source, { sponsorKey, source, kind, blockedAt: blocks.get(source)?.blockedAt ?? at });

  /** An act of an operator, or of the person themselves. */
  async function byHand(
    decisions: Decisions,
    { source, act }: Extract<Act, { readonly source: 'admin' | 'self' }>,
    at: Instant,
  ): Promise<readonly string[]> {
    const own = blocks.get(source);
    const clock = { now: () => at };
    const service = { decisions, clock, sharedTime: agreeing(clock) };
    const person = { sponsorKey, subject: sponsorKey, sessionId: undefined, authenticatedAt: at, by: 'token' } as const;
    if (act === 'block') {
      if (source === 'admin') await blockSponsor(service, sponsorKey);
      else await pauseAgents(service, person);
      place(source, 'disabled', at);
      return own === undefined ? [`sponsor.blocked allow ${BY_HAND[source].placed}`] : [];
    }
    const verdict =
      source === 'admin'
        ? await unblockSponsor({ ...service, twoPersons: false }, sponsorKey)
        : await resumeAgents(service, person);
    if (verdict === 'lifted') blocks.delete(source);
    // A person resumes nothing while another source blocks them. Another process may have lifted that block since.
    if (source === 'self' && own !== undefined) expect(verdict).to.be.oneOf(['lifted', 'not_owned']);
    else if (own !== undefined) expect(verdict).to.equal('lifted');
    else expect(verdict).to.be.oneOf(['not_owned', 'not_blocked']);
    if (verdict === 'lifted') return [`sponsor.unblocked allow ${BY_HAND[source].lifted}`];
    return verdict === 'not_owned' ? ['sponsor.unblocked deny sponsor_block_not_owned'] : [];
  }

  async function scim({ decide }: Decisions, act: ScimAct, at: Instant): Promise<readonly string[]> {
    const before = user;
    if (act === 'remove') {
      if (before === undefined) return [];
      const statements = statementsOf(before, undefined);
      expect(await decide(deleteUser, { stored: before, statements, at })).to.equal('removed');
      user = undefined;
      place('scim', 'deleted', at);
      return ['sponsor.signal allow scim_deleted'];
    }
    const active = act === 'on';
    user = before === undefined ? aUser(active) : { ...before, active, revision: before.revision + 1 };
    const write = { user, statements: statementsOf(before, user), at };
    if (before === undefined) expect(await decide(addUser, { ...write, maxUsers: 1_000_000 })).to.equal('created');
    else expect(await decide(changeUser, { ...write, stored: before })).to.equal('replaced');
    if (active) return blocks.delete('scim') ? ['sponsor.signal allow scim_reactivated'] : [];
    place('scim', 'disabled', at);
    return before?.active === false ? [] : ['sponsor.signal allow scim_deactivated'];
  }

  function aUser(active: boolean): ProvisionedUser {
    const names = { userName: randomUUID(), externalId: sponsorKey, sponsorKey };
    return { userId: makeUserId(ulid()), ...names, active, revision: 1, createdAt: NOON, modifiedAt: NOON };
  }

  async function signal({ decide }: Decisions, [event, seconds]: SignalAct, at: Instant): Promise<readonly string[]> {
    const stated = plusSeconds(NOON, seconds);
    const action = { sponsorKey, statedAt: stated, ...SIGNALS[event] };
    const occurrence = { issuer: 'https://transmitter.example', jti: randomUUID(), forgetAt: plusSeconds(at, 60), at };
    const { kind } = await decide(applySecurityEvent, { ...occurrence, action });
    const own = blocks.get('ssf');
    const outdated = event === 'enabled' && own !== undefined && stated < statedAt;
    expect(kind).to.equal(outdated ? 'outdated' : 'accepted');
    if (event === 'enabled') {
      if (!outdated) blocks.delete('ssf');
    } else {
      place('ssf', own?.kind === 'deleted' ? 'deleted' : SIGNALS[event].block, at);
      statedAt = own === undefined || stated > statedAt ? stated : statedAt;
    }
    return [`sponsor.signal allow ${outdated ? 'ssf_account_enabled_outdated' : SIGNALS[event].reasons[0]}`];
  }

  return {
    /** Performs the act. @returns the records that it must have, each as event, decision and reason */
    act(decisions: Decisions, act: Act, at: Instant): Promise<readonly string[]> {
      switch (act.source) {
        case 'admin':
        case 'self':
          return byHand(decisions, act, at);
        case 'scim':
          return scim(decisions, act.act, at);
        case 'ssf':
          return signal(decisions, act.act, at);
      }
    },
    /** The blocks that must exist, oldest first. */
    blocks: () => [...blocks.values()].sort((one, other) => one.blockedAt - other.blockedAt),
  };
}

export function inBrief({ event, decision, reason }: Pick<LedgerRecord, 'event' | 'decision' | 'reason'>): string {
  return `${event} ${decision} ${reason}`;
}
