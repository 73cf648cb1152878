/** Counts denials for the metrics at the point where they are recorded, one by one or for a summary. */

import type { Agents } from '../ports/agents.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Sponsors } from '../ports/sponsors.ts';
import type { Measurements } from '../ports/telemetry.ts';
import type { AnonymousDenials } from './anonymous-denials.ts';

type Counting = Pick<Measurements, 'denied'>;

/** Anonymous denials count as soon as they happen: the database may be slow or unavailable. */
export function measuredAnonymousDenials(anonymous: AnonymousDenials, { denied }: Counting): AnonymousDenials {
  return {
    ...anonymous,
    record(denial) {
      denied(denial.event, denial.reason);
      return anonymous.record(denial);
    },
  };
}

export interface Recording {
  readonly ledger: Ledger;
  readonly agents: Agents;
  readonly sponsors: Sponsors;
}

/** Other denials count once they are recorded, under the recorded reason. */
export function measuredDenials<Storage extends Recording>(storage: Storage, { denied }: Counting): Storage {
  const { ledger, agents, sponsors } = storage;
  return {
    ...storage,
    ledger: {
      ...ledger,
      async refuse(refusal) {
        const reason = await ledger.refuse(refusal);
        denied(refusal.entry.event, reason);
        return reason;
      },
    },
    agents: {
      ...agents,
      async register(agent, entry, refusal) {
        const outcome = await agents.register(agent, entry, refusal);
        if (outcome === 'already_exists') denied(refusal.event, 'agent_already_exists');
        return outcome;
      },
      async remove(agentId, entry, refusal) {
        const outcome = await agents.remove(agentId, entry, refusal);
        if (outcome === 'has_tasks') denied(refusal.event, 'agent_has_tasks');
        return outcome;
      },
    },
    sponsors: {
      ...sponsors,
      async lift(sponsorKey, source, entry, refusal) {
        const outcome = await sponsors.lift(sponsorKey, source, entry, refusal);
        if (outcome === 'not_owned') denied(refusal.event, 'sponsor_block_not_owned');
        return outcome;
      },
    },
  };
}
