/** The words of the pages in German. */

import { html } from '../../browser/html.ts';
import type { Texts } from './en.ts';

export const de: Texts = {
  title: 'Ein Agent fragt Sie',
  skipToQuestion: 'Zur Frage',
  signedInAs: (person) => html`Angemeldet als ${person}`,
  knownAs: (key) => html`Die Betreiber dieses Dienstes finden Sie als ${key}.`,
  asks: (agent) => html`Darf ${agent} für Sie handeln?`,
  unproven:
    'Dieses Programm kann seinen Namen nicht beweisen. Erlauben Sie es nur, wenn Sie es gerade selbst gestartet haben und diese Seite erwarten.',
  where: 'Wo',
  answerTo: 'Ihre Antwort geht an',
  thisComputer: 'ein Programm auf diesem Computer',
  thisDevice: (scheme) => html`ein Programm auf diesem Gerät, das Links mit ${scheme} öffnet`,
  purpose: 'Wozu',
  statedByAgent: 'Das sind die Worte des Agenten. Sie sind nicht geprüft.',
  writePurpose: 'Wozu brauchen Sie den Agenten?',
  purposeIsSeen: 'Die Betreiber dieses Dienstes können das lesen.',
  may: 'Was der Agent darf',
  mayMeans: 'Nehmen Sie weg, was Sie nicht wollen.',
  nothingChosen: 'Wählen Sie mindestens eines, oder lehnen Sie ab.',
  purposeMissing: 'Schreiben Sie mindestens ein Wort.',
  until: 'Wie lange',
  longest: 'höchstens',
  stoppable: 'Sie können den Agenten jederzeit stoppen, auf der Seite',
  toMe: 'Was für Sie handelt',
  timeLeft: (left) => `Zeit für diese Frage: noch ${left}.`,
  allow: 'Erlauben',
  refuse: 'Ablehnen',
  backToClient: 'Zurück zum Programm',
  close: 'Sie können diese Seite schließen.',
  beginAgain: 'Sie können diese Seite schließen und in dem Programm neu beginnen, das sie geöffnet hat.',
  messages: {
    client_unknown: {
      title: 'Dieses Programm ist hier nicht bekannt',
      text: 'Unter dem Namen, den das Programm gesendet hat, ist kein Agent registriert. Bitten Sie die Betreiber dieses Dienstes, es zu registrieren.',
    },
    client_document_unavailable: {
      title: 'Dieses Programm konnte nicht geprüft werden',
      text: 'Die Beschreibung, die es über sich veröffentlicht, war nicht erreichbar. Bitte versuchen Sie es in einer Minute noch einmal.',
    },
    client_document_unusable: {
      title: 'Dieses Programm beschreibt sich falsch',
      text: 'Die Beschreibung, die es über sich veröffentlicht, ist hier nicht brauchbar. Das Protokoll dieses Dienstes sagt, warum. Bitte sagen Sie es den Betreibern.',
    },
    redirect_uri_not_registered: {
      title: 'Die Antwort ginge an eine unbekannte Adresse',
      text: 'Diese Adresse ist für das Programm nicht registriert, darum wurde nichts dorthin gesendet. Haben Sie das nicht selbst begonnen, ist der Link vielleicht falsch, den Sie geöffnet haben.',
    },
    malformed: { title: 'Diese Adresse ist nicht lesbar', text: 'Ein Teil davon fehlt oder wurde verändert.' },
    request_expired: {
      title: 'Diese Frage ist vorbei',
      text: 'Ihre Zeit lief ab, sie begann in einem anderen Browser, oder dieser Browser behält keine Cookies. Es wurde nichts erlaubt.',
    },
    already_allowed: {
      title: 'Das haben Sie schon erlaubt',
      text: 'Jede Frage nimmt eine Antwort an. Macht das Programm nicht weiter, beginnen Sie dort neu.',
    },
    already_refused: {
      title: 'Das haben Sie schon abgelehnt',
      text: 'Jede Frage nimmt eine Antwort an. Es wurde nichts erlaubt.',
    },
    ended: {
      title: 'Diese Frage ist beendet',
      text: 'Agenten wurden gestoppt, oder Ihre Anmeldung endete, bevor Sie geantwortet haben. Es wurde nichts erlaubt.',
    },
    replaced: {
      title: 'Neuere Fragen haben diese ersetzt',
      text: 'Zu viele Fragen warteten zugleich auf Sie, und die älteste endete. Es wurde nichts erlaubt.',
    },
    agent_disabled: {
      title: 'Dieser Agent ist abgeschaltet',
      text: 'Die Administration hat ihn abgeschaltet. Es wurde nichts erlaubt.',
    },
    sponsor_disabled: {
      title: 'Agenten dürfen nicht für Sie handeln',
      text: 'Ihre Organisation hat Agenten für Sie gesperrt, oder Sie haben sie pausiert. Es wurde nichts erlaubt.',
    },
    sponsor_not_found: {
      title: 'Ihre Organisation kennt Sie hier nicht',
      text: 'Darum dürfen Agenten nicht für Sie handeln. Bitte fragen Sie Ihre Administration.',
    },
    sponsor_status_unavailable: {
      title: 'Ihre Organisation antwortet nicht',
      text: 'Sie muss bestätigen, dass Agenten für Sie handeln dürfen, und hat es nicht getan. Bitte versuchen Sie es in einer Minute noch einmal.',
    },
    actor_not_named: {
      title: 'Ihre Organisation nennt einen anderen Agenten',
      text: 'Sie erlaubt diesem Agenten nicht, für Sie zu handeln. Bitte fragen Sie Ihre Administration.',
    },
    sign_in_other_person: {
      title: 'Zwei Personen haben sich angemeldet',
      text: 'Die Anmeldung Ihrer Organisation nannte zwei verschiedene Personen. Es wurde nichts erlaubt. Sagen Sie es Ihrer Administration.',
    },
    scope_intersection_empty: {
      title: 'Sie können diesem Agenten nichts geben',
      text: 'Sie haben keine der Berechtigungen, um die er bittet. Bitte fragen Sie Ihre Administration.',
    },
    audience_not_allowed: {
      title: 'Dort darf der Agent nicht handeln',
      text: 'Er ist nicht für den Dienst registriert, bei dem er handeln will. Es wurde nichts erlaubt.',
    },
    client_not_public: {
      title: 'Das Programm kann seinen Namen nicht beweisen',
      text: 'Dieser Dienst nimmt nur Programme an, die das können. Bitte fragen Sie Ihre Administration.',
    },
    subject_logged_out: {
      title: 'Sie wurden inzwischen abgemeldet',
      text: 'Ihre Organisation hat Ihre Anmeldung beendet. Es wurde nichts erlaubt.',
    },
    subject_keys_unavailable: {
      title: 'Die Anmeldung konnte nicht geprüft werden',
      text: 'Die Schlüssel Ihrer Organisation waren nicht erreichbar. Bitte versuchen Sie es in einer Minute noch einmal.',
    },
    token_refused: {
      title: 'Die Anmeldung reicht nicht für Agenten',
      text: 'Dieser Dienst kann nicht verwenden, was Ihre Organisation über Sie sagt. Es wurde nichts erlaubt. Sagen Sie es Ihrer Administration: Der Grund steht in den Aufzeichnungen dieses Dienstes.',
    },
    request_refused: {
      title: 'Das Programm bat um etwas, das nicht geht',
      text: 'Vielleicht hat sich inzwischen seine Registrierung geändert. Es wurde nichts erlaubt.',
    },
    sign_in_undated: {
      title: 'Ihre Organisation teilt nicht mit, wann Sie sich angemeldet haben',
      text: 'Um einen Agenten zu starten, müssen Sie zeigen, dass Sie sich gerade angemeldet haben. Bitte fragen Sie Ihre Administration.',
    },
    sign_in_too_old: {
      title: 'Sie haben sich nicht gerade angemeldet',
      text: 'Um einen Agenten zu starten, müssen Sie sich jetzt ausweisen. Ihre Organisation hat das nicht bestätigt.',
    },
    form_refused: {
      title: 'Es wurde nichts geändert',
      text: 'Die Antwort kam von einer anderen Seite oder aus einem anderen Browser.',
    },
  },
};
