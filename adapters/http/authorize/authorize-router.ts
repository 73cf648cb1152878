/**
 * `/oauth2/authorize`: a client sends a person here to start a task (RFC 6749 §3.1). This code is loaded only with
 * `Service:Authorize:ClientId`. application/authorization/begin.ts has the way of a request.
 *
 * request.ts reads the request, cookies.ts keeps it in the browser, page.ts has the pages, answers.ts writes them. No page and no log
 * has a code: it is only in the header of a redirect.
 */

import express, { type Request, type Response, type Router } from 'express';
import type { AnswerOutcome, FoundRequest, PersonsAnswer } from '../../../application/authorization/answer.ts';
import type { BeginOutcome, BegunSignIn } from '../../../application/authorization/begin.ts';
import type { ComeBackOutcome, KeptRequest, Return } from '../../../application/authorization/come-back.ts';
import type { AskedAuthorization } from '../../../application/authorization/judge-request.ts';
import { denied } from '../../../application/outcome.ts';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import type { Clock, Randomness, Sealing } from '../../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../../application/ports/telemetry.ts';
import { endChoices } from '../../../domain/authorization/end-choices.ts';
import { parseRequestId, type RequestId } from '../../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds, secondsBetween, toSeconds } from '../../../domain/instant.ts';
import type { AnonymousDenial } from '../../../domain/ledger/aggregation.ts';
import { purposeProblem } from '../../../domain/tasks/purpose.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { isBlank } from '../../../domain/visible.ts';
import { serveAssets } from '../browser/assets.ts';
import { formTokenOf } from '../browser/cookies.ts';
import { isOwnForm } from '../browser/own-form.ts';
import { PAGE_HEADERS, redirect } from '../browser/page-headers.ts';
import { readTypedBody } from '../message/body.ts';
import { neverStored, queryParameters } from '../message/head.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { FORM_TYPES } from '../oauth/form.ts';
import type { OptionalParameters } from '../oauth/optional-parameters.ts';
import { issuerPath } from '../routes.ts';
import { MAX_TARGET_LENGTH } from '../server/protocol-errors.ts';
import { type AnswerOptions, type Answers, answerWith } from './answers.ts';
import { browserSecrets, keepBrowserSecret, keepWay, makeWaySecrets, openWay, removeWay, signInOf } from './cookies.ts';
import {
  ANSWER,
  AUTHORIZE_PATH,
  awayAddress,
  type Chosen,
  LASTS,
  LOOK,
  PURPOSE,
  type QuestionView,
  SCOPE,
  script,
} from './page.ts';
import { keptParameters, readAuthorization, type SentParameter } from './request.ts';

export interface AuthorizeSurface extends AnswerOptions {
  begin(asked: AskedAuthorization, signIn: BegunSignIn, trace?: Trace, permit?: HeldPermit): Promise<BeginOutcome>;
  comeBack(kept: KeptRequest, back: Return, trace?: Trace, permit?: HeldPermit): Promise<ComeBackOutcome>;
  find(requestId: RequestId, secrets: readonly string[], trace?: Trace, permit?: HeldPermit): Promise<FoundRequest>;
  answer(
    requestId: RequestId,
    secret: string,
    answer: PersonsAnswer,
    trace?: Trace,
    permit?: HeldPermit,
  ): Promise<AnswerOutcome>;
  /** Records a refusal. The record has no agent and no person. */
  refuse(reason: AnonymousDenial['reason'], trace?: Trace): Promise<void>;
  readonly optionalParameters: OptionalParameters;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly sealing: Sealing;
  /** `Service:Authorize:RequestTtl`, in seconds. */
  readonly requestTtl: number;
  readonly log: Log;
}

