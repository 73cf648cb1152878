/**
 * The message about what the person has just done, with the name of what it was. The cookie of the message has an id at most
 * (adapters/http/browser/flash.ts). The words come from the database, compared with the ledger as on every page, and only those
 * of the person's own approvals and tasks.
 */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import type { ApprovalState } from '../../../domain/approvals/approval.ts';
import { parseApprovalId, parseTaskId } from '../../../domain/identifiers.ts';
import { secondsBetween } from '../../../domain/instant.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Insert } from '../browser/html.ts';
import type { Language } from '../browser/language.ts';
import { atMost } from '../browser/times.ts';
import { named } from '../browser/words.ts';
import { agentName } from './agent-name.ts';
import type { PageSurface } from './surface.ts';
import type { Texts } from './texts/en.ts';
import type { Notice, NoticeFlash, PersonView } from './view.ts';

/** The states in which an approval can be after each answer. In another one, the cookie is no message about this approval. */
const STATES_AFTER: Readonly<Record<'approved' | 'declined' | 'signed_in', readonly ApprovalState[]>> = {
  approved: ['granted', 'used', 'expired', 'withdrawn'],
  declined: ['refused'],
  signed_in: ['pending'],
};

/** `undefined` if there is nothing to say: the question to which a sign-in led does not wait any more. */
export async function findNotice(
  surface: Pick<PageSurface, 'approvals' | 'tasksById'>,
  person: MePerson,
  flash: NoticeFlash,
): Promise<Notice | undefined> {
  const { kind, amount, about = '' } = flash;
  switch (kind) {
    case 'approved':
    case 'declined': {
      return { kind, amount, approval: await findAnswered(surface, person, about, kind) };
    }
    case 'signed_in':
      return (await findAnswered(surface, person, about, kind)) && { kind, amount };
    case 'stopped':
    case 'delegation_refused':
    case 'delegation_allowed':
      return { kind, amount, agent: await findAgent(surface, person, about) };
    case 'paused':
    case 'resumed':
      return { kind, amount };
  }
}

async function findAnswered(
  { approvals }: Pick<PageSurface, 'approvals'>,
  person: MePerson,
  about: string,
  kind: keyof typeof STATES_AFTER,
): Promise<TaskApproval | undefined> {
  const approvalId = parseApprovalId(about);
  const found = approvalId && (await approvals?.find(person, approvalId));
  if (found === undefined || found === 'altered') return undefined;
  const wasAnswered = kind === 'signed_in' || found.decidedAt !== undefined;
  return wasAnswered && STATES_AFTER[kind].includes(found.state) ? found : undefined;
}

async function findAgent(
  surface: Pick<PageSurface, 'tasksById'>,
  person: MePerson,
  about: string,
): Promise<Pick<MyAgent, 'agentId' | 'displayName'> | undefined> {
  const taskId = parseTaskId(about);
  return taskId && (await surface.tasksById(person, [taskId])).get(taskId);
}

export function noticeText(
  { now, holds }: Pick<PersonView, 'now' | 'holds'>,
  { kind, amount, agent, approval }: Notice,
  words: Texts,
  language: Language,
): Insert {
  // No moment: the script would count it down, and a screen reader would say the message again each time.
  const within = (seconds: number) => atMost(language, Math.max(seconds, 1));
  const left = approval?.state === 'granted' ? within(secondsBetween(now, approval.expiresAt)) : undefined;
  return words.notice({
    kind,
    amount,
    agent: agent && agentName(agent, words),
    action: approval && words.actionOf(named(approval.title), agentName(approval, words)),
    left,
    noHolds: holds && within(holds.no),
  });
}
