/** *People*: who is blocked and by whom; and one person, with blocks, live tasks, and the forms of a responder. */

import type { PendingLift } from '../../../../application/ports/sponsors.ts';
import type { ListedTask, LiveTaskCount } from '../../../../application/ports/tasks.ts';
import { type FieldError, fieldErrors } from '../../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../../domain/identifiers.ts';
import { type Instant, toMillisecondText } from '../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import type { ShownAct } from '../../../../domain/operators/operator-act.ts';
import {
  type BlockSource,
  blockSources,
  parseBlockSource,
  type SponsorBlock,
} from '../../../../domain/sponsors/block.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import type { FormField } from '../../browser/pages.ts';
import { form, named } from '../../browser/words.ts';
import { CURSOR, CURSOR_SENTENCE, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { approvalsPath, ledgerPath, personPath, screenPaths, stopPath, tasksPath, withQuery } from '../addresses.ts';
import type {
  ChangeByForm,
  ChangeResult,
  OverviewSurface,
  Screen,
  ScreenContext,
  Shown,
  ShowScreen,
} from '../context.ts';
import { actLines, actOfLift, actsFor, actsOf, quotedReason } from '../parts/acts.ts';
import { readFilters, refusedFilters } from '../parts/filters.ts';
import { reasonField, sponsorIn, typedInto, typedNameField, typedWrong } from '../parts/form-fields.ts';
import { readSuggestions, type Suggestions, suggestionList } from '../parts/suggestions.ts';
import { taskTable } from '../parts/task-table.ts';
import { moment } from '../parts/times.ts';
import { unknownPerson } from '../parts/unknown-names.ts';
import { amount, code, pages, wide } from '../parts/words.ts';

const BY: Readonly<Record<BlockSource, string>> = {
  admin: 'operators (admin)',
  scim: 'provisioning (scim)',
  self: 'the person (self)',
  ssf: 'security events (ssf)',
};

interface PeopleView {
  readonly now: Instant;
  /** The filter by who placed the blocks. */
  readonly source: BlockSource | undefined;
  /** The names that the search suggests. */
  readonly people: readonly string[];
  readonly blocks: readonly SponsorBlock[];
  readonly isFirst: boolean;
  readonly nextCursor: string | undefined;
}

function renderPeople({ now, source, people, blocks, isFirst, nextCursor }: PeopleView): Html {
  return html`${personSearch(undefined, people)}
<section aria-labelledby="blocks"><div class="heading"><h2 id="blocks">Blocks</h2></div>
<ul class="filters" aria-label="Placed by">${[undefined, ...blockSources].map((each) => html`<li>${sourceLink(each, source)}</li>`)}</ul>
${
  blocks.length === 0
    ? html`<p class="quiet">No block${source !== undefined && html` by ${BY[source]}`}.</p>`
    : wide(
        'Blocks',
        html`<table><thead><tr><th scope="col">Person</th><th scope="col">Blocked by</th><th scope="col">Kind</th><th scope="col">Since</th></tr></thead>
<tbody>${blocks.map((block) => html`<tr><th scope="row"><a href="${personPath(block.sponsorKey)}">${named(block.sponsorKey)}</a></th><td>${BY[block.source]}</td><td>${block.kind}</td><td>${moment(block.blockedAt, now)}</td></tr>`)}</tbody></table>`,
      )
}
${pages('Pages of blocks', {
  first: isFirst ? undefined : withQuery(screenPaths.people, { source }),
  next: nextCursor && withQuery(screenPaths.people, { source, cursor: nextCursor }),
})}
</section>`;
}

function sourceLink(source: BlockSource | undefined, current: BlockSource | undefined): Html {
  const [path, label] = [withQuery(screenPaths.people, { source }), source === undefined ? 'All' : BY[source]];
  return source === current
    ? html`<a href="${path}" aria-current="true">${label}</a>`
    : html`<a href="${path}">${label}</a>`;
}

function personSearch(typed: string | undefined, people: readonly string[]): Html {
  return html`<form class="search" method="get" action="${screenPaths.people}" role="search"><label for="sponsor">Person (sponsor key)</label>
<input id="sponsor" name="sponsor" required maxlength="256" list="people" autocomplete="off" autocapitalize="off" spellcheck="false" value="${typed ?? ''}"><button>Open</button></form>
${suggestionList('people', people)}`;
}

/** A block, and for those who may read it, who placed it and why. */
interface ExplainedBlock extends SponsorBlock {
  readonly acts: readonly ShownAct[];
}

/** The first of two operators who must ask to lift a block, and why: for a responder, who may be the second, and an auditor. */
type ExplainedLift =
  | { readonly kind: 'hidden'; readonly until: Instant }
  /** `act` is `undefined` if it was not found. */
  | ({ readonly kind: 'shown'; readonly act: ShownAct | undefined } & PendingLift);

/** A record about the person's blocks, and who asked for the change. */
interface ExplainedRecord {
  readonly record: LedgerRecord;
  readonly acts: readonly ShownAct[];
}

interface PersonView extends Pick<ScreenContext, 'now' | 'formToken'>, Pick<OverviewSurface, 'twoPersons'> {
  readonly sponsorKey: SponsorKey;
  readonly suggested: Suggestions;
  readonly blocks: readonly ExplainedBlock[];
  /** The newest records about the person's blocks, the newest first. `undefined` without the role to read them. */
  readonly history: readonly ExplainedRecord[] | undefined;
  readonly live: LiveTaskCount;
  /** The newest live tasks. */
  readonly newest: readonly ListedTask[];
  /** The warning if no task, block or record names the person. */
  readonly unknown: Html | undefined;
  readonly mayRespond: boolean;
  /** Whether tool servers may ask the person. */
  readonly hasApprovals: boolean;
  /** `undefined` without a first request. */
  readonly pending: ExplainedLift | undefined;
  typed(form: { readonly path: string }): FormField;
}

export function renderPerson(view: PersonView): Html {
  const { now, sponsorKey, blocks, pending, live, newest, mayRespond, unknown, suggested } = view;
  return html`${personSearch(sponsorKey, suggested.people)}
<section aria-labelledby="state"><div class="heading"><h2 id="state">${named(sponsorKey)}</h2></div>
${blocks.length > 0 ? blockBanner(view) : (unknown ?? html`<p>Not blocked: agents may act for this person.</p>`)}
${pending !== undefined && pendingBanner(pending, now)}
<p>${liveTasks(view)}${live.lastExpiry !== undefined && html`, the last ends ${moment(live.lastExpiry, now)}`}. <a href="${tasksPath({ sponsor: sponsorKey, state: 'revoked' })}">Revoked tasks</a>${view.hasApprovals && html` <a href="${approvalsPath({ sponsor: sponsorKey })}">Approvals</a>`}</p>
</section>
${mayRespond && responses(view)}
<section aria-labelledby="tasks"><div class="heading"><h2 id="tasks">Live tasks</h2>${newest.length < live.tasks && html`<span class="quiet">the newest ${newest.length}</span> <a href="${tasksPath({ sponsor: sponsorKey })}">All</a>`}</div>
${taskTable(newest, { now, mayStop: mayRespond })}
</section>
${historySection(view)}`;
}

function liveTasks({ sponsorKey, live }: PersonView): Html {
  const words = `${amount(live.tasks)} live ${live.tasks === 1 ? 'task' : 'tasks'}`;
  return live.tasks === 0 ? html`${words}` : html`<a href="${tasksPath({ sponsor: sponsorKey })}">${words}</a>`;
}

function blockBanner({ blocks, history, now }: PersonView): Html {
  const isExplained = blocks.some(({ acts }) => acts.length > 0);
  return html`<div class="banner bad"><p><strong>Blocked.</strong> No agent gets a token for this person.</p>
${blocks.map(
  ({ source, kind, blockedAt, acts }) =>
    html`<p>Blocked by ${BY[source]} as ${kind} since ${moment(blockedAt, now)}.</p>${actLines(acts, now)}`,
)}
${history === undefined && !isExplained && html`<p>Auditors can read who placed an operators’ block, and why.</p>`}</div>`;
}

function pendingBanner(lift: ExplainedLift, now: Instant): Html {
  const asked =
    lift.kind === 'hidden'
      ? "An operator has asked to lift the operators' block."
      : html`<strong title="${lift.issuer}">${named(lift.subject)}</strong> has asked to lift the operators' block, ${moment(lift.askedAt, now)}: ${quotedReason(lift.act)}`;
  return html`<div class="banner warn"><p>${asked}</p>
<p>A second, different operator must ask as well, until ${moment(lift.until, now)}.</p></div>`;
}

function historySection({ history, sponsorKey, now }: PersonView): Insert {
  if (history === undefined || history.length === 0) return undefined;
  return html`<section aria-labelledby="history"><h2 id="history">Blocks and lifts, the newest first</h2>
<ul class="points">${history.map(
    ({ record: { seq, at, event, decision, reason }, acts }) =>
      html`<li>${moment(at, now)} ${event === 'sponsor.blocked' ? 'Blocked' : 'Lift of a block'}: ${decision} ${code(reason ?? '')} <a href="${ledgerPath({ sponsor: sponsorKey, event, from: toMillisecondText(at), order: 'oldest' })}">record ${seq}</a>${actLines(acts, now)}</li>`,
  )}</ul></section>`;
}

function responses(view: PersonView): Html {
  const { sponsorKey, live, blocks, formToken } = view;
  const key = html`<input type="hidden" name="sponsor_key" value="${sponsorKey}">`;
  const isBlocked = blocks.some(({ source }) => source === 'admin');
  const typed = view.typed(peopleScreen.forms.block);
  return html`<section aria-labelledby="respond"><div class="heading"><h2 id="respond">Respond</h2></div><div class="cards">
${live.tasks > 0 && html`<div class="card"><h3>End tasks</h3><p>Ends all tasks. Agents may start new ones at once.</p><p><a class="button stop" href="${stopPath({ sponsor: sponsorKey })}">End ${amount(live.tasks)} ${live.tasks === 1 ? 'task' : 'tasks'} …</a></p></div>`}
${
  isBlocked
    ? liftForm(view, key)
    : html`<div class="card"><h3>Block</h3><p>No agent gets a token for this person until the block is lifted. ${blockEnds(live)}</p>
${form(formToken, peopleScreen.forms.block.path, html`${key}${typedNameField('block-typed', sponsorKey, typed)}${reasonField('block-reason', typed)}<button class="danger">Block</button>`)}</div>`
}
</div></section>`;
}

function blockEnds({ tasks }: LiveTaskCount): string {
  return tasks === 0 ? 'No live task ends.' : `Ends ${amount(tasks)} live ${tasks === 1 ? 'task' : 'tasks'} now.`;
}

function liftForm({ formToken, twoPersons, blocks, typed }: PersonView, key: Insert): Html {
  const means =
    blocks.length > 1
      ? 'Agents still may not act for this person: the blocks of other sources stay, and each source lifts its own.'
      : 'Agents may act for this person again.';
  const two = twoPersons && ' It takes two operators: the block is lifted once a second one asks within an hour.';
  return html`<div class="card"><h3>Lift the operators' block</h3><p>${means}${two}</p>
${form(formToken, peopleScreen.forms.unblock.path, html`${key}${reasonField('unblock-reason', typed(peopleScreen.forms.unblock))}<button>Lift the block</button>`)}</div>`;
}

const PAGE = 100;
/** The newest live tasks of one person. */
const NEWEST = 50;

const showPeople: ShowScreen = async (context, request) => {
  const query = readFilters(request, ['sponsor', 'source', CURSOR]);
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const source = query.read('source', parseBlockSource, `Must be one of ${blockSources.join(', ')}.`);
  const cursor = query.read(CURSOR, parseListCursor, CURSOR_SENTENCE);
  const isAmbiguous = sponsorKey !== undefined && (source !== undefined || cursor !== undefined);
  const errors = [...query.errors, ...(isAmbiguous ? fieldErrors('sponsor', 'Must be the only filter.') : [])];
  const suggested = await readSuggestions(context);
  const refused = (errors: readonly FieldError[]) =>
    refusedFilters(errors, screenPaths.people, personSearch(query.typed.sponsor, suggested.people));
  if (errors.length > 0) return refused(errors);
  if (sponsorKey !== undefined) return showPerson(context, sponsorKey, suggested);
  const page = await context.admin.listBlocks({ source, limit: PAGE, cursor });
  if (page.kind === 'foreign_cursor') return refused(fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE));
  const { items: blocks, nextCursor } = page;
  const people = [...new Set([...blocks.map(({ sponsorKey }) => sponsorKey), ...suggested.people])];
  return {
    body: renderPeople({ now: context.now, source, people, blocks, isFirst: cursor === undefined, nextCursor }),
  };
};