export function authorizeRouter(surface: AuthorizeSurface): Router {
  const answers = answerWith(surface);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(neverStored);
  serveAssets(router, AUTHORIZE_PATH, [script]);
  // A program that only looks at an address begins no request, and uses up no code of the identity provider.
  router.head(['/', '/callback'], (_request, response) => {
    response.set(PAGE_HEADERS).end();
  });
  router
    .route('/')
    .get((request, response) => {
      const parameters = queryParameters(request.url);
      const asked = readAuthorization(parameters, surface.optionalParameters);
      return begin(surface, answers, { request, response }, parameters, asked);
    })
    .post(async (request, response) => {
      const parameters = await formParameters(request);
      if (parameters === 'gone') return;
      if (parameters === undefined) {
        await surface.refuse('invalid_request', request.trace);
        return answers.message(response, 400, 'malformed');
      }
      await takeForm(surface, answers, { request, response }, parameters);
    })
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/callback')
    .get((request, response) => comeBack(surface, answers, request, response))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/:requestId')
    .get((request, response) => showQuestion(surface, answers, request, response))
    .post((request, response) => takeAnswer(surface, answers, request, response))
    .all(methodNotAllowed('GET, HEAD, POST'));
  router.use(answers.faults);
  return router;
}

const BROWSER_SECRET_BYTES = 32;

interface Exchanged {
  readonly request: Request;
  readonly response: Response;
}

const TOO_LONG = denied('invalid_request', { detail: 'The request is too long.' });

/**
 * A request that came as a form begins when the browser comes again, by GET. Another site's form comes without this browser's
 * cookies (RFC 6265bis §5.6.7.1), so no older request would go: with each form the browser would keep one more, until its heads are
 * too long for every page of this service.
 */
async function takeForm(
  surface: AuthorizeSurface,
  answers: Answers,
  exchanged: Exchanged,
  parameters: readonly SentParameter[],
): Promise<void> {
  const asked = readAuthorization(parameters, surface.optionalParameters);
  if (asked.request.kind === 'denied') return begin(surface, answers, exchanged, parameters, asked);
  const pairs = keptParameters(parameters).map(({ name = '', value = '' }): [string, string] => [name, value]);
  const address = `${issuerPath(surface.issuer)}${AUTHORIZE_PATH}?${new URLSearchParams(pairs)}`;
  if (address.length <= MAX_TARGET_LENGTH) return redirect(exchanged.response, address, 303);
  await begin(surface, answers, exchanged, parameters, { ...asked, request: TOO_LONG });
}

/** The first step. @param parameters of the query or the form (RFC 6749 §3.1), and @param asked what they say */
async function begin(
  surface: AuthorizeSurface,
  answers: Answers,
  { request, response }: Exchanged,
  parameters: readonly SentParameter[],
  asked: AskedAuthorization,
): Promise<void> {
  const { randomness, clock } = surface;
  const beganAt = wholeSecond(clock.now());
  const secrets = makeWaySecrets(randomness);
  const outcome = await surface.begin(asked, signInOf(secrets, false), request.trace, request.permit);
  switch (outcome.kind) {
    case 'unaddressed':
      return answers.unaddressed(response, outcome.reason);
    case 'refused':
      return answers.refused(response, outcome.to, outcome.denial);
    case 'no_sign_in':
      return answers.ended(response, outcome.to, outcome.reason);
  }
  const { address, to, ends } = outcome;
  const way = { secrets, isSecond: false, beganAt, ends, parameters: keptParameters(parameters) };
  await sendToProvider(surface, answers, { request, response }, { way, address, to });
}

interface Sent {
  readonly way: Parameters<typeof keepWay>[2];
  readonly address: string;
  readonly to: Parameters<Answers['refused']>[1];
}

/** Gives the browser the request to keep, and sends it to the identity provider. */
async function sendToProvider(
  { sealing, requestTtl, clock, refuse }: AuthorizeSurface,
  answers: Answers,
  { request, response }: Exchanged,
  { way, address, to }: Sent,
): Promise<void> {
  const lasts = Math.max(secondsBetween(clock.now(), plusSeconds(way.beganAt, requestTtl)), 1);
  const cookies = keepWay(sealing, request.headers.cookie, way, lasts);
  if (cookies === undefined) {
    await refuse('invalid_request', request.trace);
    return answers.refused(response, to, TOO_LONG.denial);
  }
  response.append('Set-Cookie', [...cookies]);
  redirect(response, address, 303);
}

