/** The effect that appends records, also those of tasks that it ends. */

import { makeTaskId, makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope } from '../../domain/scope.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { aTask, type EffectRows, end, type See } from './effect-row.ts';
import { anApproval } from './effects-of-approvals.ts';
import { asEntry, newAgentId } from './storage-fixtures.ts';
import { LATER } from './world.ts';

export const records: See = async ({ checkpoints }) => {
  const all = await checkpoints.records({ firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER }, 0, 1000);
  return all.map(asEntry);
};

const everything: LedgerEntry = {
  at: instantFromMicros(NOON + 1),
  event: 'audit.archived',
  taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'),
  agentId: newAgentId(),
  sponsor: 'ada 😀 "quoted" \\ \u0001 \u2028',
  audience: 'https://jira.example/?a=1&b=%20',
  scope: 'jira:read jira:comment',
  jti: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEA'),
  delegationDepth: 4,
  decision: 'deny',
  reason: 'scope_widened',
  count: 12_345,
  detail: 'tab\tline\nend',
};

export const effectsOfRecords = {
  append() {
    const renewed = aTask({ delegationDepth: 3 });
    const [killed, expired] = [aTask(), aTask()];
    const all = [renewed, killed, expired];
    const kill = end('revoked', 'operator_kill_switch');
    const over = end('expired', 'task_ttl_elapsed');
    const least: LedgerEntry = { at: everything.at, event: 'admin.denied', decision: 'allow' };
    const of = ({ task }: typeof renewed, more: object) => {
      const { taskId, agentId, sponsor, audience, delegationDepth } = task;
      const scope = formatScope(task.scope);
      return { at: LATER, taskId, agentId, sponsor, audience, scope, delegationDepth, decision: 'allow', ...more };
    };
    const { grantHash } = renewed;
    const state = 'withdrawn';
    const approvals = [
      anApproval({ state, closedAt: LATER }, renewed),
      anApproval({ state, closedAt: LATER, decidedAt: NOON }, renewed),
      anApproval({ state, closedAt: LATER }, expired),
      anApproval({ state: 'expired', closedAt: NOON }, killed),
    ];
    const withdrawn = (nth: 0 | 1 | 2, reason: string) => {
      const { approval, stored } = approvals[nth] as (typeof approvals)[number];
      const { approvalId, digest, commitment } = approval;
      const detail = `approval=${approvalId}&digest=${digest}&commitment=${commitment}`;
      const { scope: _, delegationDepth: _depth, ...names } = of(stored, {});
      return { ...names, event: 'approval.withdrawn', reason, detail };
    };
    const grant = { grantHash, scope: ['jira:read'], renewals: 9, unrecorded: 5, renewedAt: NOON };
    const ends = [kill, kill, over];
    return {
      given: [
        ...all.flatMap(({ given }) => given),
        ...approvals.map(({ insert }) => insert),
        { effect: 'update_grant', ...grant },
      ],
      effect: {
        effect: 'append',
        entries: [everything, least],
        ended: {
          tasks: all.map(({ task: { taskId } }, nth) => ({ taskId, end: ends[nth] ?? kill })),
          at: LATER,
          renewalsEvent: 'token.refreshed',
          withdrawnEvent: 'approval.withdrawn',
        },
      },
      seen: [
        [
          records,
          [],
          [
            everything,
            least,
            of(renewed, { event: 'token.refreshed', count: 5 }),
            of(renewed, { event: 'task.revoked', reason: 'operator_kill_switch' }),
            withdrawn(0, 'operator_kill_switch'),
            withdrawn(1, 'operator_kill_switch'),
            of(killed, { event: 'task.revoked', reason: 'operator_kill_switch' }),
            of(expired, { event: 'task.expired', reason: 'task_ttl_elapsed' }),
            withdrawn(2, 'task_ttl_elapsed'),
          ],
        ],
      ],
    };
  },
} satisfies Partial<EffectRows>;
