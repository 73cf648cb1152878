/** The words of the pages in German. */

import { CLOCK_SKEW_SECONDS, MAX_CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/compact-jws.ts';
import { html } from '../../browser/html.ts';
import { messages } from '../../browser/texts/de.ts';
import { atMost } from '../../browser/times.ts';
import { plural, type Texts } from './en.ts';

const CLOCKS = `Darin ist ${atMost('de', CLOCK_SKEW_SECONDS)} für Uhren, die verschieden gehen. Ein Dienst kann stattdessen ${atMost('de', MAX_CLOCK_SKEW_SECONDS)} zulassen.`;

export const de: Texts = {
  title: 'Was für Sie handelt',
  skipToContent: 'Zum Inhalt',
  skipToTasks: 'Zu den Aufgaben',
  skipToWaiting: 'Zu dem, was auf Sie wartet',
  skipToQuestion: 'Zur Frage',
  signedInAs: (person) => html`Angemeldet als ${person}`,
  knownAs: (key) => html`Die Betreiber dieses Dienstes finden Sie als ${key}.`,
  maybeAnothers: (person) =>
    html`Sie sind als ${person} angemeldet. Vielleicht gehört das Gesuchte zu einem anderen Konto von Ihnen.`,
  signInAsAnother: 'Als jemand anderes anmelden',
  signOut: 'Abmelden',
  everywhere: {
    title: 'Überall abmelden',
    means:
      'Der Knopf ganz oben meldet Sie nur von dieser Seite ab. Dieser beendet auch Ihre Sitzung bei Ihrer Organisation. Aufgaben, die Agenten in dieser Sitzung begonnen haben, können damit enden.',
  },
  waiting: 'Wartet auf Sie',
  alteredQuestions: (amount) =>
    `${amount === 1 ? 'Eine Frage wird nicht gezeigt: Sie wurde' : `${amount} Fragen werden nicht gezeigt: Sie wurden`} nach der Anfrage geändert. Sagen Sie es den Betreibern dieses Dienstes.`,
  asks: (agent, where) => html`${agent} möchte bei ${where} handeln`,
  statedBy: (where) => html`So beschreibt ${where} die Aktion:`,
  asked: 'Gefragt',
  answerUntil: 'Läuft ab',
  answeredAt: 'Beantwortet',
  yesUntil: 'Das Ja endet',
  noUntil: 'Das Nein endet',
  taskPurpose: 'Aufgabe',
  taskSince: 'Aufgabe seit',
  openTask: 'Zur Aufgabe',
  yesMeans: (yes, no) =>
    `Ein Ja gilt für diese eine Aktion, ein einziges Mal, innerhalb von ${yes}. Ein Nein gilt ${no} lang. Sagen Sie Nein, wenn Sie nicht wissen, wozu die Aktion dient.`,
  yes: 'Ja, einmal',
  signInForYes: 'Anmelden, um Ja zu sagen',
  signInForYesMeans: 'Für ein Ja melden Sie sich neu an. Nein sagen können Sie sofort.',
  no: 'Nein',
  whyNot: 'Warum nicht? (freiwillig)',
  whyNotMeans: 'Nur bei einem Nein: Der Agent liest diese Zeile als Ihre Worte.',
  whyNotRefused: (most) =>
    `Es wurde nichts entschieden. Die Zeile darf höchstens ${most} Zeichen haben, und keine Steuerzeichen.`,
  sayWhyNot: 'Nein sagen und begründen',
  youWrote: 'Ihre Worte',
  answered: {
    granted: 'Sie haben Ja gesagt. Der Agent darf es einmal tun.',
    refused: 'Sie haben Nein gesagt.',
    used: 'Sie haben Ja gesagt, und der Agent hat es genutzt.',
    expired: 'Sie haben nicht rechtzeitig geantwortet.',
    unused: 'Sie haben Ja gesagt, und der Agent hat es nicht rechtzeitig genutzt.',
    withdrawn: 'Die Aufgabe des Agenten ist beendet. Darum kann es nicht mehr getan werden.',
    withdrawnAfterYes: 'Sie haben Ja gesagt, und dann endete die Aufgabe des Agenten.',
    otherWords: 'Der Dienst beschreibt diese Aktion jetzt mit anderen Worten. Darum wartet diese Frage nicht mehr.',
    otherWordsAfterYes:
      'Sie haben Ja gesagt. Dann beschrieb der Dienst diese Aktion mit anderen Worten. Darum gilt Ihr Ja nicht mehr. Es wurde nicht genutzt.',
  },
  settled: 'Beantwortet und verpasst',
  live: 'Jetzt',
  history: 'Beendet',
  nothingLive: 'Gerade handelt kein Agent für Sie.',
  nothingOfAgent: 'Gerade handelt dieser Agent nicht für Sie.',
  nothingEnded: 'In letzter Zeit endete keine Aufgabe.',
  count: (tasks, agents) => `${plural(tasks, 'Aufgabe', 'Aufgaben')} von ${agents === 1 ? 'einem' : agents} Agenten`,
  tasks: (count) => plural(count, 'Aufgabe', 'Aufgaben'),
  active: (since) => html`aktiv ${since}`,
  where: 'Wo',
  may: 'Darf',
  purpose: 'Wozu',
  statedByAgent: 'Das sind die Worte des Agenten. Sie sind nicht geprüft.',
  statedByAgents: 'Zwecke sind die Worte der Agenten. Sie sind nicht geprüft.',
  purposeDiffers:
    'Nicht gezeigt: Der Zweck wurde geändert, nachdem der Agent ihn angegeben hatte. Sagen Sie es den Betreibern dieses Dienstes.',
  startedByYou: 'Von Ihnen gestartet',
  answerWent: (place) => html`Ihre Antwort ging an ${place}.`,
  onComputer: 'ein Programm auf dem Computer, den Sie benutzt haben',
  onDevice: (scheme) => html`ein Programm auf dem Gerät, das Sie benutzt haben (${scheme})`,
  cannotProveName: 'Dieses Programm kann seinen Namen nicht beweisen.',
  since: 'Seit',
  until: 'Bis',
  renewed: 'Erneuert',
  neverRenewed: 'noch nicht',
  removedAgent: 'entfernter Agent',
  stop: 'Stoppen',
  stopWhat: (agent, where) => html`${agent} bei ${where}`,
  stopWhole: (tasks, agent) =>
    tasks === 1 ? html`die Aufgabe von ${agent}` : html`alle ${tasks} Aufgaben von ${agent}`,
  stopAgent: (tasks, agent) =>
    tasks === 1 ? html`Die Aufgabe von ${agent} stoppen` : html`Alle ${tasks} Aufgaben von ${agent} stoppen`,
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
  delegation: {
    title: 'Arbeit an andere Agenten weitergeben',
    list: 'Agenten, die keine Arbeit weitergeben dürfen',
    isRefusedInShort: 'darf keine Arbeit weitergeben',
    isRefused: 'Dieser Agent darf keine Arbeit an andere Agenten weitergeben: Sie haben es abgelehnt.',
    refusalMeans:
      'Solange Sie es ablehnen, kann dieser Agent keine Arbeit weitergeben: an keinen anderen Agenten, und nicht an einen zweiten Lauf von sich selbst. Angebotene Arbeit, die noch nicht begonnen wurde, wird abgewiesen. Vorher weitergegebene Aufgaben laufen weiter: Sie können sie stoppen.',
    listMeans:
      'Diese Agenten können keine Arbeit weitergeben. Vorher weitergegebene Aufgaben laufen weiter: Sie können sie stoppen.',
    allowedAfterSignIn: 'Um es wieder zu erlauben, melden Sie sich neu an.',
    neverAllowedAgain:
      'Sie könnten es hier nicht wieder erlauben: Dafür müssten Sie zeigen, dass Sie sich gerade angemeldet haben, und Ihre Organisation teilt nicht mit, wann Sie sich angemeldet haben.',
    refuse: 'Darf keine Arbeit an andere Agenten weitergeben',
    allow: 'Darf wieder Arbeit weitergeben',
    refusedSince: (since) => html`Von Ihnen abgelehnt: ${since}.`,
    none: 'Sie lehnen es bei keinem Agenten ab.',
    areMore: (shown) => `Das sind die letzten ${shown}. Es gibt mehr.`,
    tree: 'Aufgaben, die zusammengehören',
    treeMeans:
      'Die Aufgaben unter einer Aufgabe hat ihr Agent an andere Agenten weitergegeben. Wer eine Aufgabe stoppt, beendet auch alle Aufgaben darunter.',
    showTree: 'Zusammengehörende Aufgaben zeigen',
    handedOver: 'Weitergegeben',
    below: 'Weitergegeben an',
    stopsBelow: 'Ein Stopp beendet auch die Aufgaben darunter.',
    stopReaches: 'Mit einer Aufgabe enden alle Aufgaben, die ihr Agent an andere Agenten weitergegeben hat.',
    moreInTree: (shown) => `Das sind die ersten ${shown}. Darunter gibt es mehr.`,
    isOver: 'beendet',
    thisTask: 'diese Aufgabe',
  },
  blocked: 'Ihre Organisation hat Agenten für Sie gesperrt',
  blockedMeans:
    'Kein Agent kann für Sie handeln. Nur Ihre Organisation kann das ändern. Ansehen und stoppen können Sie hier weiterhin.',
  endedTasks: 'Beendete Aufgaben',
  moreEnded: 'Weitere beendete Aufgaben',
  moreAgents: 'Weitere Agenten',
  next: 'Weitere Aufgaben',
  first: 'Neueste Aufgaben',
  reach: 'Was ein Stopp erreicht',
  reaches: ({ acceptedFor, statusLists }, { mayBegin, mayPause }) => [
    'Sofort: Der Agent erhält für die Aufgabe nichts mehr. Dienste, die bei jedem Aufruf nachfragen, weisen ihn ab.',
    statusLists === undefined
      ? `Später: Andere Dienste nehmen an, was der Agent schon hat, bis es abläuft: höchstens ${atMost('de', acceptedFor)} lang. ${CLOCKS}`
      : `Meist innerhalb von ${atMost('de', statusLists)}: Dienste, die die veröffentlichte Liste lesen, weisen ihn ab. Andere nehmen an, was der Agent schon hat, bis es abläuft: höchstens ${atMost('de', acceptedFor)} lang. ${CLOCKS}`,
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
    code_replayed: 'Jemand wollte sie ein zweites Mal beginnen',
    grant_superseded: 'Jemand hat einen veralteten Zugang benutzt',
  },
  endedOtherwise: 'Die Aufgabe endete',
  actionOf: (title, agent) => html`<strong>${title}</strong> (${agent})`,
  notice({ kind, amount, agent, action, left, noHolds }) {
    switch (kind) {
      case 'approved':
        if (action === undefined) return 'Sie haben Ja gesagt. Der Agent darf es einmal tun.';
        return html`Sie haben Ja gesagt: ${action}.${left !== undefined && ` Der Agent darf es einmal tun, innerhalb von ${left}.`}`;
      case 'declined':
        if (action === undefined) return 'Sie haben Nein gesagt.';
        return html`Sie haben Nein gesagt: ${action}.${noHolds !== undefined && ` Das Nein gilt ${noHolds} lang; danach darf der Agent wieder fragen.`}`;
      case 'signed_in':
        return 'Sie sind angemeldet. Antworten Sie jetzt.';
      case 'resumed':
        return 'Agenten dürfen wieder für Sie handeln.';
      case 'delegation_refused':
        return html`${agent ?? 'Der Agent'} darf keine Arbeit mehr an andere Agenten weitergeben.`;
      case 'delegation_allowed':
        return html`${agent ?? 'Der Agent'} darf wieder Arbeit an andere Agenten weitergeben.`;
      case 'paused':
        return `Agenten sind pausiert. ${stopped(amount)}`;
      case 'stopped':
        return agent === undefined || amount === 0
          ? stopped(amount)
          : html`${plural(amount, 'Aufgabe', 'Aufgaben')} von ${agent} gestoppt.`;
    }
  },
  over: 'Ihre Anmeldung ist abgelaufen. Melden Sie sich neu an, um Ihre Aufgaben zu sehen.',
  signIn: 'Anmelden',
  offline: 'Diese Seite konnte nicht erneuert werden. Was hier steht, ist vielleicht veraltet.',
  messages: {
    ...messages,
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
    sign_in_ended: {
      title: 'Sie wurden inzwischen abgemeldet',
      text: 'Ihre Organisation hat die Anmeldung beendet, bevor sie abgeschlossen war.',
      action: 'Neu beginnen',
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
    delegation_undated: {
      title: 'Sie können das Weitergeben hier nicht wieder erlauben',
      text: 'Damit ein Agent wieder Arbeit weitergeben darf, müssen Sie zeigen, dass Sie sich gerade angemeldet haben. Ihre Organisation teilt nicht mit, wann das war. Bitte fragen Sie Ihre Administration.',
      action: 'Zurück',
    },
    delegation_not_fresh: {
      title: 'Melden Sie sich neu an, um das Weitergeben wieder zu erlauben',
      text: 'Damit ein Agent wieder Arbeit weitergeben darf, müssen Sie sich jetzt ausweisen. Ihre Organisation hat das nicht bestätigt.',
      action: 'Neu anmelden',
    },
    approver_undated: {
      title: 'Sie können hier nicht Ja sagen',
      text: 'Um Ja zu sagen, müssen Sie zeigen, dass Sie sich gerade angemeldet haben. Ihre Organisation teilt nicht mit, wann das war. Nein sagen können Sie weiterhin. Bitte fragen Sie Ihre Administration.',
      action: 'Zurück zur Frage',
    },
    approver_not_fresh: {
      title: 'Melden Sie sich für ein Ja neu an',
      text: 'Um Ja zu sagen, müssen Sie sich jetzt ausweisen. Ihre Organisation hat das nicht bestätigt.',
      action: 'Neu anmelden',
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
    unknown_agent: {
      title: 'Diesen Agenten gibt es nicht',
      text: 'Es wurde nichts geändert.',
      action: 'Meine Aufgaben öffnen',
    },
    unknown_approval: {
      title: 'Diese Frage gibt es nicht',
      text: 'Nichts wurde geändert.',
      action: 'Meine Aufgaben öffnen',
    },
    altered: {
      title: 'Diese Frage kann nicht gezeigt werden',
      text: 'Sie wurde nach der Anfrage geändert. Es wurde keine Antwort angenommen, und nichts ist dadurch erlaubt. Sagen Sie es den Betreibern dieses Dienstes.',
      action: 'Meine Aufgaben öffnen',
    },
    other_words: {
      title: 'Die Worte haben sich geändert',
      text: 'Es sind nicht die, die Sie gelesen haben. Nichts wurde geändert. Öffnen Sie Ihre Aufgaben, und lesen Sie sie noch einmal.',
      action: 'Meine Aufgaben öffnen',
    },
    not_waiting: {
      title: 'Diese Antwort ist nicht möglich',
      text: 'Es wurde schon beantwortet, die Zeit ist abgelaufen, der Dienst beschreibt die Aktion jetzt mit anderen Worten, die Aufgabe ist beendet, oder ihr Agent ist abgeschaltet. Nichts wurde geändert. Nach einem Ja stoppen Sie die Aufgabe, um die Aktion zu verhindern.',
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
  },
};

function stopped(amount: number): string {
  return amount === 0 ? 'Es lief keine Aufgabe.' : `${plural(amount, 'Aufgabe', 'Aufgaben')} gestoppt.`;
}