/** The second step: the identity provider sends the browser back. */
async function comeBack(
  surface: AuthorizeSurface,
  answers: Answers,
  request: Request,
  response: Response,
): Promise<void> {
  const { sealing, randomness, optionalParameters } = surface;
  const { cookie } = request.headers;
  const way = openWay(sealing, cookie, new URLSearchParams(queryOf(request)).get('state') ?? undefined);
  if (way === undefined) {
    await surface.refuse('request_expired', request.trace);
    return answers.over(response, { kind: 'expired' });
  }
  const { name, beganAt, ends, parameters, signIn } = way;
  const asked = readAuthorization(parameters, optionalParameters);
  const secrets = makeWaySecrets(randomness, name);
  const browserSecret = randomness.secret(BROWSER_SECRET_BYTES);
  const back = { query: queryOf(request), browserSecret, again: signInOf(secrets, true) };
  const outcome = await surface.comeBack({ asked, signIn, beganAt, ends }, back, request.trace, request.permit);
  if (outcome.kind === 'begun') {
    const again = { secrets, isSecond: true, beganAt, ends, parameters };
    return sendToProvider(surface, answers, { request, response }, { ...outcome, way: again });
  }
  if (outcome.kind === 'unavailable') {
    surface.log.error('the database could not answer', outcome.cause, traceFields(request.trace));
    return answers.message(response, 503, 'storage_unavailable', awayAddress(surface.issuer, outcome.to));
  }
  if (outcome.kind !== 'kept') {
    response.append('Set-Cookie', [...removeWay(cookie, name)]);
    if (outcome.kind === 'unaddressed') return answers.unaddressed(response, outcome.reason);
    return outcome.by === undefined
      ? answers.ended(response, outcome.to, outcome.reason)
      : answers.over(response, { kind: 'ended', reason: outcome.by }, outcome.to);
  }
  const lasts = Math.max(secondsBetween(surface.clock.now(), outcome.expiresAt), 1);
  const came = { secret: browserSecret, person: outcome.name };
  response.append('Set-Cookie', [...keepBrowserSecret(cookie, way, came, lasts)]);
  redirect(response, `${issuerPath(surface.issuer)}${AUTHORIZE_PATH}/${outcome.requestId}`, 303);
}

/** The third step: the page of the request. Without the browser's secret, its id opens nothing. */
async function showQuestion(
  surface: AuthorizeSurface,
  answers: Answers,
  request: Request<{ requestId: string }>,
  response: Response,
): Promise<void> {
  const found = await findOwn(surface, request);
  switch (found.kind) {
    case 'open':
      return answers.question(response, found);
    case 'over':
      return answers.over(response, found.why, found.to);
    case 'not_found':
      await surface.refuse('request_expired', request.trace);
      return answers.over(response, { kind: 'expired' });
  }
}

async function findOwn(
  surface: AuthorizeSurface,
  { params, headers, trace, permit }: Request<{ requestId: string }>,
): Promise<FoundRequest> {
  const requestId = parseRequestId(params.requestId);
  if (requestId === undefined) return { kind: 'not_found' };
  return surface.find(requestId, browserSecrets(headers.cookie), trace, permit);
}

