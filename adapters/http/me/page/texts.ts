/** All words of the page, in every language. The type makes each table complete. */

import type { SignInDenial } from '../../../../application/ports/identity-provider.ts';
import type { EndReason } from '../../../../domain/tasks/lifetime.ts';
import { type Html, html } from '../../browser/html.ts';
import { duration } from '../../browser/times.ts';
import type { Language, Notice, Reach } from './view.ts';

/** What a page says that is about no task: an error, or an end. */
export type MessageKind =
  | ('signed_out' | 'signing_out' | 'signed_out_everywhere')
  | 'sign_in_incomplete'
  | 'sign_in_ended'
  | SignInDenial
  | 'session_over'
  | 'several_sessions'
  | 'form_refused'
  | 'unknown_task'
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
  /** The sign-out at the identity provider too. */
  /** The title is also on the button. */
  readonly everywhere: { readonly title: string; readonly means: string };
  readonly live: string;
  readonly history: string;
  readonly nothingLive: string;
  readonly nothingEnded: string;
  /** `isWhole`: no live task is on another page. */
  readonly count: (tasks: number, agents: number, isWhole: boolean) => string;
  readonly where: string;
  readonly may: string;
  readonly since: string;
  readonly until: string;
  readonly renewed: string;
  readonly neverRenewed: string;
  readonly removedAgent: string;
  readonly stop: string;
  readonly stopWhat: (agent: Html, where: Html) => Html;
  /** `tasks` is `undefined` if some may be on another page. */
  readonly stopAgent: (tasks: number | undefined, agent: Html) => Html;
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
  readonly next: string;
  readonly first: string;
  readonly reach: string;
  /** `mayBegin`: whether an agent may begin a task. `mayPause`: whether the person may prevent it. */
  readonly reaches: (reach: Reach, agents: { mayBegin: boolean; mayPause: boolean }) => readonly string[];
  readonly ended: Readonly<Record<EndReason, string>>;
  /** For a reason of another version. */
  readonly endedOtherwise: string;
  readonly notice: (notice: Notice) => string;
  readonly over: string;
  readonly signIn: string;
  readonly offline: string;
  readonly messages: Readonly<Record<MessageKind, Message>>;
}

