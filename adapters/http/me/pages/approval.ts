/** The page of one approval, with the person's yes or no; and the questions that wait, which the first page shows too. */

import type { MyTask } from '../../../../application/me/my-tasks.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { type ApprovalId, parseApprovalId, type TaskId } from '../../../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../../../domain/instant.ts';
import type { MePerson } from '../../../../domain/sponsors/me-person.ts';
import { type Html, html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import type { FormField } from '../../browser/pages.ts';
import type { Skip } from '../../browser/person-document.ts';
import { atMost } from '../../browser/times.ts';
import { named, placeOf } from '../../browser/words.ts';
import { agentName } from '../agent-name.ts';
import {
  HOME,
  MALFORMED,
  type MeContext,
  type MePage,
  type MePages,
  type Outcome,
  personView,
  unknownTo,
} from '../context.ts';
import { APPROVAL_PATH, approvalAddress, approvalSignIn, SIGN_IN } from '../cookies.ts';
import { form, pageLinks, pageOfPerson, texts } from '../frame.ts';
import type { Message } from '../message.ts';
import { COMMITMENT, DECISION, REASON, readAnswer } from '../parameters.ts';
import type { MyApprovals, PageSurface } from '../surface.ts';
import { purposeOf } from '../task-parts.ts';
import type { Texts } from '../texts/en.ts';
import { moment } from '../times.ts';
import type { PersonView } from '../view.ts';
import { outcomeOf } from './settled.ts';
import { taskAddress } from './task.ts';
import { refusalForm, saidWhy, type WhyNot, whyNotField } from './why-not.ts';

/** What a question and its buttons need. */
interface Answerable extends Pick<PersonView, 'base' | 'formToken' | 'now' | 'holds'> {
  /** The tasks of the approvals. */
  readonly tasks: ReadonlyMap<TaskId, MyTask>;
  /** Whether the person signed in lately enough to approve. */
  readonly mayApprove: boolean;
  /** The field for the line with a no, on the page of the question. `undefined` in a list, which links to that page. */
  readonly whyNot?: WhyNot | undefined;
}

/** The approvals that wait for a person. */
export interface WaitingView extends Answerable {
  /** The oldest first. Empty without approvals, and on a later page of agents. */
  readonly waiting: readonly TaskApproval[];
  /** How many more wait that cannot be shown: their rows are not as the ledger has them. */
  readonly altered: number;
}

/** An approval in any state. */
export interface ApprovalView extends PersonView, Answerable {
  readonly approval: TaskApproval;
}

/** @returns a whole document */
export function renderApproval(view: ApprovalView, language: Language): string {
  const words = texts[language];
  const { base, approval } = view;
  const { state } = approval;
  const skips: readonly Skip[] = [['#approvals', words.skipToQuestion]];
  const shown = html`${pageLinks([[`${base}/me`, words.back]])}
<section aria-labelledby="approval">
<div class="heading"><h2 id="approval">${state === 'pending' ? words.waiting : words.answered[outcomeOf(approval)]}</h2></div>
<div class="card">${approvalCard(view, approval, words, language)}</div>
</section>`;
  const approvals = { version: versionOf(view, [approval]), shown };
  const address = view.whyNot?.isRefused ? `${base}${approvalAddress(approval.approvalId)}` : undefined;
  const content = { title: words.waiting, heading: words.title, approvals, renewed: undefined, skips, address };
  return pageOfPerson(view, language, content);
}

/** The approvals that wait. */
export function waitingApprovals(view: WaitingView, words: Texts, language: Language) {
  const { waiting, altered } = view;
  const cards = waiting.map((approval) => html`<li class="card">${approvalCard(view, approval, words, language)}</li>`);
  const shown = html`<section aria-labelledby="waiting">
<div class="heading"><h2 id="waiting">${words.waiting}</h2></div>
${altered > 0 && html`<div class="banner warn"><p>${words.alteredQuestions(altered)}</p></div>`}<ul>${cards}</ul>
</section>`;
  const isShown = waiting.length + altered > 0;
  const skips: readonly Skip[] = [['#approvals', words.skipToWaiting, isShown]];
  return { version: `${versionOf(view, waiting)} ${altered}`, shown: isShown && shown, skips };
}

/** Changes with the choices that the person has. The words of an approval never change. */
function versionOf({ formToken, mayApprove }: Answerable, approvals: readonly TaskApproval[]): string {
  const states = approvals.map(({ approvalId, state }) => `${approvalId}-${state}`);
  return [formToken, mayApprove ? 'fresh' : 'old', ...states].join(' ');
}

/**
 * The words of the tool server are a quotation, so that none of them looks like a word of this page. A browser does not
 * translate them: the person agrees to these words.
 */
function approvalCard(view: Answerable, approval: TaskApproval, words: Texts, language: Language): Html {
  const { approvalId, taskId, title, lines, requestedAt, state } = approval;
  const task = view.tasks.get(taskId);
  const where = named(placeOf(approval.audience));
  const said = saidWhy(approval, words);
  return html`<div id="${approvalId}"><h3>${words.asks(agentName(approval, words), where)}</h3>
<p class="quiet">${words.statedBy(where)}</p>
<blockquote class="stated action">
<p><strong>${named(title)}</strong></p>
${lines.length > 0 && html`<dl>${lines.map(({ label, value }) => html`<dt>${named(label)}</dt><dd>${named(value)}</dd>`)}</dl>`}
</blockquote>
<dl>${task && aboutTask(task, view, words, language)}<dt>${words.asked}</dt><dd>${moment(language, requestedAt, view.now)}</dd>
${times(view, approval, words).map(([label, at]) => html`<dt>${label}</dt><dd>${moment(language, at, view.now)}</dd>`)}${said && html`<dt>${said[0]}</dt><dd>${said[1]}</dd>`}</dl>
<p><a href="${view.base}${taskAddress(taskId)}">${words.openTask}<span class="hidden">: ${named(title)}</span></a></p>
${state === 'pending' && choices(view, approval, words, language)}</div>`;
}

/** Why the agent has the task, as it says, and since when. */
function aboutTask(task: MyTask, { now }: Answerable, words: Texts, language: Language): Html {
  const purpose = purposeOf(task, words);
  return html`${purpose !== undefined && purpose !== false && html`<dt>${words.taskPurpose}</dt><dd>${purpose}</dd>`}<dt>${words.taskSince}</dt><dd>${moment(language, task.startedAt, now)}</dd>
`;
}

/** When an answer is due, or was given, and how long it holds. */
function times(
  { now, holds }: Answerable,
  { state, decidedAt, expiresAt }: TaskApproval,
  words: Texts,
): readonly (readonly [label: string, at: Instant])[] {
  if (state === 'pending') return [[words.answerUntil, expiresAt]];
  if (decidedAt === undefined) return [];
  const answered = [words.answeredAt, decidedAt] as const;
  if (state === 'granted') return [answered, [words.yesUntil, expiresAt]];
  const noUntil = state === 'refused' && holds !== undefined ? plusSeconds(decidedAt, holds.no) : now;
  return noUntil > now ? [answered, [words.noUntil, noUntil]] : [answered];
}

function choices(view: Answerable, approval: TaskApproval, words: Texts, language: Language): Html {
  const { approvalId, title } = approval;
  const about = html`<span class="hidden">: ${named(title)}</span>`;
  // A form cannot lead to the sign-in: the provider's origin is not in the policy.
  const yes = view.mayApprove
    ? answerForm(
        view,
        approval,
        'approve',
        html`<button class="main" id="yes-${approvalId}">${words.yes}${about}</button>`,
      )
    : html`<a class="button main" id="yes-${approvalId}" href="${view.base}${approvalSignIn(approvalId, 'fresh')}">${words.signInForYes}${about}</a>`;
  const no = answerForm(view, approval, 'refuse', html`<button id="no-${approvalId}">${words.no}${about}</button>`);
  const why = view.whyNot
    ? whyNotField(approvalId, view.whyNot, words)
    : html`<p><a href="${view.base}${approvalAddress(approvalId)}">${words.sayWhyNot}${about}</a></p>
`;
  const [yesHolds, noHolds] = [view.holds?.yes ?? 0, view.holds?.no ?? 0].map((seconds) => atMost(language, seconds));
  return html`<p class="quiet">${words.yesMeans(yesHolds ?? '', noHolds ?? '')}${!view.mayApprove && ` ${words.signInForYesMeans}`}</p>
${why}<div class="choices">${yes}${no}</div>`;
}

function answerForm(view: Answerable, approval: TaskApproval, decision: 'approve' | 'refuse', button: Html): Html {
  const { approvalId, commitment } = approval;
  const fields = html`<input type="hidden" name="${DECISION}" value="${decision}"><input type="hidden" name="${COMMITMENT}" value="${commitment}">${button}`;
  const id = decision === 'refuse' ? refusalForm(approvalId) : undefined;
  return form(view, `${approvalAddress(approvalId)}/answer`, fields, id);
}

/** The person's approvals that wait, with their tasks. None on a later page of agents. */
export async function findWaiting(
  surface: Pick<PageSurface, 'approvals' | 'tasksById'>,
  person: MePerson,
  isFirst: boolean,
): Promise<Pick<WaitingView, 'waiting' | 'altered' | 'tasks'>> {
  const found = isFirst ? await surface.approvals?.list(person) : undefined;
  const { waiting, altered } = found ?? { waiting: [], altered: 0 };
  const taskIds = waiting.map(({ taskId }) => taskId);
  return { waiting, altered, tasks: await surface.tasksById(person, taskIds) };
}

function unknownApproval(context: MeContext, approvalId: ApprovalId | undefined): Message {
  return unknownTo(context, 'unknown_approval', approvalId && approvalSignIn(approvalId, 'other'));
}

const ALTERED: Message = { status: 409, kind: 'altered' };

async function answer(
  approvals: MyApprovals,
  context: MeContext,
  field: FormField,
  { approvalId: text }: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  const approvalId = parseApprovalId(String(text));
  const [decision, commitment, line] = [DECISION, COMMITMENT, REASON].map(field);
  const given = readAnswer({
    [DECISION]: decision ?? '',
    [COMMITMENT]: commitment ?? '',
    ...(line !== undefined && { [REASON]: line }),
  });
  if (approvalId === undefined) return { kind: 'refused', message: unknownApproval(context, undefined) };
  if ('errors' in given) {
    const isOnlyLine = decision === 'refuse' && given.errors.every((error) => error.field === REASON);
    if (!isOnlyLine) return { kind: 'refused', message: MALFORMED };
    const shown = await showApproval(approvals, context, approvalId, { typed: line ?? '', isRefused: true });
    return 'document' in shown ? { kind: 'refused', ...shown } : { kind: 'refused', message: shown };
  }
  const verdict = await approvals.answer(context.person, { approvalId, ...given });
  switch (verdict) {
    case 'granted':
      return { kind: 'done', to: HOME, notice: { kind: 'approved', amount: 0, about: approvalId } };
    case 'refused':
      return { kind: 'done', to: HOME, notice: { kind: 'declined', amount: 0, about: approvalId } };
    case 'sign_in_too_old':
      return { kind: 'done', to: approvalAddress(approvalId) };
    case 'not_found':
      return { kind: 'refused', message: unknownApproval(context, approvalId) };
    case 'altered':
    case 'other_words':
    case 'not_waiting':
      return { kind: 'refused', message: { status: 409, kind: verdict } };
  }
}

async function showApproval(
  approvals: MyApprovals,
  context: MeContext,
  approvalId: ApprovalId | undefined,
  whyNot: WhyNot,
): Promise<MePages['shown']> {
  const approval = approvalId && (await approvals.find(context.person, approvalId));
  if (approval === undefined) return unknownApproval(context, approvalId);
  if (approval === 'altered') return ALTERED;
  const [page, tasks, mayApprove] = await Promise.all([
    personView(context),
    context.surface.tasksById(context.person, [approval.taskId]),
    approvals.mayApprove(context.person),
  ]);
  const view = { ...page, approval, tasks, mayApprove, whyNot };
  return { document: renderApproval(view, context.language) };
}

/** The page exists only with `Service:Approvals:Enabled`. */
export const approvalPage = (approvals: MyApprovals): MePage => ({
  path: APPROVAL_PATH,
  isForBrowsersOnly: true,
  signIn(params) {
    const approvalId = parseApprovalId(String(params.approvalId));
    return approvalId === undefined ? SIGN_IN : approvalSignIn(approvalId, 'any');
  },
  show: (context, { params }) =>
    showApproval(approvals, context, parseApprovalId(String(params.approvalId)), { typed: '', isRefused: false }),
  forms: {
    answer: {
      path: `${APPROVAL_PATH}/answer`,
      change: (context, field, params) => answer(approvals, context, field, params),
    },
  },
});
