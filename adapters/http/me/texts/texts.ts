/** The words of the page, which each language has. The type makes each table complete. */

import type { SignInDenial } from '../../../../application/ports/identity-provider.ts';
import type { ApprovalState } from '../../../../domain/approvals/approval.ts';
import type { EndReason } from '../../../../domain/tasks/lifetime.ts';
import type { Html } from '../../browser/html.ts';
import type { Notice, Reach } from '../view.ts';

/** What a page without tasks says: an error, or an end. */
export type MessageKind =
  | ('signed_out' | 'signing_out' | 'signed_out_everywhere')
  | 'sign_in_incomplete'
  | 'sign_in_ended'
  | SignInDenial
  | ('approver_undated' | 'approver_not_fresh')
  | 'session_over'
  | 'several_sessions'
  | 'form_refused'
  | 'unknown_task'
  | ('unknown_approval' | 'altered' | 'other_words' | 'not_waiting')
  | 'unknown_path'
  | 'malformed'
  | 'pause_elsewhere'
  | 'pause_not_liftable'
  | 'rate_limited'
  | 'overloaded'
  | 'storage_unavailable'
  | 'fault';

interface Message {
  readonly title: string;
  readonly text: string;
  /** The label of a link to the page. */
  readonly action: string;
}

export interface Texts {
  readonly title: string;
  readonly skip: string;
  readonly signedInAs: (person: Html) => Html;
  readonly signOut: string;
  /** The sign-out at the identity provider too. The title is also on the button. */
  readonly everywhere: { readonly title: string; readonly means: string };
  /** The title of the actions that wait for the person. */
  readonly waiting: string;
  /** Questions that cannot be shown, because their stored words were changed. */
  readonly alteredQuestions: (amount: number) => string;
  readonly asks: (agent: Html, where: Html) => Html;
  /** Above the words of the tool server. */
  readonly statedBy: (where: Html) => Html;
  readonly asked: string;
  readonly answerUntil: string;
  readonly yesMeans: string;
  readonly yes: string;
  /** In place of the yes, if the sign-in is too old. */
  readonly signInForYes: string;
  readonly signInForYesMeans: string;
  readonly no: string;
  /** What the page of an approval says that does not wait. */
  readonly answered: Readonly<Record<Exclude<ApprovalState, 'pending'>, string>>;
  readonly live: string;
  readonly history: string;
  readonly nothingLive: string;
  readonly nothingOfAgent: string;
  readonly nothingEnded: string;
  readonly count: (tasks: number, agents: number) => string;
  readonly tasks: (count: number) => string;
  /** When an agent last began or renewed a task. */
  readonly active: (since: Html) => Html;
  readonly where: string;
  readonly may: string;
  readonly purpose: string;
  /** Below the words of the agent. */
  readonly statedByAgent: string;
  /** In place of a purpose whose stored words were changed. */
  readonly purposeDiffers: string;
  readonly since: string;
  readonly until: string;
  readonly renewed: string;
  readonly neverRenewed: string;
  readonly removedAgent: string;
  readonly stop: string;
  readonly stopWhat: (agent: Html, where: Html) => Html;
  /** What the short button of an agent stops. */
  readonly stopWhole: (tasks: number, agent: Html) => Html;
  readonly stopAgent: (tasks: number, agent: Html) => Html;
  readonly stopAll: string;
  readonly stopAllMeans: string;
  readonly stopAllNow: string;
  readonly pause: string;
  readonly pauseMeans: string;
  readonly pauseNow: string;
  /** Why the page has no button for a pause. */
  readonly noPause: string;
  readonly paused: string;
  readonly pausedSince: (since: Html) => Html;
  readonly resume: string;
  readonly resumeMeans: string;
  readonly resumeNow: string;
  readonly back: string;
  readonly blocked: string;
  readonly blockedMeans: string;
  readonly endedTasks: string;
  readonly moreEnded: string;
  readonly moreAgents: string;
  readonly next: string;
  readonly first: string;
  readonly reach: string;
  /** `mayBegin`: whether an agent may begin a task. `mayPause`: whether the person may prevent it. */
  readonly reaches: (reach: Reach, agents: { mayBegin: boolean; mayPause: boolean }) => readonly string[];
  readonly ended: Readonly<Record<EndReason, string>>;
  /** For a reason that this version does not know. */
  readonly endedOtherwise: string;
  readonly notice: (notice: Notice) => string;
  readonly over: string;
  readonly signIn: string;
  readonly offline: string;
  readonly messages: Readonly<Record<MessageKind, Message>>;
}

export function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
