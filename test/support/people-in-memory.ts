/** Runs decisions about users and blocks in memory, for tests of many random histories. No person has a task. */

import type { Decision } from '../../application/decisions/decision.ts';
import type { Effect } from '../../application/decisions/effect.ts';
import type { Question, SignalName } from '../../application/decisions/fact.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { type ProvisionedUser, userNameKey } from '../../domain/signals/provisioned-user.ts';
import { oldestFirst, type StatedBlock } from '../../domain/sponsors/block.ts';
import { NO_TASKS } from './decision-fixtures.ts';

export function peopleInMemory() {
  let [users, blocks]: [readonly ProvisionedUser[], readonly StatedBlock[]] = [[], []];
  const signals = new Set<string>();
  const records: LedgerEntry[] = [];
  const blocksOf = (sponsorKey: SponsorKey) => blocks.filter((one) => one.sponsorKey === sponsorKey).sort(oldestFirst);
  const signalKey = ({ receiver, issuer, jti }: SignalName) => JSON.stringify([receiver, issuer, jti]);

  function answer(question: Question): unknown {
    switch (question.fact) {
      case 'blocks':
        return blocksOf(question.about);
      case 'live_tasks':
        return NO_TASKS;
      case 'signal_accepted':
        return signals.has(signalKey(question.about));
      case 'user_revision':
        return users.find(({ userId }) => userId === question.about)?.revision;
      case 'user_named':
        return users.find(({ userName }) => userNameKey(userName) === question.about)?.userId;
      case 'user_count':
        return users.length;
      case 'inactive_users':
        return users.flatMap((one) => (one.sponsorKey === question.about && !one.active ? [one.userId] : []));
      case 'other_users': {
        const { sponsorKey, except } = question.about;
        const others = users.filter((one) => one.sponsorKey === sponsorKey && one.userId !== except);
        return { users: others.length, inactive: others.filter(({ active }) => !active).length };
      }
      default:
        throw new Error(`not a fact about people: ${question.fact}`);
    }
  }

  function apply(one: Effect): void {
    switch (one.effect) {
      case 'append':
        records.push(...one.entries);
        break;
      case 'accept_signal':
        signals.add(signalKey(one));
        break;
      case 'put_block':
      case 'remove_block': {
        blocks = blocks.filter(({ sponsorKey, source }) => sponsorKey !== one.sponsorKey || source !== one.source);
        if (one.effect === 'remove_block') break;
        const { effect, ...block } = one;
        blocks = [...blocks, block];
        break;
      }
      // It has no requests.
      case 'void_authorizations':
        break;
      case 'insert_user':
      case 'replace_user':
      case 'remove_user': {
        users = users.filter(({ userId }) => userId !== one.userId);
        if (one.effect === 'remove_user') break;
        const { effect, ...user } = one;
        users = [...users, user];
        break;
      }
      default:
        throw new Error(`not an effect on people: ${one.effect}`);
    }
  }

  const decisions: Decisions = {
    async decide<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input) {
      const facts = Object.entries(decision.asks(input)).map(([name, asked]) => {
        if (asked === undefined || 'fact' in asked) return [name, asked && answer(asked)] as const;
        return [name, asked.map((one) => one && answer(one))] as const;
      });
      const { verdict, effects } = decision.judge(input, Object.fromEntries(facts));
      effects.forEach(apply);
      return verdict;
    },
  };
  /** Each decision adds its records to `records`. */
  return { decisions, blocksOf, records };
}
