/** The page on which a person answers a request, and the pages that say one thing. */

import type { OverReason } from '../../../application/authorization/answer.ts';
import type { AnswerAddress } from '../../../application/authorization/judge-request.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { redirectHost, withAnswer } from '../../../domain/agents/redirect-uri.ts';
import { answerError, isSignInDenial } from '../../../domain/authorization/answer-error.ts';
import type { Authorization } from '../../../domain/authorization/authorization.ts';
import { endChoices } from '../../../domain/authorization/end-choices.ts';
import { type DenialReason, describeDenial, type OAuthError } from '../../../domain/denial.ts';
import { type Instant, secondsBetween } from '../../../domain/instant.ts';
import type { SignInDenial } from '../../../domain/sign-in-denial.ts';
import { readAsset } from '../browser/assets.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import type { Language } from '../browser/language.ts';
import { documentOfPerson, personAssets } from '../browser/person-document.ts';
import { type ScopeWords, scopeInWords } from '../browser/scope-words.ts';
import { messages as germanMessages } from '../browser/texts/de.ts';
import { messages, type PersonMessage } from '../browser/texts/en.ts';
import { atMost } from '../browser/times.ts';
import { form, named, placeOf, statedByAgent } from '../browser/words.ts';
import { de } from './texts/de.ts';
import { en, type OwnMessage, type Texts } from './texts/en.ts';

export const AUTHORIZE_PATH = '/oauth2/authorize';

export const script = readAsset(import.meta.url, AUTHORIZE_PATH, 'authorize', 'js');

/** The fields of the form. Each scope that the person leaves is one of its fields. */
export const ANSWER = 'answer';
export const SCOPE = 'scope';
export const LASTS = 'lasts';
export const PURPOSE = 'purpose';
/** In place of an answer. */
export const LOOK = 'look';

export type MessageKind = OwnMessage | PersonMessage;

const texts: Readonly<Record<Language, Texts>> = { en, de };
const shared: Readonly<Record<Language, typeof messages>> = { en: messages, de: germanMessages };

/** The same on every page. */
export interface PageFrame {
  /** The path of the issuer. */
  readonly base: string;
  readonly language: Language;
}

export interface QuestionView {
  readonly request: Authorization;
  readonly agent: Agent;
  /** Whether only a key redeems the code. */
  readonly isProven: boolean;
  /** The name of the person; `undefined` if the provider gave none: then the sponsor key is shown. */
  readonly person: string | undefined;
  readonly formToken: string;
  readonly now: Instant;
  readonly scopeWords: ScopeWords;
  /** `Service:Agents:MinTaskTtl`, in seconds. */
  readonly minTaskTtl: number;
  /** Whether the person must say what the agent is for. */
  readonly asksPurpose: boolean;
  /** What the person has chosen so far; `undefined` on the first page. */
  readonly chosen?: Chosen | undefined;
  /** What an answer lacked. */
  readonly lacks?: 'nothingChosen' | 'purposeMissing' | undefined;
}

/** The fields of a form that gave no answer, as they came. */
export interface Chosen {
  readonly scopes: readonly string[];
  readonly lasts: string | undefined;
  readonly purpose: string | undefined;
}