async function showPerson(context: ScreenContext, sponsorKey: SponsorKey, suggested: Suggestions): Promise<Shown> {
  const { admin, overview, views, now, formToken } = context;
  const [blocks, pending, live, newest] = await Promise.all([
    admin.findBlocks(sponsorKey),
    overview.twoPersons ? views.ports.sponsors.pendingLift(sponsorKey, await overview.earliest()) : undefined,
    overview.countLive({ sponsorKey }),
    admin.listTasks({ filters: { state: 'live', sponsorKey }, limit: NEWEST, cursor: undefined }),
  ]);
  const [explained, history, unknown] = await Promise.all([
    Promise.all(blocks.map(async (block) => ({ ...block, acts: await actsOfBlock(context, block, pending) }))),
    historyOf(context, sponsorKey),
    blocks.length === 0 && live.tasks === 0 ? unknownPerson(context, sponsorKey) : undefined,
  ]);
  const view = {
    now,
    sponsorKey,
    suggested,
    live,
    formToken,
    history,
    unknown,
    blocks: explained,
    mayRespond: context.may('responder'),
    hasApprovals: views.listApprovals !== undefined,
    twoPersons: overview.twoPersons,
    pending: pending && (await explainedLift(context, pending)),
    newest: newest.kind === 'page' ? newest.items : [],
    typed: (form: { readonly path: string }) => typedInto(context, form),
  };
  return { title: 'Person', body: renderPerson(view) };
}

