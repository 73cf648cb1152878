/** *People*: who is blocked and by whom; and one person, with blocks, live tasks, and the forms of a responder. */

import type { ListedTask, LiveTaskCount } from '../../../../application/ports/tasks.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import {
  type BlockSource,
  blockSources,
  parseBlockSource,
  type SponsorBlock,
} from '../../../../domain/sponsors/block.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { form } from '../../browser/words.ts';
import { CURSOR, CURSOR_SENTENCE, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { personPath, screenPaths, stopPath, withQuery } from '../addresses.ts';
import type { ChangeByForm, FormResult, Page, Screen, ScreenContext, ShowPage } from '../context.ts';
import { readFilters, refusedFilters } from '../parts/filters.ts';
import { reasonField, sponsorIn, typedNameField, typedWrong } from '../parts/form-fields.ts';
import { taskTable } from '../parts/task-table.ts';
import { moment } from '../parts/times.ts';
import { amount, pages, wide } from '../parts/words.ts';

const BY: Readonly<Record<BlockSource, string>> = {
  admin: 'operators (admin)',
  scim: 'provisioning (scim)',
  self: 'the person (self)',
  ssf: 'security events (ssf)',
};

interface PeopleView {
  readonly now: Instant;
  /** The filter. */
  readonly source: BlockSource | undefined;
  readonly blocks: readonly SponsorBlock[];
  readonly isFirst: boolean;
  readonly nextCursor: string | undefined;
}

function renderPeople({ now, source, blocks, isFirst, nextCursor }: PeopleView): Html {
  return html`${personSearch(undefined)}
<section aria-labelledby="blocks"><div class="heading"><h2 id="blocks">Blocks</h2></div>
<ul class="filters" aria-label="Placed by">${[undefined, ...blockSources].map((each) => html`<li>${sourceLink(each, source)}</li>`)}</ul>
${
  blocks.length === 0
    ? html`<p class="quiet">No block${source !== undefined && html` by ${BY[source]}`}.</p>`
    : wide(
        'Blocks',
        html`<table><thead><tr><th scope="col">Person</th><th scope="col">Blocked by</th><th scope="col">Kind</th><th scope="col">Since</th></tr></thead>
<tbody>${blocks.map((block) => html`<tr><th scope="row"><a href="${personPath(block.sponsorKey)}"><bdi>${block.sponsorKey}</bdi></a></th><td>${BY[block.source]}</td><td>${block.kind}</td><td>${moment(block.blockedAt, now)}</td></tr>`)}</tbody></table>`,
      )
}
${pages('Pages of blocks', {
  first: isFirst ? undefined : withQuery(screenPaths.people, { source }),
  next: nextCursor && withQuery(screenPaths.people, { source, cursor: nextCursor }),
})}
</section>`;
}

function sourceLink(source: BlockSource | undefined, current: BlockSource | undefined): Html {
  const [path, label] = source === undefined ? ['/people', 'All'] : [`/people?source=${source}`, BY[source]];
  return source === current
    ? html`<a href="${path}" aria-current="true">${label}</a>`
    : html`<a href="${path}">${label}</a>`;
}

function personSearch(sponsorKey: string | undefined): Html {
  return html`<form class="search" method="get" action="/people" role="search"><label for="sponsor">Person (sponsor key)</label>
<input id="sponsor" name="sponsor" required maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false" value="${sponsorKey ?? ''}"><button>Open</button></form>`;
}

interface PersonView {
  readonly now: Instant;
  readonly sponsorKey: SponsorKey;
  readonly blocks: readonly SponsorBlock[];
  readonly live: LiveTaskCount;
  /** The newest live tasks. */
  readonly newest: readonly ListedTask[];
  readonly mayRespond: boolean;
  /** Whether two operators must ask to lift a block. */
  readonly twoPersons: boolean;
  /** The time at which the first operator's request expires. `undefined` without a request. */
  readonly pendingUntil: Instant | undefined;
  readonly formToken: string;
}

export function renderPerson(view: PersonView): Html {
  const { now, sponsorKey, blocks, pendingUntil, live, newest, mayRespond } = view;
  const isBlocked = blocks.length > 0;
  return html`${personSearch(sponsorKey)}
<section aria-labelledby="state"><div class="heading"><h2 id="state"><bdi>${sponsorKey}</bdi></h2></div>
${
  isBlocked
    ? html`<ul class="points">${blocks.map((block) => html`<li>Blocked by ${BY[block.source]} as ${block.kind} since ${moment(block.blockedAt, now)}</li>`)}</ul>`
    : html`<p>Not blocked: agents may act for this person.</p>`
}
${pendingUntil !== undefined && html`<p class="banner warn">An operator has asked to lift the operators' block. A second, different one must ask as well, until ${moment(pendingUntil, now)}.</p>`}
<p>${amount(live.tasks)} live ${live.tasks === 1 ? 'task' : 'tasks'}${live.lastExpiry !== undefined && html`, the last ends ${moment(live.lastExpiry, now)}`}.</p>
</section>
${mayRespond && responses(view)}
<section aria-labelledby="tasks"><div class="heading"><h2 id="tasks">Live tasks</h2>${newest.length < live.tasks && html`<span class="quiet">the newest ${newest.length}</span>`}</div>
${taskTable(newest, { now, mayStop: mayRespond })}
</section>`;
}

function responses(view: PersonView): Html {
  const { sponsorKey, live, blocks, formToken } = view;
  const key = html`<input type="hidden" name="sponsor_key" value="${sponsorKey}">`;
  const isBlocked = blocks.some(({ source }) => source === 'admin');
  return html`<section aria-labelledby="respond"><div class="heading"><h2 id="respond">Respond</h2></div><div class="cards">
${live.tasks > 0 && html`<div class="card"><h3>End tasks</h3><p>Ends all tasks. Agents may start new ones at once.</p><p><a class="button stop" href="${stopPath({ sponsor: sponsorKey })}">End ${amount(live.tasks)} ${live.tasks === 1 ? 'task' : 'tasks'} …</a></p></div>`}
${
  isBlocked
    ? liftForm(view, key)
    : html`<div class="card"><h3>Block</h3><p>No agent gets a token for this person until the block is lifted. ${blockEnds(live)}</p>
${form(formToken, peopleScreen.forms.block.path, html`${key}${typedNameField('block-typed', sponsorKey)}${reasonField('block-reason')}<button class="danger">Block</button>`)}</div>`
}
</div></section>`;
}

function blockEnds({ tasks }: LiveTaskCount): string {
  return tasks === 0 ? 'No live task ends.' : `Ends ${amount(tasks)} live ${tasks === 1 ? 'task' : 'tasks'} now.`;
}

function liftForm({ formToken, twoPersons, blocks }: PersonView, key: Insert): Html {
  const means =
    blocks.length > 1
      ? 'Agents still may not act for this person: the blocks of other sources stay, and each source lifts its own.'
      : 'Agents may act for this person again.';
  const two = twoPersons && ' It takes two operators: the block is lifted once a second one asks within an hour.';
  return html`<div class="card"><h3>Lift the operators' block</h3><p>${means}${two}</p>
${form(formToken, peopleScreen.forms.unblock.path, html`${key}${reasonField('unblock-reason')}<button>Lift the block</button>`)}</div>`;
}

const PAGE = 100;
/** The newest live tasks of one person. */
const NEWEST = 50;

const showPeople: ShowPage = async (context, request) => {
  const query = readFilters(request, ['sponsor', 'source', CURSOR]);
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const source = query.read('source', parseBlockSource, `Must be one of ${blockSources.join(', ')}.`);
  const cursor = query.read(CURSOR, parseListCursor, CURSOR_SENTENCE);
  const isAmbiguous = sponsorKey !== undefined && (source !== undefined || cursor !== undefined);
  const errors = [...query.errors, ...(isAmbiguous ? fieldErrors('sponsor', 'Must be the only filter.') : [])];
  if (errors.length > 0) return refusedFilters(errors, '/people');
  if (sponsorKey !== undefined) return showPerson(context, sponsorKey);
  const page = await context.admin.listBlocks({ source, limit: PAGE, cursor });
  if (page.kind === 'foreign_cursor') return refusedFilters(fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE), '/people');
  const { items: blocks, nextCursor } = page;
  return { body: renderPeople({ now: context.now, source, blocks, isFirst: cursor === undefined, nextCursor }) };
};

async function showPerson(context: ScreenContext, sponsorKey: SponsorKey): Promise<Page> {
  const { admin, overview, now, formToken } = context;
  const [blocks, pendingUntil, live, newest] = await Promise.all([
    admin.findBlocks(sponsorKey),
    overview.twoPersons ? overview.sponsors.liftPendingUntil(sponsorKey, await overview.earliest()) : undefined,
    overview.countLive({ sponsorKey }),
    admin.listTasks({ filters: { state: 'live', sponsorKey }, limit: NEWEST, cursor: undefined }),
  ]);
  const view = {
    now,
    sponsorKey,
    blocks,
    live,
    formToken,
    mayRespond: context.may('responder'),
    twoPersons: overview.twoPersons,
    pendingUntil,
    newest: newest.kind === 'page' ? newest.items : [],
  };
  return { title: 'Person', body: renderPerson(view) };
}

const block: ChangeByForm = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const mistyped = typedWrong(field, sponsorKey, personPath(sponsorKey));
  if (mistyped !== undefined) return mistyped;
  const { revokedTasks } = await admin.block(sponsorKey);
  return { kind: 'done', to: personPath(sponsorKey), notice: { kind: 'blocked', amount: revokedTasks } };
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

function refused(status: number, title: string, text: string, reason: string, back: string): FormResult {
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
      change: block,
    },
    unblock: {
      path: '/people/unblock',
      route: 'DELETE /admin/sponsors/{sponsor_key}/block',
      work: 'revoking',
      change: unblock,
    },
  },
} as const satisfies Screen;
