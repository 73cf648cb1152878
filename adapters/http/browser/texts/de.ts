/** The same in German. */

import type { messages as english } from './en.ts';

export const messages: typeof english = {
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
  sign_in_dpop_demanded: {
    title: 'Ihre Organisation verlangt, was dieser Dienst nicht kann',
    text: 'Die Anmeldung Ihrer Organisation verlangt einen Nachweis, den dieser Dienst nicht erbringt. Mit Ihrem Konto ist alles in Ordnung. Sagen Sie es Ihrer Administration: Die Registrierung dieser Seite dort muss geändert werden.',
    action: 'Noch einmal versuchen',
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
};