async function explainedLift(context: ScreenContext, pending: PendingLift): Promise<ExplainedLift> {
  const mayRead = context.may('responder') || context.may('auditor');
  if (!mayRead) return { kind: 'hidden', until: pending.until };
  return { kind: 'shown', ...pending, act: await actOfLift(context, pending) };
}

/** The number of records that are searched for a block's: other sources may have placed theirs at the same time. */
const AT_ONCE = 5;

/**
 * Who placed an operators' block, and why: for an auditor. Also for a responder after a first request to lift it, who may be the
 * second of two operators, and decides by it.
 */
async function actsOfBlock(
  context: ScreenContext,
  block: SponsorBlock,
  pending: PendingLift | undefined,
): Promise<readonly ShownAct[]> {
  const mayRead = context.may('auditor') || (pending !== undefined && context.may('responder'));
  if (block.source !== 'admin' || !mayRead) return [];
  const { sponsorKey: sponsor, blockedAt: from } = block;
  const filters = { sponsor, event: 'sponsor.blocked', from, decision: 'allow' } as const;
  const page = await context.audit.query({ filters, limit: AT_ONCE, cursor: undefined });
  const records = page.kind === 'page' ? page.records : [];
  for (const record of records) {
    const acts = await actsFor(context, record);
    if (acts.length > 0) return acts;
  }
  return [];
}