/** The last step: the person's answer. */
async function takeAnswer(
  surface: AuthorizeSurface,
  answers: Answers,
  request: Request<{ requestId: string }>,
  response: Response,
): Promise<void> {
  const form = await formParameters(request as Request);
  if (form === 'gone') return;
  const found = await findOwn(surface, request);
  const requestId = parseRequestId(request.params.requestId);
  if (found.kind === 'not_found' || requestId === undefined) {
    await surface.refuse('request_expired', request.trace);
    return answers.over(response, { kind: 'expired' });
  }
  const { secret } = found;
  const given = form?.find(({ name }) => name === 'form_token')?.value;
  if (form === undefined || !isOwnForm(request as Request, surface.issuer, { given, expected: formTokenOf(secret) })) {
    await surface.refuse('invalid_form_token', request.trace);
    return answers.message(response, 403, 'form_refused');
  }
  const answer = readAnswer(
    form,
    found.kind === 'open'
      ? { asksPurpose: answers.asksPurpose(found), shortest: shortestEnd(surface, found) }
      : { asksPurpose: false, shortest: 0 },
  );
  if (answer.kind === 'malformed') return answers.message(response, 400, 'malformed');
  const again = (lacks?: QuestionView['lacks']) =>
    found.kind === 'open'
      ? answers.question(response, found, { lacks, chosen: chosenIn(form) })
      : answers.over(response, found.why, found.to);
  if (answer.kind === 'look') return again(answer.lacks);
  const outcome = await surface.answer(requestId, secret, answer, request.trace, request.permit);
  switch (outcome.kind) {
    case 'allowed':
      return answers.allowed(response, outcome.to, outcome.code);
    case 'refused':
      return answers.refused(response, outcome.to, { reason: 'consent_refused' });
    case 'nothing_chosen':
      return again('nothingChosen');
    case 'over':
      return answers.over(response, outcome.why, outcome.to);
    case 'not_found':
      return answers.over(response, { kind: 'expired' });
  }
}

/** Seconds of a longest task, in digits. */
const SECONDS = /^[1-9]\d{0,9}$/;

type ReadAnswer =
  | PersonsAnswer
  /** The page is shown again. */
  | { readonly kind: 'look'; readonly lacks?: QuestionView['lacks'] }
  /** The page sends no such fields. */
  | { readonly kind: 'malformed' };

/** Seconds: a task is never longer than its person chose. So a shorter end than those of the page is refused, not raised. */
function shortestEnd(
  { minTaskTtl }: AuthorizeSurface,
  { agent }: Extract<FoundRequest, { readonly kind: 'open' }>,
): number {
  return Math.min(...endChoices(agent.maxTaskTtl, minTaskTtl));
}

function readAnswer(
  form: readonly SentParameter[],
  { asksPurpose, shortest }: { readonly asksPurpose: boolean; readonly shortest: number },
): ReadAnswer {
  const [answer, ...more] = fieldsOf(form, ANSWER);
  const [lasts = '', ...others] = fieldsOf(form, LASTS);
  if (more.length > 0 || others.length > 0) return { kind: 'malformed' };
  if (answer === 'refuse') return { kind: 'refuse' };
  if (answer === LOOK) return { kind: 'look' };
  if (answer !== 'allow' || !SECONDS.test(lasts) || Number(lasts) < shortest) return { kind: 'malformed' };
  const allow = { kind: 'allow', scope: fieldsOf(form, SCOPE), lasts: Number(lasts) } as const;
  if (!asksPurpose) return { ...allow, purpose: undefined };
  const [purpose = ''] = fieldsOf(form, PURPOSE);
  if (isBlank(purpose)) return { kind: 'look', lacks: 'purposeMissing' };
  return purposeProblem(purpose) === undefined ? { ...allow, purpose } : { kind: 'malformed' };
}

function chosenIn(form: readonly SentParameter[]): Chosen {
  return { scopes: fieldsOf(form, SCOPE), lasts: fieldsOf(form, LASTS)[0], purpose: fieldsOf(form, PURPOSE)[0] };
}

function fieldsOf(form: readonly SentParameter[], wanted: string): readonly string[] {
  return form.flatMap(({ name, value }) => (name === wanted ? [value ?? ''] : []));
}

/** `gone`: the client disconnected. `undefined`: it is no form. */
async function formParameters(request: Request): Promise<readonly SentParameter[] | 'gone' | undefined> {
  const body = await readTypedBody(request, FORM_TYPES, 'The body must be a form.', 'any');
  if (body.kind === 'aborted') return 'gone';
  const text = body.kind === 'read' ? readUtf8(body.bytes) : undefined;
  return text === undefined ? undefined : queryParameters(`?${text}`);
}

function queryOf({ url }: Request): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start);
}

/** The cookie keeps whole seconds. */
function wholeSecond(at: Instant): Instant {
  return instantFromSeconds(toSeconds(at));
}
