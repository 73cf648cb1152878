/**
 * A tool server asks whether one action of a task is approved (`POST /oauth2/approval`). It describes the call that it
 * received, and signs the description. The person of the task reads these words, and answers at `/me`. Holding the task
 * token suffices, as at introspection.
 *
 * Until the signature has verified, a refusal names no task: an agent that invents requests must not fill the ledger.
 */

import type { ApprovalOrigin } from '../../domain/approvals/approval-records.ts';
import {
  type ApprovalRequest,
  forgottenAt,
  isInTime,
  readApprovalRequest,
} from '../../domain/approvals/approval-request.ts';
import { commitmentText } from '../../domain/approvals/commitment.ts';
import { makeApprovalId } from '../../domain/identifiers.ts';
import { secondsBetween } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type ApprovalRules, type AskVerdict, askApproval } from '../decisions/ask-approval.ts';
import { type Reporting, reportDifferences } from '../ledger/differences.ts';
import { allowed, type Denied, denied, type Outcome } from '../outcome.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { ApprovalKeys, HeldPermit } from '../ports/keys.ts';
import type { Digest, Randomness, SharedTime } from '../ports/runtime.ts';
import type { Measurements } from '../ports/telemetry.ts';
import { sealText } from '../seal-text.ts';
import { findCurrentToken, type Introspection } from '../token/introspect.ts';

interface ApprovalService extends Omit<Introspection, 'measurements'>, Reporting {
  readonly decisions: Decisions;
  readonly approvalKeys: ApprovalKeys;
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'ulid' | 'secret'>;
  readonly digest: Digest;
  readonly rules: ApprovalRules;
  readonly measurements: Pick<Measurements, 'tokenMismatch' | 'approvalStep'> | undefined;
}

export interface ApprovalQuestion {
  readonly token: string;
  /** The compact JWS of the tool server. */
  readonly request: string;
}

export type AskedApproval =
  | (Extract<AskVerdict, { kind: 'pending' }> & { readonly expiresIn: number })
  | { readonly kind: 'refused'; readonly says?: string }
  | Exclude<AskVerdict, { kind: 'pending' | 'refused' | 'altered' | 'replayed' | `too_many_${string}` }>;

export async function askForApproval(
  service: ApprovalService,
  question: ApprovalQuestion,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<AskedApproval>> {
  const { sharedTime, clock, randomness, digest } = service;

  // 1. The token, compared with its stored task: the records name the task's person. A client without a task token learns
  // nothing about tool servers.
  const found = await findCurrentToken(service, question.token, 'approval');
  if (found.kind !== 'found') return allowed({ kind: 'inactive' });
  const { token } = found;
  const { taskId, agentId, sponsor, audience, delegatedBy } = found.facts.task;
  const about: ApprovalOrigin = { taskId, agentId, sponsor, audience };

  // 2. The request, and who signed it.
  const request = readApprovalRequest(question.request, service.issuer);
  if (request === undefined) return denied('approval_request_malformed');
  const fault = await signatureFault(service, request, trace, permit);
  if (fault !== undefined) return fault;

  // 3. Its times, and whether it is about this token.
  const at = clock.now();
  const [earliest, latest] = [await sharedTime.earliest(), await sharedTime.latest()];
  if (!isInTime(request, { now: at, latest })) return denied('approval_request_expired', { about });
  if (request.issuer !== about.audience || request.taskId !== about.taskId) {
    return denied('approval_not_for_task', { about });
  }

  // 4. One decision answers: it opens an approval, finds one, or uses up a yes.
  const { title, lines } = request;
  const { salt, hash: commitment } = sealText({ randomness, digest }, (salt) =>
    commitmentText({ salt, taskId: about.taskId, digest: request.digest, title, lines }),
  );
  const approvalId = makeApprovalId(randomness.ulid());
  const verdict = await service.decisions.decide(askApproval, {
    about,
    tokenId: token.tokenId,
    delegators: delegatedBy.map((delegator) => delegator.agentId),
    request: { issuer: request.issuer, jti: request.jti, forgetAt: forgottenAt(request), at },
    opening: {
      approvalId,
      digest: request.digest,
      title,
      lines,
      salt,
      commitment,
    },
    rules: service.rules,
    times: { earliest, latest },
  });
  switch (verdict.kind) {
    case 'replayed':
      return denied('approval_replayed', { about });
    case 'altered':
      await reportDifferences(service, [verdict.difference]);
      return denied('approval_altered', { about });
    case 'too_many_pending':
      // Counted without a name: an agent may try thousands of actions.
      return denied('too_many_pending');
    case 'too_many_questions': {
      // The first one of an hour is recorded with its agent and person, by the decision. The others are counted.
      const { retryAfter, isRecorded } = verdict;
      return denied('too_many_questions', { retryAfter, isRecorded });
    }
    case 'pending':
      if (verdict.approvalId === approvalId) service.measurements?.approvalStep('requested');
      return allowed({ ...verdict, expiresIn: Math.max(1, Math.floor(secondsBetween(latest, verdict.expiresAt))) });
    case 'refused':
      if (verdict.difference !== undefined) await reportDifferences(service, [verdict.difference]);
      return allowed(verdict.says === undefined ? { kind: 'refused' } : { kind: 'refused', says: verdict.says });
    case 'granted':
      service.measurements?.approvalStep('used');
      return allowed(verdict);
    default:
      return allowed(verdict);
  }
}

async function signatureFault(
  { approvalKeys }: Pick<ApprovalService, 'approvalKeys'>,
  { issuer, jws }: ApprovalRequest,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<Denied | undefined> {
  const { kind } = await approvalKeys.verify(issuer, jws, trace, permit);
  switch (kind) {
    case 'verified':
      return undefined;
    case 'unknown_issuer':
      return denied('approval_issuer_unknown');
    case 'keys_unavailable':
    case 'no_registered_keys':
      return denied('approval_keys_unavailable');
    default:
      return denied('approval_signature_invalid');
  }
}
