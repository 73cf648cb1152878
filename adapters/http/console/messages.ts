/** Pages with one message: an error, or the end of a session. Each links to the operator's next step. */

import type { FieldError } from '../../../domain/field-error.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { SWITCHED_OFF_SENTENCE } from '../admin/operators.ts';
import { type Html, html } from '../browser/html.ts';
import type { Refusal } from './context.ts';
import { type Frame, renderDocument } from './layout.ts';
import { errorList } from './parts/words.ts';

interface Message {
  readonly title: string;
  readonly text: string;
  readonly to: string;
  readonly action: string;
}

const SIGN_IN = { to: '/sign-in', action: 'Sign in' };
const BEGIN = { to: '/sign-in', action: 'Begin again' };
const TRY = { to: '/sign-in', action: 'Try again' };
const NOW = { to: '/', action: 'Back to Now' };

const messages = {
  signed_out: {
    title: 'You are signed out here',
    text: 'The identity provider may still know you in this browser. The next sign-in then asks for nothing.',
    ...SIGN_IN,
  },
  signing_out: {
    title: 'You are signed out here',
    text: 'Now the identity provider ends its own session. If no page opens, follow the link.',
    to: '/sign-in',
    action: 'Sign out at the identity provider',
  },
  signed_out_everywhere: {
    title: 'You are signed out',
    text: 'The identity provider has sent you back here. If its page asked whether to sign you out and you did not agree, it still knows you in this browser.',
    ...SIGN_IN,
  },
  session_over: { title: 'Your session has ended', text: 'Nothing was changed. Sign in again.', ...SIGN_IN },
  several_sessions: {
    title: 'Your browser sends two sessions',
    text: 'One of them may come from another site, so neither is accepted. Delete the cookies of this site in the settings of your browser, or use another browser. Then sign in again.',
    to: '/',
    action: 'Try again',
  },
  sign_in_incomplete: {
    title: 'The sign-in was not finished',
    text: 'It took more than ten minutes, began in another browser, or this browser keeps no cookies.',
    ...BEGIN,
  },
  sign_in_superseded: {
    title: 'Another window began a sign-in',
    text: 'A browser can complete only the sign-in that it began last.',
    ...BEGIN,
  },
  sign_in_code_refused: {
    title: 'This sign-in is over',
    text: 'The identity provider no longer knows its code: it was used before, or took too long.',
    ...BEGIN,
  },
  sign_in_cancelled: {
    title: 'The sign-in was cancelled',
    text: 'You, or the identity provider for you, did not agree to it.',
    ...BEGIN,
  },
  login_required: {
    title: 'The identity provider did not ask you to sign in',
    text: 'It cannot sign you in without asking you. Begin again, and follow its pages to the end.',
    ...BEGIN,
  },
  sign_in_answer_refused: {
    title: 'The answer of the identity provider is incomplete',
    text: 'Part of it is missing, or it is meant for another service. The log of the service says more.',
    ...BEGIN,
  },
  sign_in_ended: {
    title: 'You were signed out meanwhile',
    text: 'The identity provider ended the sign-in before it was complete.',
    ...BEGIN,
  },
  id_token_refused: {
    title: 'The sign-in was refused',
    text: 'The ID token of the identity provider could not be accepted. The log of the service says why.',
    ...BEGIN,
  },
  account_refused: {
    title: 'Your account cannot use the console',
    text: 'The identity provider signed you in, but its ID token names no person. The log of the service says why.',
    ...BEGIN,
  },
  client_refused: {
    title: 'The identity provider refuses the console',
    text: 'It refuses the client of this service, not you. Look at its registration there. The log of the service has the error.',
    ...TRY,
  },
  sign_in_dpop_demanded: {
    title: 'The identity provider demands what the console cannot do',
    text: 'It demands a proof of a key (DPoP) of this client, not of you. Look at its registration there.',
    ...TRY,
  },
  no_role: {
    title: 'You have no role here',
    text: 'The identity provider knows you, but gives you none of the roles of this console. Ask who administers it.',
    ...SIGN_IN,
  },
  provider_unavailable: {
    title: 'The identity provider does not answer',
    text: 'No operator can sign in until it answers. Calls with the admin key still work.',
    ...TRY,
  },
  provider_unreadable: {
    title: 'The identity provider gave no usable answer',
    text: 'No operator can sign in until its answer can be read. Calls with the admin key still work. The log of the service says more.',
    ...TRY,
  },
  switched_off: {
    title: 'This is switched off',
    text: `${SWITCHED_OFF_SENTENCE} Nothing was changed. The attempt is recorded.`,
    ...NOW,
  },
  form_refused: {
    title: 'This form was not accepted',
    text: 'Nothing was changed: the form did not come from a page of your session. Open the page again.',
    ...NOW,
  },
  unknown_path: { title: 'There is no such page', text: 'The address is unknown, or what it names is gone.', ...NOW },
  malformed: { title: 'The address is malformed', text: 'It cannot be read.', ...NOW },
  storage_unavailable: {
    title: 'The database does not answer',
    text: 'Nothing is known about your last change: look before you repeat it.',
    to: '/',
    action: 'Try again',
  },
  fault: {
    title: 'Something went wrong here',
    text: 'The log of the service says what. Look before you repeat your last change.',
    ...NOW,
  },
  rate_limited: {
    title: 'Too many requests',
    text: 'Wait a few seconds, then open the page again. Nothing was changed.',
    to: '/',
    action: 'Try again',
  },
  overloaded: {
    title: 'The service is at its limit',
    text: 'Wait a few seconds, then open the page again. Nothing was changed.',
    to: '/',
    action: 'Try again',
  },
} as const satisfies Readonly<Record<string, Message>>;

export type MessageKind = keyof typeof messages;

/** The page `signing_out` opens its link. */
export function renderMessage(kind: MessageKind, signedIn?: Frame['signedIn'], toElsewhere?: string): string {
  const { title, text, to, action } = messages[kind];
  return renderDocument(
    { title, signedIn, opens: kind === 'signing_out' ? toElsewhere : undefined },
    html`<p>${text}</p>
<p><a class="button main" href="${toElsewhere ?? to}">${action}</a></p>`,
  );
}

/** @param needed the role that the screen or form needs */
export function renderMissingRole(needed: OperatorRole, signedIn: NonNullable<Frame['signedIn']>): string {
  const held = signedIn.holder.roles.map(roleName).join(', ');
  return renderDocument(
    { title: 'Your roles do not allow this', signedIn },
    html`<p>This needs the role <strong>${roleName(needed)}</strong>. You have: ${held === '' ? 'none' : held}. Your identity provider gives roles: ask who administers it, then sign in again.</p>
<p>Nothing was changed. The attempt is recorded.</p>
<p><a class="button main" href="/">Back to Now</a></p>`,
  );
}

/** The name of the role as the documentation writes it. */
function roleName(role: OperatorRole): string {
  return role.slice(0, 1).toUpperCase() + role.slice(1);
}

/** Says above a form why it was refused. */
export function refusalBanner(title: string, text: string, errors: readonly FieldError[]): Html {
  return html`<div class="banner fault" role="alert"><h2>${title}</h2>
<p>${text}</p>
${errors.length > 0 && errorList(errors)}</div>`;
}

/** @param back where the link leads */
export function renderRefusal(
  { title, text, errors = [] }: Refusal,
  back: string,
  signedIn: Frame['signedIn'],
): string {
  return renderDocument(
    { title, signedIn },
    html`<p>${text}</p>
${errors.length > 0 && errorList(errors)}
<p><a class="button main" href="${back}">Back</a></p>`,
  );
}
