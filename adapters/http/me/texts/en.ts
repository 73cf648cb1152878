/** The words of the pages in English. Each language has the same keys: a key that another table lacks does not compile. */

import { CLOCK_SKEW_SECONDS, MAX_CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/compact-jws.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { messages } from '../../browser/texts/en.ts';
import { atMost } from '../../browser/times.ts';
import type { NoticeFlash, Reach } from '../view.ts';

/** What a message about a form names. */
export interface NoticeParts extends Pick<NoticeFlash, 'kind' | 'amount'> {
  readonly agent: Html | undefined;
  readonly action: Html | undefined;
  /** How long a yes may still be used. `undefined` if it no longer waits for the agent. */
  readonly left: string | undefined;
  /** How long a no counts. */
  readonly noHolds: string | undefined;
}

/** A tool server accepts a token for so long after its end. */
const CLOCKS = `This includes ${atMost('en', CLOCK_SKEW_SECONDS)} for clocks that differ. A service may allow ${atMost('en', MAX_CLOCK_SKEW_SECONDS)} instead.`;

export const en = {
  title: 'What acts for you',
  /** The links at the beginning of a page. */
  skipToContent: 'Skip to the content',
  skipToTasks: 'Skip to the tasks',
  skipToWaiting: 'Skip to what waits for you',
  skipToQuestion: 'Skip to the question',
  signedInAs: (person: Html) => html`Signed in as ${person}`,
  /** The sponsor key, where the page greets the person by a name. */
  knownAs: (key: Html) => html`The operators of this service find you as ${key}.`,
  /** Where nothing of that id is the person's. */
  maybeAnothers: (person: Html) =>
    html`You are signed in as ${person}. What you look for may belong to another account of yours.`,
  signInAsAnother: 'Sign in as another person',
  signOut: 'Sign out',
  /** The sign-out at the identity provider too. The title is also on the button. */
  everywhere: {
    title: 'Sign out everywhere',
    means:
      'The button at the top signs you out of this page only. This one also ends your session at your organisation. Tasks that agents began in that session may end with it.',
  },
  /** The title of the actions that wait for the person. */
  waiting: 'Waiting for you',
  /** Questions that cannot be shown, because their stored words were changed. */
  alteredQuestions: (amount: number) =>
    `${amount === 1 ? 'A question is not shown: it was' : `${amount} questions are not shown: they were`} changed after the request. Tell the operators of this service.`,
  asks: (agent: Html, where: Html) => html`${agent} wants to act at ${where}`,
  /** Above the words of the tool server. */
  statedBy: (where: Html) => html`${where} describes the action:`,
  asked: 'Asked',
  answerUntil: 'Expires',
  answeredAt: 'Answered',
  /** Until when the agent may use a yes. */
  yesUntil: 'The yes ends',
  /** From when on the agent may ask again. */
  noUntil: 'The no ends',
  /** What the agent said when it began the task. */
  taskPurpose: 'Task for',
  taskSince: 'Task since',
  openTask: 'Open the task',
  yesMeans: (yes: string, no: string) =>
    `A yes counts for this one action, once, within ${yes}. A no counts for ${no}. Say no if you do not know what the action is for.`,
  yes: 'Yes, once',
  /** In place of the yes, if the sign-in is too old. */
  signInForYes: 'Sign in to say yes',
  signInForYesMeans: 'To say yes you sign in again. You can say no at once.',
  no: 'No',
  /** The line with a no. */
  whyNot: 'Why not? (optional)',
  whyNotMeans: 'Only with a no: the agent reads this line as your words.',
  whyNotRefused: (most: number) =>
    `Nothing was decided. The line may have at most ${most} characters, and no control characters.`,
  /** A link to the page with the line. */
  sayWhyNot: 'Say no, and why',
  youWrote: 'You wrote',
  /** What the page of an approval says that does not wait. */
  answered: {
    granted: 'You said yes. The agent may do this once.',
    refused: 'You said no.',
    used: 'You said yes, and the agent has used it.',
    expired: 'You did not answer in time.',
    unused: 'You said yes, and the agent did not use it in time.',
    withdrawn: 'The task of the agent has ended, so this can no longer be done.',
    withdrawnAfterYes: 'You said yes, and then the task of the agent ended.',
    /** The task goes on. There may be a new question, which waits. */
    otherWords: 'The service now describes this action in other words, so this question does not wait any more.',
    otherWordsAfterYes:
      'You said yes. Then the service described this action in other words, so your yes no longer counts. It was not used.',
  },
  /** The title of what does not wait any more. */
  settled: 'Answered and missed',
  live: 'Now',
  history: 'Ended',
  nothingLive: 'No agent acts for you right now.',
  nothingOfAgent: 'This agent does not act for you right now.',
  nothingEnded: 'No task has ended lately.',
  count: (tasks: number, agents: number) => `${plural(tasks, 'task', 'tasks')} by ${plural(agents, 'agent', 'agents')}`,
  tasks: (count: number) => plural(count, 'task', 'tasks'),
  /** When an agent last began or renewed a task. */
  active: (since: Html) => html`active ${since}`,
  where: 'Where',
  may: 'May',
  purpose: 'Why',
  /** Below the words of the agent. */
  statedByAgent: 'These are the agent’s words. They are not checked.',
  /** Above a list of tasks, some with the words of their agents. */
  statedByAgents: 'Purposes are the agents’ words. They are not checked.',
  /** In place of a purpose whose stored words were changed. */
  purposeDiffers: 'Not shown: the purpose was changed after the agent stated it. Tell the operators of this service.',
  /** Of a task that the person started themselves, in place of an application. */
  startedByYou: 'Started by you',
  /** Where the program that asked received the answer. */
  answerWent: (place: Insert) => html`Your answer went to ${place}.`,
  onComputer: 'a program on the computer that you used',
  onDevice: (scheme: Html) => html`a program on the device that you used (${scheme})`,
  /** Of a program that no key authenticates. */
  cannotProveName: 'This program cannot prove its name.',
  since: 'Since',
  until: 'Until',
  renewed: 'Renewed',
  neverRenewed: 'not yet',
  removedAgent: 'removed agent',
  stop: 'Stop',
  stopWhat: (agent: Html, where: Html) => html`${agent} at ${where}`,
  /** What the short button of an agent stops. */
  stopWhole: (tasks: number, agent: Html) =>
    tasks === 1 ? html`the task of ${agent}` : html`all ${tasks} tasks of ${agent}`,
  stopAgent: (tasks: number, agent: Html) =>
    tasks === 1 ? html`Stop the task of ${agent}` : html`Stop all ${tasks} tasks of ${agent}`,
  stopAll: 'Stop everything',
  stopAllMeans: 'This ends all tasks that act for you now. They do not come back. An agent may begin a new task later.',
  stopAllNow: 'Stop all my tasks',
  pause: 'Pause agents',
  pauseMeans:
    'This ends all tasks that act for you now, and no agent can begin another one until you allow it here. To allow it, you sign in again.',
  pauseNow: 'Pause all agents',
  /** Why the page has no button for a pause. */
  noPause:
    'You cannot pause agents here. To lift a pause you would have to show that you have just signed in, and your organisation does not say when you signed in.',
  paused: 'Agents are paused',
  pausedSince: (since: Html) => html`No agent can act for you. You paused them ${since}.`,
  resume: 'Let agents act again',
  resumeMeans: 'Agents may then begin new tasks for you. Stopped tasks do not come back.',
  resumeNow: 'Let agents act for me again',
  back: 'Back to my tasks',
  /** Whether an agent may hand work to other agents. */
  delegation: {
    title: 'Handing work to other agents',
    /** The title of the page of all refusals, and a link to it. */
    list: 'Agents that may not hand work over',
    /** Beside other words about the agent. */
    isRefusedInShort: 'may not hand work over',
    isRefused: 'This agent may not hand work to other agents: you refused it.',
    refusalMeans:
      'While you refuse it, this agent can hand no work over: to no other agent, and not to a second run of itself. Work that was offered and not begun yet is refused. Tasks that were handed over before go on: you can stop them.',
    listMeans: 'These agents can hand no work over. Tasks that were handed over before go on: you can stop them.',
    allowedAfterSignIn: 'To allow it again, you sign in again.',
    neverAllowedAgain:
      'You could not allow it again here: for that you would have to show that you have just signed in, and your organisation does not say when you signed in.',
    refuse: 'May not hand work to other agents',
    allow: 'May hand work over again',
    refusedSince: (since: Html) => html`You refused it ${since}.`,
    none: 'You refuse it to no agent.',
    areMore: (shown: number) => `These are the latest ${shown}. There are more.`,
    /** The tasks that agents handed to each other. */
    tree: 'Tasks that belong together',
    treeMeans: 'The agent of a task handed over the tasks below it. Stopping a task also ends all tasks below it.',
    showTree: 'Show the tasks that belong together',
    /** The term of the link to them. */
    handedOver: 'Handed over',
    /** Before the tasks below a task. */
    below: 'Handed over to',
    stopsBelow: 'Stopping it also ends the tasks below it.',
    /** After what a stop reaches. */
    stopReaches: 'With a task, all tasks end that its agent handed to other agents.',
    moreInTree: (shown: number) => `These are the first ${shown}. There are more below them.`,
    isOver: 'ended',
    thisTask: 'this task',
  },
  blocked: 'Your organisation has blocked agents for you',
  blockedMeans: 'No agent can act for you. Only your organisation can change this. You can still look and stop here.',
  endedTasks: 'Ended tasks',
  moreEnded: 'More ended tasks',
  moreAgents: 'More agents',
  next: 'More tasks',
  first: 'Newest tasks',
  reach: 'What a stop reaches',
  /** `mayBegin`: whether an agent may begin a task. `mayPause`: whether the person may prevent it. */
  reaches: (
    { acceptedFor, statusLists }: Reach,
    { mayBegin, mayPause }: { mayBegin: boolean; mayPause: boolean },
  ): readonly string[] => [
    'At once: the agent receives nothing more for the task. Services that ask about every call refuse it.',
    statusLists === undefined
      ? `Later: other services accept what the agent already holds until that expires, at most ${atMost('en', acceptedFor)} later. ${CLOCKS}`
      : `Usually within ${atMost('en', statusLists)}: services that read the published list refuse it. Others accept what the agent already holds until that expires, at most ${atMost('en', acceptedFor)} later. ${CLOCKS}`,
    'Never: what the agent has already done. A stop does not undo it.',
    `A stopped task does not come back${mayBegin ? ', but the agent may begin a new one' : ''}.${mayPause ? ' Pause agents to prevent that.' : ''}`,
  ],
  ended: {
    sponsor_stopped: 'You stopped it',
    sponsor_paused: 'You paused agents',
    task_ttl_elapsed: 'Its time ran out',
    client_revoked: 'The agent was done',
    operator_kill_switch: 'An administrator stopped it',
    parent_revoked: 'The task that it came from ended',
    sponsor_blocked: 'An administrator blocked agents for you',
    sponsor_logged_out: 'You signed out at your organisation',
    scim_deactivated: 'Your account was deactivated',
    scim_deleted: 'Your account was deleted',
    ssf_sessions_revoked: 'Your sessions were ended',
    ssf_account_disabled: 'Your account was disabled',
    ssf_account_purged: 'Your account was deleted',
    code_replayed: 'Someone tried to start it a second time',
    grant_superseded: 'Someone used an outdated access',
  },
  /** For a reason that this version does not know. */
  endedOtherwise: 'It ended',
  /** An action in a message: its title, and the agent that wants it. */
  actionOf: (title: Html, agent: Html) => html`<strong>${title}</strong> (${agent})`,
  notice({ kind, amount, agent, action, left, noHolds }: NoticeParts): Html | string {
    switch (kind) {
      case 'approved':
        if (action === undefined) return 'You said yes. The agent may do this once.';
        return html`You said yes: ${action}.${left !== undefined && ` The agent may do this once, within ${left}.`}`;
      case 'declined':
        if (action === undefined) return 'You said no.';
        return html`You said no: ${action}.${noHolds !== undefined && ` The no counts for ${noHolds}; then the agent may ask again.`}`;
      case 'signed_in':
        return 'You are signed in. Now answer.';
      case 'resumed':
        return 'Agents may act for you again.';
      case 'delegation_refused':
        return html`${agent ?? 'The agent'} may not hand work to other agents any more.`;
      case 'delegation_allowed':
        return html`${agent ?? 'The agent'} may hand work to other agents again.`;
      case 'paused':
        return `Agents are paused. ${stopped(amount)}`;
      case 'stopped':
        return agent === undefined || amount === 0
          ? stopped(amount)
          : html`${plural(amount, 'task', 'tasks')} of ${agent} stopped.`;
    }
  },
  over: 'Your sign-in has ended. Sign in again to see your tasks.',
  signIn: 'Sign in',
  offline: 'This page could not be renewed. What it shows may be old.',
  /** What a page without tasks says: an error, or an end. The action is the label of its link. */
  messages: {
    ...messages,
    signed_out: {
      title: 'You are signed out here',
      text: 'Agents go on with their tasks. Your organisation may still know you in this browser, and then signs you in again without asking.',
      action: 'Sign in again',
    },
    signing_out: {
      title: 'You are signed out here',
      text: 'Now your organisation ends your session there. Tasks that agents began in that session may end with it. If no page opens, follow the link.',
      action: 'Sign out at my organisation',
    },
    signed_out_everywhere: {
      title: 'You are signed out',
      text: 'Your organisation has sent you back here. If its page asked whether to sign you out and you did not agree, it still knows you in this browser.',
      action: 'Sign in again',
    },
    sign_in_incomplete: {
      title: 'The sign-in was not completed',
      text: 'It took more than ten minutes, began in another browser, or this browser keeps no cookies.',
      action: 'Begin again',
    },
    sign_in_ended: {
      title: 'You were signed out meanwhile',
      text: 'Your organisation ended the sign-in before it was complete.',
      action: 'Begin again',
    },
    sign_in_undated: {
      title: 'Your organisation does not say when you signed in',
      text: 'To let agents act again, you must show that you have just signed in. Ask your administrator.',
      action: 'Sign in again',
    },
    sign_in_too_old: {
      title: 'Please sign in again',
      text: 'To let agents act again, you must enter your credentials now. Your organisation did not confirm that you did.',
      action: 'Sign in again',
    },
    delegation_undated: {
      title: 'You cannot let an agent hand work over again here',
      text: 'To let an agent hand work over again, you must show that you have just signed in. Your organisation does not say when you signed in. Ask your administrator.',
      action: 'Back',
    },
    delegation_not_fresh: {
      title: 'Sign in again to let an agent hand work over',
      text: 'To let an agent hand work over again, you must enter your credentials now. Your organisation did not confirm that you did.',
      action: 'Sign in again',
    },
    approver_undated: {
      title: 'You cannot say yes here',
      text: 'To say yes, you must show that you have just signed in. Your organisation does not say when you signed in. You can still say no. Ask your administrator.',
      action: 'Back to the question',
    },
    approver_not_fresh: {
      title: 'Sign in again to say yes',
      text: 'To say yes, you must enter your credentials now. Your organisation did not confirm that you did.',
      action: 'Sign in again',
    },
    session_over: {
      title: 'Your sign-in has ended',
      text: 'Nothing was changed. Sign in again, then repeat what you wanted to do.',
      action: 'Sign in',
    },
    several_sessions: {
      title: 'Your browser sends two sign-ins',
      text: 'One of them may come from another site, so neither is accepted. Delete the cookies of this site in the settings of your browser, or use another browser. Then sign in again.',
      action: 'Open my tasks',
    },
    form_refused: {
      title: 'Nothing was changed',
      text: 'The request did not come from your current page. Open your tasks again, and repeat it there.',
      action: 'Open my tasks',
    },
    unknown_task: { title: 'There is no such task', text: 'Nothing was changed.', action: 'Open my tasks' },
    unknown_agent: { title: 'There is no such agent', text: 'Nothing was changed.', action: 'Open my tasks' },
    unknown_approval: { title: 'There is no such question', text: 'Nothing was changed.', action: 'Open my tasks' },
    altered: {
      title: 'This question cannot be shown',
      text: 'It was changed after the request. No answer was taken, and nothing is allowed by it. Tell the operators of this service.',
      action: 'Open my tasks',
    },
    other_words: {
      title: 'The words have changed',
      text: 'They are not those that you read. Nothing was changed. Open your tasks, and read them again.',
      action: 'Open my tasks',
    },
    not_waiting: {
      title: 'This answer is not possible',
      text: 'It was answered before, its time is up, the service describes the action in other words now, the task has ended, or its agent is turned off. Nothing was changed. After a yes, stop the task to prevent the action.',
      action: 'Open my tasks',
    },
    unknown_path: { title: 'There is nothing here', text: 'Please check the address.', action: 'Open my tasks' },
    malformed: {
      title: 'This address cannot be read',
      text: 'Part of it is missing or was changed.',
      action: 'Open my tasks',
    },
    pause_elsewhere: {
      title: 'Only your organisation can lift this',
      text: 'Your organisation has blocked agents for you. Nothing was changed.',
      action: 'Open my tasks',
    },
    pause_not_liftable: {
      title: 'You cannot pause agents',
      text: 'You could never lift the pause: your organisation does not say when you signed in. Nothing was changed.',
      action: 'Open my tasks',
    },
  },
};

export type Texts = typeof en;

export type MessageKind = keyof Texts['messages'];

function stopped(amount: number): string {
  return amount === 0 ? 'No task was running.' : `${plural(amount, 'task', 'tasks')} stopped.`;
}

export function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