/** @returns a whole document */
export function renderQuestion({ base, language }: PageFrame, view: QuestionView): string {
  const words = texts[language];
  const { request, agent } = view;
  const { sponsorKey } = request.person;
  const { mark } = personAssets;
  const body = html`<header>
<p><img src="${base}${mark.path}" alt=""><span>${words.signedInAs(named(view.person ?? sponsorKey))}</span></p>
</header>
<main id="main">
<h1>${words.asks(named(agent.displayName))}</h1>
${!view.isProven && html`<p class="banner warn">${words.unproven}</p>\n`}<dl class="asked">
<dt>${words.where}</dt><dd class="where">${named(placeOf(request.audience))}</dd>
<dt>${words.answerTo}</dt><dd class="where">${answerTo(request.redirectUri, words)}</dd>
${
  request.purpose !== undefined &&
  html`<dt>${words.purpose}</dt><dd>${statedByAgent(request.purpose)}<p class="quiet">${words.statedByAgent}</p></dd>
`
}</dl>
<div id="question" class="card">
${form(view.formToken, `${base}${AUTHORIZE_PATH}/${request.requestId}`, fieldsOf(view, words, language))}
</div>
<p class="quiet">${words.timeLeft(atMost(language, Math.max(secondsBetween(view.now, request.expiresAt), 1)))} ${stopAt(words, base)}</p>
${view.person !== undefined && view.person !== sponsorKey && html`<p class="quiet">${words.knownAs(named(sponsorKey))}</p>\n`}</main>
<script type="module" src="${base}${script.path}"></script>`;
  const skips = [['#question', words.skipToQuestion]] as const;
  return documentOfPerson({ base, language, title: words.title, skips }, body);
}

/**
 * What an answer lacked stands where the person mends it, and the focus is there: it needs no script, and a screen reader reads the sentence
 * with the field.
 */
function fieldsOf(view: QuestionView, words: Texts, language: Language): Html {
  const { request, lacks, chosen } = view;
  const lacksScope = lacks === 'nothingChosen';
  // Enter in a field presses the first button of the form (HTML §4.10.21.2). This one only shows the page again.
  return html`<button class="hidden" name="${ANSWER}" value="${LOOK}" tabindex="-1" aria-hidden="true"></button>
<fieldset aria-describedby="${lacksScope ? 'scope-lacks' : 'scope-means'}"><legend>${words.may}</legend>
${lacksScope ? html`<p class="banner warn" id="scope-lacks">${words.nothingChosen}</p>` : html`<p class="quiet" id="scope-means">${words.mayMeans}</p>`}
${request.offered.map(
  (scope, at) =>
    html`<label class="box"><input type="checkbox" name="${SCOPE}" value="${scope}"${(chosen?.scopes.includes(scope) ?? true) && html` checked`}${lacksScope && at === 0 && html` autofocus`}> ${scopeInWords(view.scopeWords, scope, language)}</label>\n`,
)}</fieldset>
<p><label for="lasts">${words.until}</label>
<select id="lasts" name="${LASTS}">${lengths(view, words, language)}</select></p>
${view.asksPurpose && purposeField(view, words)}<div class="choices">
<button class="main" name="${ANSWER}" value="allow">${words.allow}</button>
<button name="${ANSWER}" value="refuse" formnovalidate>${words.refuse}</button>
</div>`;
}

function purposeField({ lacks, chosen }: QuestionView, words: Texts): Html {
  const isLacking = lacks === 'purposeMissing';
  return html`<p><label for="purpose">${words.writePurpose}</label>
<input type="text" id="purpose" name="${PURPOSE}" value="${chosen?.purpose ?? ''}" maxlength="300" required autocomplete="off"${isLacking && html` autofocus aria-invalid="true"`} aria-describedby="${isLacking ? 'purpose-lacks purpose-seen' : 'purpose-seen'}"></p>
${isLacking && html`<p class="banner warn" id="purpose-lacks">${words.purposeMissing}</p>\n`}<p class="quiet" id="purpose-seen">${words.purposeIsSeen}</p>
`;
}

/** The agent's own limit is chosen at first, as at an exchange. */
function lengths({ agent, minTaskTtl, chosen }: QuestionView, words: Texts, language: Language): Insert {
  const choices = endChoices(agent.maxTaskTtl, minTaskTtl);
  const selected = choices.find((seconds) => String(seconds) === chosen?.lasts) ?? choices.at(-1);
  return choices.map((seconds, at) => {
    const isLongest = at === choices.length - 1;
    return html`<option value="${seconds}"${seconds === selected && html` selected`}>${isLongest && `${words.longest} `}${atMost(language, seconds)}</option>`;
  });
}