const en: Texts = {
  title: 'What acts for you',
  skip: 'Skip to the tasks',
  signedInAs: (person) => html`Signed in as ${person}`,
  signOut: 'Sign out',
  everywhere: {
    title: 'Sign out everywhere',
    means:
      'The button at the top signs you out of this page only. This one also ends your session at your organisation. Tasks that agents began in that session may end with it.',
  },
  live: 'Now',
  history: 'Ended',
  nothingLive: 'No agent acts for you right now.',
  nothingEnded: 'No task has ended lately.',
  count: (tasks, agents, isWhole) =>
    `${plural(tasks, 'task', 'tasks')} by ${plural(agents, 'agent', 'agents')}${isWhole ? '' : ' on this page'}`,
  where: 'Where',
  may: 'May',
  since: 'Since',
  until: 'Until',
  renewed: 'Renewed',
  neverRenewed: 'not yet',
  removedAgent: 'removed agent',
  stop: 'Stop',
  stopWhat: (agent, where) => html`${agent} at ${where}`,
  stopAgent: (tasks, agent) => html`Stop all ${tasks && `${tasks} `}tasks of ${agent}`,
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
  next: 'More tasks',
  first: 'Newest tasks',
  reach: 'What a stop reaches',
  reaches: ({ tokenTtl, statusLists }, { mayBegin, mayPause }) => [
    'At once: the agent receives nothing more for the task. Services that ask about every call refuse it.',
    statusLists === undefined
      ? `Later: other services accept what the agent already holds until that expires, at most ${duration('en', tokenTtl)} later.`
      : `Usually within ${duration('en', statusLists)}: services that read the published list refuse it. Others accept what the agent already holds until that expires, at most ${duration('en', tokenTtl)} later.`,
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

const de: Texts = {
  title: 'Was für Sie handelt',
  skip: 'Zu den Aufgaben',
  signedInAs: (person) => html`Angemeldet als ${person}`,
  signOut: 'Abmelden',
  everywhere: {
    title: 'Überall abmelden',
    means:
      'Der Knopf ganz oben meldet Sie nur von dieser Seite ab. Dieser beendet auch Ihre Sitzung bei Ihrer Organisation. Aufgaben, die Agenten in dieser Sitzung begonnen haben, können damit enden.',
  },
  live: 'Jetzt',
  history: 'Beendet',
  nothingLive: 'Gerade handelt kein Agent für Sie.',
  nothingEnded: 'In letzter Zeit endete keine Aufgabe.',
  count: (tasks, agents, isWhole) =>
    `${plural(tasks, 'Aufgabe', 'Aufgaben')} von ${agents === 1 ? 'einem' : agents} Agenten${isWhole ? '' : ' auf dieser Seite'}`,
  where: 'Wo',
  may: 'Darf',
  since: 'Seit',
  until: 'Bis',
  renewed: 'Erneuert',
  neverRenewed: 'noch nicht',
  removedAgent: 'entfernter Agent',
  stop: 'Stoppen',
  stopWhat: (agent, where) => html`${agent} bei ${where}`,
  stopAgent: (tasks, agent) => html`Alle ${tasks && `${tasks} `}Aufgaben von ${agent} stoppen`,
  stopAll: 'Alles stoppen',
  stopAllMeans:
    'Das beendet alle Aufgaben, die jetzt für Sie laufen. Sie kommen nicht wieder. Ein Agent kann später eine neue Aufgabe beginnen.',
  stopAllNow: 'Alle meine Aufgaben stoppen',
  pause: 'Agenten pausieren',
  pauseMeans:
    'Das beendet alle Aufgaben, die jetzt für Sie laufen, und kein Agent kann eine neue beginnen, bis Sie es hier wieder erlauben. Dafür melden Sie sich neu an.',
  pauseNow: 'Alle Agenten pausieren',
  noPause:
    'Sie können Agenten hier nicht pausieren. Um eine Pause aufzuheben, müssten Sie zeigen, dass Sie sich gerade angemeldet haben, und Ihre Organisation teilt nicht mit, wann Sie sich angemeldet haben.',
  paused: 'Agenten sind pausiert',
  pausedSince: (since) => html`Kein Agent kann für Sie handeln. Von Ihnen pausiert: ${since}.`,
  resume: 'Agenten wieder erlauben',
  resumeMeans: 'Agenten können dann neue Aufgaben für Sie beginnen. Gestoppte Aufgaben kommen nicht wieder.',
  resumeNow: 'Agenten dürfen wieder für mich handeln',
  back: 'Zurück zu meinen Aufgaben',
  blocked: 'Ihre Organisation hat Agenten für Sie gesperrt',
  blockedMeans:
    'Kein Agent kann für Sie handeln. Nur Ihre Organisation kann das ändern. Ansehen und stoppen können Sie hier weiterhin.',
  next: 'Weitere Aufgaben',
  first: 'Neueste Aufgaben',
  reach: 'Was ein Stopp erreicht',
  reaches: ({ tokenTtl, statusLists }, { mayBegin, mayPause }) => [
    'Sofort: Der Agent erhält für die Aufgabe nichts mehr. Dienste, die bei jedem Aufruf nachfragen, weisen ihn ab.',
    statusLists === undefined
      ? `Später: Andere Dienste nehmen an, was der Agent schon hat, bis es abläuft: höchstens ${duration('de', tokenTtl)} lang.`
      : `Meist innerhalb von ${duration('de', statusLists)}: Dienste, die die veröffentlichte Liste lesen, weisen ihn ab. Andere nehmen an, was der Agent schon hat, bis es abläuft: höchstens ${duration('de', tokenTtl)} lang.`,
    'Nie: Was der Agent schon getan hat. Ein Stopp macht es nicht rückgängig.',
    `Eine gestoppte Aufgabe kommt nicht wieder${mayBegin ? ', aber der Agent kann eine neue beginnen' : ''}.${mayPause ? ' Pausieren Sie Agenten, um das zu verhindern.' : ''}`,
  ],
  ended: {
    sponsor_stopped: 'Von Ihnen gestoppt',
    sponsor_paused: 'Sie haben Agenten pausiert',
    task_ttl_elapsed: 'Die Zeit der Aufgabe lief ab',
    client_revoked: 'Der Agent war fertig',
    operator_kill_switch: 'Von der Administration gestoppt',
    parent_revoked: 'Die übergeordnete Aufgabe endete',
    sponsor_blocked: 'Die Administration hat Agenten für Sie gesperrt',
    sponsor_logged_out: 'Sie haben sich bei Ihrer Organisation abgemeldet',
    scim_deactivated: 'Ihr Konto wurde deaktiviert',
    scim_deleted: 'Ihr Konto wurde gelöscht',
    ssf_sessions_revoked: 'Ihre Sitzungen wurden beendet',
    ssf_account_disabled: 'Ihr Konto wurde gesperrt',
    ssf_account_purged: 'Ihr Konto wurde gelöscht',
  },
  endedOtherwise: 'Die Aufgabe endete',
  notice(notice) {
    if (notice.kind === 'resumed') return 'Agenten dürfen wieder für Sie handeln.';
    const ended =
      notice.amount === 0 ? 'Es lief keine Aufgabe.' : `${plural(notice.amount, 'Aufgabe', 'Aufgaben')} gestoppt.`;
    return notice.kind === 'paused' ? `Agenten sind pausiert. ${ended}` : ended;
  },
  over: 'Ihre Anmeldung ist abgelaufen. Melden Sie sich neu an, um Ihre Aufgaben zu sehen.',
  signIn: 'Anmelden',
  offline: 'Diese Seite konnte nicht erneuert werden. Was hier steht, ist vielleicht veraltet.',
  messages: {
    signed_out: {
      title: 'Sie sind hier abgemeldet',
      text: 'Agenten setzen ihre Aufgaben fort. Ihre Organisation kennt Sie vielleicht noch in diesem Browser und meldet Sie dann ohne Frage wieder an.',
      action: 'Neu anmelden',
    },
    signing_out: {
      title: 'Sie sind hier abgemeldet',
      text: 'Jetzt beendet Ihre Organisation Ihre Sitzung dort. Aufgaben, die Agenten in dieser Sitzung begonnen haben, können damit enden. Öffnet sich keine Seite, folgen Sie dem Link.',
      action: 'Bei meiner Organisation abmelden',
    },
    signed_out_everywhere: {
      title: 'Sie sind abgemeldet',
      text: 'Ihre Organisation hat Sie hierher zurückgeschickt. Hat ihre Seite gefragt, ob sie Sie abmelden soll, und Sie haben nicht zugestimmt, kennt sie Sie noch in diesem Browser.',
      action: 'Neu anmelden',
    },
    sign_in_incomplete: {
      title: 'Die Anmeldung wurde nicht abgeschlossen',
      text: 'Sie dauerte mehr als zehn Minuten, begann in einem anderen Browser, oder dieser Browser behält keine Cookies.',
      action: 'Neu beginnen',
    },
    sign_in_superseded: {
      title: 'Ein anderes Fenster hat eine Anmeldung begonnen',
      text: 'Ein Browser kann nur die Anmeldung abschließen, die er zuletzt begonnen hat. Mit Ihrem Konto ist alles in Ordnung.',
      action: 'Neu beginnen',
    },
    sign_in_code_refused: {
      title: 'Diese Anmeldung ist vorbei',
      text: 'Sie wurde schon verwendet, oder sie dauerte zu lange. Mit Ihrem Konto ist alles in Ordnung.',
      action: 'Neu beginnen',
    },
    sign_in_cancelled: {
      title: 'Die Anmeldung wurde abgebrochen',
      text: 'Sie, oder Ihre Organisation für Sie, haben ihr nicht zugestimmt.',
      action: 'Neu beginnen',
    },
    login_required: {
      title: 'Ihre Organisation hat Sie nicht nach der Anmeldung gefragt',
      text: 'Ohne Sie zu fragen, kann sie Sie nicht anmelden. Beginnen Sie neu, und folgen Sie ihren Seiten bis zum Ende.',
      action: 'Neu beginnen',
    },
    sign_in_answer_refused: {
      title: 'Die Antwort Ihrer Organisation ist unvollständig',
      text: 'Ein Teil fehlt, oder sie gilt einem anderen Dienst. Geschieht das noch einmal, sagen Sie es Ihrer Administration.',
      action: 'Neu beginnen',
    },
    sign_in_ended: {
      title: 'Sie wurden inzwischen abgemeldet',
      text: 'Ihre Organisation hat die Anmeldung beendet, bevor sie abgeschlossen war.',
      action: 'Neu beginnen',
    },
    id_token_refused: {
      title: 'Die Anmeldung wurde abgelehnt',
      text: 'Dieser Dienst kann dem nicht trauen, was Ihre Organisation über Sie sagt. Sagen Sie es Ihrer Administration: Der Grund steht im Protokoll dieses Dienstes.',
      action: 'Neu beginnen',
    },
    account_refused: {
      title: 'Ihr Konto kann diese Seite nicht benutzen',
      text: 'Ihre Organisation hat Sie angemeldet, sagt aber nicht, welche Person Sie hier sind. Bitte fragen Sie Ihre Administration.',
      action: 'Neu beginnen',
    },
    client_refused: {
      title: 'Ihre Organisation nimmt diesen Dienst nicht an',
      text: 'Die Anmeldung Ihrer Organisation lehnt diesen Dienst ab, nicht Sie. Sagen Sie es Ihrer Administration: Die Registrierung dieser Seite dort muss geprüft werden.',
      action: 'Noch einmal versuchen',
    },
    sign_in_undated: {
      title: 'Ihre Organisation teilt nicht mit, wann Sie sich angemeldet haben',
      text: 'Um Agenten wieder zu erlauben, müssen Sie zeigen, dass Sie sich gerade angemeldet haben. Bitte fragen Sie Ihre Administration.',
      action: 'Neu anmelden',
    },
    sign_in_too_old: {
      title: 'Bitte melden Sie sich neu an',
      text: 'Um Agenten wieder zu erlauben, müssen Sie sich jetzt ausweisen. Ihre Organisation hat das nicht bestätigt.',
      action: 'Neu anmelden',
    },
    provider_unavailable: {
      title: 'Die Anmeldung ist nicht erreichbar',
      text: 'Die Anmeldung Ihrer Organisation antwortet nicht. Bitte versuchen Sie es in einer Minute noch einmal.',
      action: 'Noch einmal versuchen',
    },
    provider_unreadable: {
      title: 'Die Anmeldung gab keine brauchbare Antwort',
      text: 'Dieser Dienst kann nicht lesen, was die Anmeldung Ihrer Organisation geantwortet hat. Bitte versuchen Sie es in einer Minute noch einmal. Geschieht das wieder, sagen Sie es Ihrer Administration.',
      action: 'Noch einmal versuchen',
    },
    session_over: {
      title: 'Ihre Anmeldung ist abgelaufen',
      text: 'Es wurde nichts geändert. Melden Sie sich neu an, und wiederholen Sie, was Sie tun wollten.',
      action: 'Anmelden',
    },
    several_sessions: {
      title: 'Ihr Browser sendet zwei Anmeldungen',
      text: 'Eine davon kann von einer anderen Website stammen, deshalb gilt keine. Löschen Sie die Cookies dieser Website in den Einstellungen Ihres Browsers, oder nehmen Sie einen anderen Browser. Melden Sie sich dann neu an.',
      action: 'Meine Aufgaben öffnen',
    },
    form_refused: {
      title: 'Es wurde nichts geändert',
      text: 'Die Anfrage kam nicht von Ihrer aktuellen Seite. Öffnen Sie Ihre Aufgaben neu, und wiederholen Sie es dort.',
      action: 'Meine Aufgaben öffnen',
    },
    unknown_task: {
      title: 'Diese Aufgabe gibt es nicht',
      text: 'Es wurde nichts geändert.',
      action: 'Meine Aufgaben öffnen',
    },
    unknown_path: { title: 'Hier ist nichts', text: 'Bitte prüfen Sie die Adresse.', action: 'Meine Aufgaben öffnen' },
    malformed: {
      title: 'Diese Adresse ist nicht lesbar',
      text: 'Ein Teil davon fehlt oder wurde verändert.',
      action: 'Meine Aufgaben öffnen',
    },
    pause_elsewhere: {
      title: 'Das kann nur Ihre Organisation ändern',
      text: 'Ihre Organisation hat Agenten für Sie gesperrt. Es wurde nichts geändert.',
      action: 'Meine Aufgaben öffnen',
    },
    pause_not_liftable: {
      title: 'Sie können Agenten nicht pausieren',
      text: 'Sie könnten die Pause nie aufheben: Ihre Organisation teilt nicht mit, wann Sie sich angemeldet haben. Es wurde nichts geändert.',
      action: 'Meine Aufgaben öffnen',
    },
    rate_limited: {
      title: 'Zu viele Anfragen',
      text: 'Aus Ihrem Netz kamen in kurzer Zeit viele Anfragen. Es wurde nichts geändert. Bitte warten Sie eine Minute.',
      action: 'Noch einmal versuchen',
    },
    overloaded: {
      title: 'Der Dienst ist ausgelastet',
      text: 'Es wurde nichts geändert. Bitte versuchen Sie es in einigen Sekunden noch einmal.',
      action: 'Noch einmal versuchen',
    },
    storage_unavailable: {
      title: 'Der Dienst erreicht seine Datenbank nicht',
      text: 'Es ist nicht sicher, ob Ihre Anfrage wirkte. Bitte sehen Sie in einigen Sekunden noch einmal nach.',
      action: 'Noch einmal nachsehen',
    },
    fault: {
      title: 'Etwas ist schiefgegangen',
      text: 'Es ist nicht sicher, ob Ihre Anfrage wirkte. Der Fehler ist für die Betreiber aufgezeichnet.',
      action: 'Noch einmal nachsehen',
    },
  },
};

export const texts: Readonly<Record<Language, Texts>> = { en, de };

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
