/** A storage with one method for each decision, which keeps tests short. */

import type { Storage as Product } from '../../adapters/storage/storage.ts';
import { append } from '../../application/decisions/append.ts';
import { applySecurityEvent, type SecuritySignal } from '../../application/decisions/apply-security-event.ts';
import type { SpentAssertion } from '../../application/decisions/assertion.ts';
import { endTasks } from '../../application/decisions/end-tasks.ts';
import { liftBlock } from '../../application/decisions/lift-block.ts';
import { type LogoutSignal, logOut } from '../../application/decisions/log-out.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { placeBlock } from '../../application/decisions/place-block.ts';
import type { ProvisioningEffects } from '../../application/decisions/provisioning.ts';
import { type Refusal, refuse } from '../../application/decisions/refuse.ts';
import { type Renewal, renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { addAgent, changeAgent, deleteAgent } from '../../application/decisions/write-agent.ts';
import { addUser, changeUser, deleteUser } from '../../application/decisions/write-user.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import type { GrantHash, Revocation, RevocationReason } from '../../domain/tasks/task.ts';

export type TaskSelection =
  /** Without `sponsorKey`, the storage first reads the person of the task. */
  | { readonly kind: 'task'; readonly taskId: TaskId; readonly sponsorKey?: SponsorKey }
  | { readonly kind: 'agent'; readonly agentId: AgentId }
  | { readonly kind: 'sponsor'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'sponsor_agent'; readonly sponsorKey: SponsorKey; readonly agentId: AgentId };

export type Storage = ReturnType<typeof withMethods<Product>>;

type Extended = Pick<Product, 'decide' | 'agents' | 'tasks' | 'sponsors' | 'provisionedUsers' | 'ledger'>;

export function withMethods<Ports extends Extended>(storage: Ports) {
  const { decide } = storage;
  return {
    ...storage,
    agents: {
      ...storage.agents,
      register: (agent: Agent, entry: LedgerEntry, refusal: LedgerEntry) => decide(addAgent, { agent, entry, refusal }),
      replace: (agent: Agent, entry: LedgerEntry) => decide(changeAgent, { agent, entry }),
      remove: (agentId: AgentId, entry: LedgerEntry, refusal: LedgerEntry) =>
        decide(deleteAgent, {
          agentId,
          entry,
          refusal,
          namedRefusal: { ...refusal, reason: 'agent_named_by_others' },
        }),
    },
    tasks: {
      ...storage.tasks,
      open: (opening: TaskOpening) => decide(openTask, opening),
      renew: (renewal: Renewal) => decide(renewGrant, renewal),
      async revokeByGrant(revocation: Revocation, agentId: AgentId, grantHash: GrantHash, assertion: SpentAssertion) {
        const grant = await storage.tasks.findGrant(agentId, grantHash);
        if (grant === undefined) return { kind: 'not_found' } as const;
        const { taskId, sponsorKey } = grant.task;
        return { kind: await decide(revokeGrant, { ...revocation, taskId, sponsorKey, assertion }) };
      },
      async end(selection: TaskSelection, revocation: Revocation) {
        if (selection.kind !== 'task') return decide(endTasks, { selection, ...revocation });
        const sponsorKey = selection.sponsorKey ?? (await storage.tasks.findSponsor(selection.taskId));
        if (sponsorKey === undefined) return { kind: 'not_found' } as const;
        return decide(endTasks, { selection: { ...selection, sponsorKey }, ...revocation });
      },
    },
    sponsors: {
      ...storage.sponsors,
      block: (block: SponsorBlock, reason: RevocationReason) => decide(placeBlock, { block, reason }),
      lift: (sponsorKey: SponsorKey, source: BlockSource, entry: LedgerEntry, refusal: LedgerEntry) =>
        decide(liftBlock, { sponsorKey, source, entry, refusal }),
    },
    signals: {
      logOut: (signal: LogoutSignal) => decide(logOut, signal),
      applySecurityEvent: (signal: SecuritySignal) => decide(applySecurityEvent, signal),
    },
    provisionedUsers: {
      ...storage.provisionedUsers,
      create: (user: ProvisionedUser, effects: ProvisioningEffects, maxUsers: number) =>
        decide(addUser, { user, ...effects, maxUsers }),
      replace: (stored: ProvisionedUser, user: ProvisionedUser, effects: ProvisioningEffects) =>
        decide(changeUser, { stored, user, ...effects }),
      remove: (stored: ProvisionedUser, effects: ProvisioningEffects) => decide(deleteUser, { stored, ...effects }),
    },
    ledger: {
      ...storage.ledger,
      append: (entry: LedgerEntry) => decide(append, entry),
      refuse: (refusal: Refusal) => decide(refuse, refusal),
    },
  };
}
