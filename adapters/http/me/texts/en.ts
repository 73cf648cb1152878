/** The words of the page in English. */

import { html } from '../../browser/html.ts';
import { atMost } from '../../browser/times.ts';
import { plural, type Texts } from './texts.ts';

export const en: Texts = {
  title: 'What acts for you',
  skip: 'Skip to the tasks',
  signedInAs: (person) => html`Signed in as ${person}`,
  signOut: 'Sign out',
  everywhere: {
    title: 'Sign out everywhere',
    means:
      'The button at the top signs you out of this page only. This one also ends your session at your organisation. Tasks that agents began in that session may end with it.',
  },
  waiting: 'Waiting for you',
  alteredQuestions: (amount) =>
    `${amount === 1 ? 'A question is not shown: it was' : `${amount} questions are not shown: they were`} changed after the request. Tell the operators of this service.`,
  asks: (agent, where) => html`${agent} wants to act at ${where}`,
  statedBy: (where) => html`${where} describes the action:`,
  asked: 'Asked',
  answerUntil: 'Expires',
  yesMeans: 'A yes counts for this one action, once. Say no if you do not know what it is for.',
  yes: 'Yes, once',
  signInForYes: 'Sign in to say yes',
  signInForYesMeans: 'To say yes you sign in again. You can say no at once.',
  no: 'No',
  answered: {
    granted: 'You said yes. The agent may do this once.',
    refused: 'You said no.',
    used: 'You said yes, and the agent has used it.',
    expired: 'Its time is up.',
    withdrawn: 'The task of the agent has ended, so this can no longer be done.',
  },
  live: 'Now',
  history: 'Ended',
  nothingLive: 'No agent acts for you right now.',
  nothingOfAgent: 'This agent does not act for you right now.',
  nothingEnded: 'No task has ended lately.',
  count: (tasks, agents) => `${plural(tasks, 'task', 'tasks')} by ${plural(agents, 'agent', 'agents')}`,
  tasks: (count) => plural(count, 'task', 'tasks'),
  active: (since) => html`active ${since}`,
  where: 'Where',
  may: 'May',
  purpose: 'Why',
  statedByAgent: 'These are the agent’s words. They are not checked.',
  purposeDiffers: 'Not shown: the purpose was changed after the agent stated it. Tell the operators of this service.',
  since: 'Since',
  until: 'Until',
  renewed: 'Renewed',
  neverRenewed: 'not yet',
  removedAgent: 'removed agent',
  stop: 'Stop',
  stopWhat: (agent, where) => html`${agent} at ${where}`,
  stopWhole: (tasks, agent) => (tasks === 1 ? html`the task of ${agent}` : html`all ${tasks} tasks of ${agent}`),
  stopAgent: (tasks, agent) =>
    tasks === 1 ? html`Stop the task of ${agent}` : html`Stop all ${tasks} tasks of ${agent}`,
  stopAll: 'Stop everything',
  stopAllMeans: 'This ends all tasks that act for you now. They do not come back. An agent may begin a new task later.',
  stopAllNow: 'Stop all my tasks',
  pause: 'Pause agents',
  pauseMeans:
    'This ends all tasks that act for you now, and no agent can begin another one until you allow it here. To allow it, you sign in again.',
  pauseNow: 'Pause all agents',
  noPause:
    'You cannot pause agents here. To lift a pause you would have to show that you have just signed in, and your organisation does not say when you signed in.',
  paused: 'Agents are paused',
  pausedSince: (since) => html`No agent can act for you. You paused them ${since}.`,
  resume: 'Let agents act again',
  resumeMeans: 'Agents may then begin new tasks for you. Stopped tasks do not come back.',
  resumeNow: 'Let agents act for me again',
  back: 'Back to my tasks',
  blocked: 'Your organisation has blocked agents for you',
  blockedMeans: 'No agent can act for you. Only your organisation can change this. You can still look and stop here.',
  endedTasks: 'Ended tasks',
  moreEnded: 'More ended tasks',
  moreAgents: 'More agents',
  next: 'More tasks',
  first: 'Newest tasks',
  reach: 'What a stop reaches',
  reaches: ({ tokenTtl, statusLists }, { mayBegin, mayPause }) => [
    'At once: the agent receives nothing more for the task. Services that ask about every call refuse it.',
    statusLists === undefined
      ? `Later: other services accept what the agent already holds until that expires, at most ${atMost('en', tokenTtl)} later.`
      : `Usually within ${atMost('en', statusLists)}: services that read the published list refuse it. Others accept what the agent already holds until that expires, at most ${atMost('en', tokenTtl)} later.`,
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
  },
  endedOtherwise: 'It ended',
  notice(notice) {
    if (notice.kind === 'approved') return 'You said yes. The agent may do this once.';
    if (notice.kind === 'declined') return 'You said no.';
    if (notice.kind === 'resumed') return 'Agents may act for you again.';
    const ended = notice.amount === 0 ? 'No task was running.' : `${plural(notice.amount, 'task', 'tasks')} stopped.`;
    return notice.kind === 'paused' ? `Agents are paused. ${ended}` : ended;
  },
  over: 'Your sign-in has ended. Sign in again to see your tasks.',
  signIn: 'Sign in',
  offline: 'This page could not be renewed. What it shows may be old.',
  messages: {
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
    sign_in_superseded: {
      title: 'Another window began a sign-in',
      text: 'A browser can complete only the sign-in that it began last. Nothing is wrong with your account.',
      action: 'Begin again',
    },
    sign_in_code_refused: {
      title: 'This sign-in is over',
      text: 'It was used before, or took too long. Nothing is wrong with your account.',
      action: 'Begin again',
    },
    sign_in_cancelled: {
      title: 'The sign-in was cancelled',
      text: 'You, or your organisation for you, did not agree to it.',
      action: 'Begin again',
    },
    login_required: {
      title: 'Your organisation did not ask you to sign in',
      text: 'It cannot sign you in without asking you. Begin again, and follow its pages to the end.',
      action: 'Begin again',
    },
    sign_in_answer_refused: {
      title: 'The answer of your organisation is incomplete',
      text: 'Part of it is missing, or it is meant for another service. If this happens again, tell your administrator.',
      action: 'Begin again',
    },
    sign_in_ended: {
      title: 'You were signed out meanwhile',
      text: 'Your organisation ended the sign-in before it was complete.',
      action: 'Begin again',
    },
    id_token_refused: {
      title: 'The sign-in was refused',
      text: 'This service cannot trust what your organisation says about you. Tell your administrator: the log of this service has the reason.',
      action: 'Begin again',
    },
    account_refused: {
      title: 'Your account cannot use this page',
      text: 'Your organisation signed you in, but does not say which person you are here. Ask your administrator.',
      action: 'Begin again',
    },
    client_refused: {
      title: 'Your organisation does not accept this service',
      text: 'The sign-in of your organisation refuses this service, not you. Tell your administrator: the registration of this page there must be checked.',
      action: 'Try again',
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
    provider_unavailable: {
      title: 'The sign-in is not available',
      text: 'The sign-in of your organisation does not answer. Please try again in a minute.',
      action: 'Try again',
    },
    provider_unreadable: {
      title: 'The sign-in gave no usable answer',
      text: 'This service cannot read what the sign-in of your organisation answered. Please try again in a minute. If this happens again, tell your administrator.',
      action: 'Try again',
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
      text: 'It was answered before, its time is up, the task has ended, or its agent is turned off. Nothing was changed. After a yes, stop the task to prevent the action.',
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
    rate_limited: {
      title: 'Too many requests',
      text: 'Many requests came from your network in a short time. Nothing was changed. Please wait a minute.',
      action: 'Try again',
    },
    overloaded: {
      title: 'The service is busy',
      text: 'Nothing was changed. Please try again in a few seconds.',
      action: 'Try again',
    },
    storage_unavailable: {
      title: 'The service cannot reach its database',
      text: 'It is not certain whether your request took effect. Please look again in a few seconds.',
      action: 'Look again',
    },
    fault: {
      title: 'Something went wrong',
      text: 'It is not certain whether your request took effect. The operators have a record of the error.',
      action: 'Look again',
    },
  },
};
