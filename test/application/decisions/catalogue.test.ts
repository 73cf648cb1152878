/** Properties of all decisions: their names, transactions, locks and effects. */

import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { catalogue } from '../../../application/decisions/catalogue.ts';
import {
  byEnd,
  EFFECT_ORDER,
  type EffectName,
  type EndedTasks,
  recorded,
  type TaskEnd,
} from '../../../application/decisions/effect.ts';
import { exclusive, LOCK_ORDER, shared } from '../../../application/decisions/lock.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { anEntry } from '../../contract/storage-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const DECISIONS = new URL('../../../application/decisions/', import.meta.url);

describe('The catalogue of decisions', () => {
  it('has every decision of its folder, under a unique name', async () => {
    const modules = readdirSync(DECISIONS).filter((file) => file !== 'catalogue.ts');
    const exported = (await Promise.all(modules.map((file) => import(new URL(file, DECISIONS).href)))).flatMap(
      (module) =>
        Object.values(module).filter((value) => typeof value === 'object' && value !== null && 'judge' in value),
    );
    expect(exported).to.have.length.greaterThan(15);
    expect(catalogue).to.have.members(exported);
    expect(new Set(catalogue.map(({ name }) => name)).size).to.equal(catalogue.length);
  });

  it("names for each decision whether its transaction is shared, its own, an operator's, a person's or a provider's", () => {
    expect(Object.fromEntries(catalogue.map(({ name, transaction }) => [name, transaction]))).to.deep.equal({
      // These are short and frequent, so they share transactions.
      answer_approval: 'shared',
      append: 'shared',
      ask_approval: 'shared',
      open_task: 'shared',
      find_grant_owner: 'shared',
      find_task_of_offer: 'shared',
      refuse: 'shared',
      refuse_operator: 'shared',
      refuse_pause: 'shared',
      renew_grant: 'shared',
      // It ends one task, as often as exchanges open one.
      revoke_grant: 'shared',
      revoke_single_token: 'shared',
      spend_assertion: 'shared',
      // These touch more rows, or lock a person or an agent exclusively.
      activate_keys: 'own',
      keep_request: 'own',
      answer_request: 'own',
      add_agent: 'own',
      change_agent: 'own',
      delete_ended_tasks: 'own',
      close_session: 'own',
      offer_delegation: 'shared',
      open_session: 'own',
      open_status_list: 'own',
      use_session: 'own',
      expire_due_approvals: 'own',
      expire_due_tasks: 'own',
      lift_block: 'own',
      allow_delegation: 'own',
      // An act is recorded in a transaction of one decision: it names the first record of the transaction.
      record_act: 'own',
      // These may end many tasks, or are switches: they have their own connections.
      end_all_requests: 'operator',
      end_some_tasks: 'operator',
      end_tasks: 'operator',
      delete_agent: 'operator',
      disable_agent: 'operator',
      find_agent: 'operator',
      find_task_sponsor: 'operator',
      place_block: 'operator',
      end_own_tasks: 'person',
      find_own_task_sponsor: 'person',
      place_pause: 'person',
      refuse_delegation: 'person',
      add_user: 'provider',
      apply_security_event: 'provider',
      change_user: 'provider',
      delete_user: 'provider',
      log_out: 'provider',
      user_exists: 'provider',
    });
  });
});

describe('The locks of decisions', () => {
  it('have an order with each class of locks once', () => {
    expect(new Set(LOCK_ORDER).size).to.equal(LOCK_ORDER.length);
  });

  it('are shared or exclusive', () => {
    expect(shared('agent', 'a')).to.deep.equal({ on: 'agent', key: 'a', mode: 'shared' });
    expect(exclusive('grant', 'g')).to.deep.equal({ on: 'grant', key: 'g', mode: 'exclusive' });
  });
});

describe('The effects of decisions', () => {
  it('have an order with each effect once; appends come last, because they lock the ledger until the commit', () => {
    // Does not compile if EFFECT_ORDER lacks an effect.
    const complete: Exclude<EffectName, (typeof EFFECT_ORDER)[number]> extends never ? true : false = true;
    expect(complete).to.equal(true);
    expect(new Set(EFFECT_ORDER).size).to.equal(EFFECT_ORDER.length);
    // An operator's act names the first record, so its own follows the others.
    expect(EFFECT_ORDER.slice(-2)).to.deep.equal(['append', 'operator_act']);
  });

  it('append the given entries, then the ends of tasks, and append nothing without either', () => {
    const entries = [anEntry('task.revoked'), anEntry('task.expired')];
    const ended: EndedTasks = {
      tasks: [],
      at: NOON,
      renewalsEvent: 'token.refreshed',
      withdrawnEvent: 'approval.withdrawn',
    };
    expect(recorded(entries)).to.deep.equal([{ effect: 'append', entries }]);
    expect(recorded(entries, ended)).to.deep.equal([{ effect: 'append', entries, ended }]);
    expect(recorded([], ended)).to.deep.equal([{ effect: 'append', entries: [], ended }]);
    expect(recorded([])).to.deep.equal([]);
  });

  it('group ended tasks by the way they ended', () => {
    const revoked: TaskEnd = { state: 'revoked', record: { event: 'task.revoked', reason: 'client_revoked' } };
    const child: TaskEnd = { ...revoked, record: { event: 'task.revoked', reason: 'parent_revoked' } };
    const tasks = [revoked, child, revoked].map((end, nth) => ({ taskId: makeTaskId(`${nth}`), end }));
    expect([...byEnd(tasks)]).to.deep.equal([
      [revoked, ['task_0', 'task_2']],
      [child, ['task_1']],
    ]);
  });
});