function answerTo(redirectUri: string, words: Texts): Html | string {
  const to = redirectHost(redirectUri);
  switch (to.kind) {
    case 'host':
      return named(to.host);
    case 'this_computer':
      return words.thisComputer;
    case 'scheme':
      return words.thisDevice(named(`${to.scheme}:`));
  }
}

/** @param back the address of the only link; without it the page has none */
export function renderMessage({ base, language }: PageFrame, kind: MessageKind, back?: string): string {
  const words = texts[language];
  const { title, text } = isShared(kind) ? shared[language][kind] : words.messages[kind];
  const body = html`<main id="main">
<h1>${title}</h1>
<p>${text}</p>
${back === undefined ? html`<p>${furtherWay(kind, words, base)}</p>` : html`<p class="pages"><a class="button main" href="${back}">${words.backToClient}</a></p>`}
</main>`;
  return documentOfPerson({ base, language, title, skips: [] }, body);
}

/** What to do on a page without a link to the client. After an answer there is nothing to begin again. */
function furtherWay(kind: MessageKind, words: Texts, base: string): Html {
  switch (kind) {
    case 'already_allowed':
      return stopAt(words, base);
    case 'already_refused':
      return html`${words.close}`;
    // A new beginning would end on the same page. The second one may be an attacker's request.
    case 'client_unknown':
    case 'redirect_uri_not_registered':
    case 'client_document_unusable':
      return html`${words.close}`;
    default:
      return html`${words.beginAgain}`;
  }
}

function stopAt(words: Texts, base: string): Html {
  return html`${words.stoppable} <a href="${base}/me">${words.toMe}</a>.`;
}

function isShared(kind: MessageKind): kind is PersonMessage {
  return Object.hasOwn(messages, kind);
}

/** The page for a reason that ends the way of a request after the sign-in. */
export function messageOf(reason: DenialReason | SignInDenial): MessageKind {
  if (Object.hasOwn(en.messages, reason)) return reason as OwnMessage;
  if (isSignInDenial(reason)) return reason as PersonMessage;
  // The client asked for it, or the provider's token says it. The record has the reason.
  return answerError(reason) === 'server_error' ? 'token_refused' : 'request_refused';
}

/** The page and the reason of a request that takes no answer. */
export function overMessage(why: OverReason): { readonly kind: MessageKind; readonly reason: DenialReason } {
  switch (why.kind) {
    case 'answered':
      return { kind: why.as === 'allowed' ? 'already_allowed' : 'already_refused', reason: 'request_expired' };
    case 'expired':
      return { kind: 'request_expired', reason: 'request_expired' };
    case 'denied':
      return { kind: messageOf(why.reason), reason: why.reason };
    case 'ended':
      if (why.reason === 'agent_disabled') return { kind: 'agent_disabled', reason: 'agent_disabled' };
      return { kind: why.reason === 'request_expired' ? 'replaced' : 'ended', reason: 'request_expired' };
  }
}

/** The address that tells the client of a refusal (RFC 6749 §4.1.2.1, RFC 9207 §2). */
export function refusalAddress(
  issuer: string,
  { redirectUri, state }: AnswerAddress,
  reason: DenialReason | SignInDenial,
  detail?: string,
): string {
  const sentence = isSignInDenial(reason) ? SIGN_IN_FAILED : describeDenial(reason).sentence;
  return withAnswer(redirectUri, {
    error: answerError(reason),
    error_description: detail ?? sentence,
    state,
    iss: issuer,
  });
}

/** The same while the database is away. */
export function awayAddress(issuer: string, { redirectUri, state }: AnswerAddress): string {
  const error: OAuthError = 'temporarily_unavailable';
  return withAnswer(redirectUri, { error, error_description: DATABASE_AWAY, state, iss: issuer });
}

const DATABASE_AWAY = 'The service could not reach its database. Start again.';
const SIGN_IN_FAILED = 'The person did not sign in at the identity provider.';