/** The number of records of each event that the page shows. */
const HISTORY = 5;

async function historyOf(context: ScreenContext, sponsor: SponsorKey): Promise<readonly ExplainedRecord[] | undefined> {
  if (!context.may('auditor')) return undefined;
  const found = await Promise.all(
    (['sponsor.blocked', 'sponsor.unblocked'] as const).map(async (event) => {
      const filters = { sponsor, event, newestFirst: true };
      const page = await context.audit.query({ filters, limit: HISTORY, cursor: undefined });
      return page.kind === 'page' ? page.records : [];
    }),
  );
  const newestFirst = found.flat().sort((one, other) => other.at - one.at || other.seq - one.seq);
  return Promise.all(newestFirst.map(async (record) => ({ record, acts: await actsOf(context, record) })));
}

const block: ChangeByForm = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const mistyped = typedWrong(field, sponsorKey, personPath(sponsorKey));
  if (mistyped !== undefined) return mistyped;
  const { revokedTasks } = await admin.block(sponsorKey);
  return { kind: 'done', to: personPath(sponsorKey), notice: { kind: 'blocked', amount: revokedTasks } };
};

const toPerson = (field: FormField) => {
  const sponsorKey = parseSponsorKey(field('sponsor_key') ?? '');
  return sponsorKey && personPath(sponsorKey);
};

const unblock: ChangeByForm = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const to = personPath(sponsorKey);
  const verdict = await admin.unblock(sponsorKey);
  switch (verdict) {
    case 'lifted':
      return { kind: 'done', to, notice: { kind: 'unblocked', amount: 0 } };
    case 'pending':
      return { kind: 'done', to, notice: { kind: 'unblock_pending', amount: 0 } };
    case 'not_blocked':
      return refused(404, 'This person is not blocked', 'There is no block to lift.', verdict, to);
    case 'not_owned': {
      const text = 'No operator has blocked this person, and each source lifts only its own block.';
      return refused(409, 'This block is not the operators’', text, 'sponsor_block_not_owned', to);
    }
    case 'operator_is_sponsor': {
      const text =
        'You are the blocked person, or your ID token does not say who you are to agents: another operator must lift this block.';
      return refused(403, 'You may not lift this block', text, verdict, to);
    }
    case 'sign_in_too_old':
      throw new Error("only a person's own pause needs a recent sign-in");
  }
};

function refused(status: number, title: string, text: string, reason: string, back: string): ChangeResult {
  return { kind: 'refused', status, title, text: `Nothing was changed. ${text}`, reason, back };
}

export const peopleScreen = {
  path: screenPaths.people,
  title: 'People',
  route: 'GET /admin/sponsors',
  work: 'revoking',
  inNavigation: true,
  show: showPeople,
  forms: {
    block: {
      path: '/people/block',
      route: 'PUT /admin/sponsors/{sponsor_key}/block',
      work: 'revoking',
      back: toPerson,
      change: block,
    },
    unblock: {
      path: '/people/unblock',
      route: 'DELETE /admin/sponsors/{sponsor_key}/block',
      work: 'revoking',
      back: toPerson,
      change: unblock,
    },
  },
} as const satisfies Screen;
