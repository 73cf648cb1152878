/**
 * Checks the order of the records of hand-overs in a ledger or in a bundle. An offer is made by a live task; it is taken up at most
 * once, after that, by the agent that it names, within its scopes, one deeper, and beside the token of the new task. A task below
 * one that has ended gets no further token. The owner of the database can make a service record otherwise, and no seal shows that.
 *
 * In memory are the live tasks and the offers of live tasks. Of what is over only its id is kept: some 100 bytes, and only of offers that
 * were taken up and of tasks that delegated.
 */

import { readOffered, readTaken } from '../ledger/delegation-records.ts';
import type { DelegationFault } from '../ledger/order-fault.ts';
import { isWithin, parseScope } from '../scope.ts';

/** The part of a record that is examined. */
export interface DelegationStep {
  readonly event: string;
  readonly taskId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly sponsor?: string | undefined;
  readonly audience?: string | undefined;
  readonly scope?: string | undefined;
  readonly delegationDepth?: number | undefined;
  readonly decision: string | undefined;
  readonly count?: number | undefined;
  readonly detail?: string | undefined;
}

export interface DelegationOrder {
  /**
   * Takes the next record.
   * @param lacksOthers whether other records of its tree may be missing
   */
  fault(record: DelegationStep, lacksOthers: boolean): DelegationFault | undefined;
}

/** The events that a hand-over consists of, and those that begin, renew and end tasks. */
const EVENTS: ReadonlySet<string> = new Set([
  'token.issued',
  'token.refreshed',
  'delegation.offered',
  'delegation.taken',
  'task.revoked',
  'task.expired',
]);

export function isOfDelegation({ event }: Pick<DelegationStep, 'event'>): boolean {
  return EVENTS.has(event);
}

/** A task that has begun, and has not ended. */
interface LiveTask {
  readonly parent: string | undefined;
  /** Whether a task above has ended. */
  isCut: boolean;
  /** The names in its first token, until `delegation.taken`. */
  token: string | undefined;
  readonly below: Set<string>;
  /** Those that were not taken up, by their ids. */
  readonly offers: Map<string, DelegationStep & { readonly child: string }>;
}

export function delegationOrder(): DelegationOrder {
  const live = new Map<string, LiveTask>();
  /** Offers that were taken up, and tasks that delegated and have ended. */
  const over = new Set<string>();

  function begin(taskId: string, parent: string | undefined, token: string | undefined): LiveTask {
    const task: LiveTask = { parent, isCut: false, token, below: new Set(), offers: new Map() };
    live.set(own(taskId), task);
    return task;
  }

  function end(taskId: string): void {
    const task = live.get(taskId);
    if (task === undefined) return;
    live.delete(taskId);
    if (task.offers.size > 0 || task.below.size > 0) over.add(own(taskId));
    live.get(task.parent ?? '')?.below.delete(taskId);
    const below = [...task.below];
    for (const each of below) {
      const cut = live.get(each);
      if (cut === undefined || cut.isCut) continue;
      cut.isCut = true;
      below.push(...cut.below);
    }
  }

  function offered(record: DelegationStep, taskId: string, lacksOthers: boolean): DelegationFault | undefined {
    const named = readOffered(record);
    if (named === undefined) return undefined;
    const { offerId, child } = named;
    const fault = (problem: DelegationFault['problem']) => faultOf(problem, taskId, offerId);
    if (over.has(offerId) || live.get(taskId)?.offers.has(offerId)) return fault('twice');
    const known = live.get(taskId);
    if (over.has(taskId) || known?.isCut || (known === undefined && !lacksOthers)) return fault('not_live');
    const { event, decision, agentId, sponsor, audience, scope, delegationDepth } = record;
    const offer = { event, decision, agentId, sponsor, audience, scope, delegationDepth, child };
    (known ?? begin(taskId, undefined, undefined)).offers.set(own(offerId), offer);
    return undefined;
  }

  function taken(record: DelegationStep, taskId: string, lacksOthers: boolean): DelegationFault | undefined {
    const named = readTaken(record);
    if (named === undefined) return undefined;
    const { offerId, parent } = named;
    const fault = (problem: DelegationFault['problem']) => faultOf(problem, taskId, offerId);
    if (over.has(offerId)) return fault('twice');
    const above = live.get(parent);
    if (over.has(parent) || above?.isCut || (above === undefined && !lacksOthers)) return fault('not_live');
    const offer = above?.offers.get(offerId);
    if (offer === undefined && !lacksOthers) return fault('no_offer');
    if (offer !== undefined && !fits(record, offer)) return fault('other_terms');
    const token = live.get(taskId)?.token;
    if (token === undefined ? !lacksOthers : token !== namesOf(record)) return fault('no_token');
    over.add(own(offerId));
    above?.offers.delete(offerId);
    const parentTask = above ?? begin(parent, undefined, undefined);
    parentTask.below.add(own(taskId));
    begin(taskId, own(parent), undefined);
    return undefined;
  }

  return {
    fault(record, lacksOthers) {
      const { event, taskId, decision, count } = record;
      if (taskId === undefined || decision !== 'allow') return undefined;
      switch (event) {
        case 'token.issued':
          if (!live.has(taskId)) {
            begin(taskId, undefined, (record.delegationDepth ?? 1) > 1 ? namesOf(record) : undefined);
            return undefined;
          }
          return live.get(taskId)?.isCut ? faultOf('not_live', taskId) : undefined;
        case 'token.refreshed':
          // Renewals that were only counted are recorded when the task ends.
          return count === undefined && live.get(taskId)?.isCut ? faultOf('not_live', taskId) : undefined;
        case 'delegation.offered':
          return offered(record, taskId, lacksOthers);
        case 'delegation.taken':
          return taken(record, taskId, lacksOthers);
        case 'task.revoked':
        case 'task.expired':
          end(taskId);
      }
      return undefined;
    },
  };
}

function faultOf(problem: DelegationFault['problem'], taskId: string, offerId?: string): DelegationFault {
  return { kind: 'delegation_order', taskId, problem, ...(offerId !== undefined && { offerId }) };
}

/** Whether the new task is what was offered, or less. */
function fits(taken: DelegationStep, offer: DelegationStep & { readonly child: string }): boolean {
  const [scope, most] = [parseScope(taken.scope ?? ''), parseScope(offer.scope ?? '')];
  return (
    taken.agentId === offer.child &&
    taken.sponsor === offer.sponsor &&
    taken.audience === offer.audience &&
    taken.delegationDepth === (offer.delegationDepth ?? 0) + 1 &&
    scope !== undefined &&
    most !== undefined &&
    isWithin(scope, most)
  );
}

function namesOf({ agentId, sponsor, audience, scope, delegationDepth }: DelegationStep): string {
  return JSON.stringify([agentId, sponsor, audience, scope, delegationDepth]);
}

/** An id that is a part of a longer text would keep all of it in memory. */
function own(id: string): string {
  return Buffer.from(id, 'latin1').toString('latin1');
}
