/** *People*: who is blocked and by whom; and one person, with blocks, live tasks, and the forms of a responder. */

import type { ListedTask, LiveTaskCount } from '../../../../application/ports/queries.ts';
import type { SponsorKey } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type BlockSource, blockSources, type SponsorBlock } from '../../../../domain/sponsors/block.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { personPath, stopPath } from '../addresses.ts';
import { form, reasonField, typedNameField } from '../layout.ts';
import { forms } from '../screens.ts';
import { moment } from '../times.ts';
import { amount } from './now.ts';
import { taskTable } from './task-table.ts';

const BY: Readonly<Record<BlockSource, string>> = {
  admin: 'operators (admin)',
  scim: 'provisioning (scim)',
  self: 'the person (self)',
  ssf: 'security events (ssf)',
};

export interface PeopleView {
  readonly now: Instant;
  /** The filter. */
  readonly source: BlockSource | undefined;
  readonly blocks: readonly SponsorBlock[];
  readonly nextCursor: string | undefined;
}

export function renderPeople({ now, source, blocks, nextCursor }: PeopleView): Html {
  return html`${personSearch(undefined)}
<section aria-labelledby="blocks"><div class="heading"><h2 id="blocks">Blocks</h2></div>
<ul class="filters" aria-label="Placed by">${[undefined, ...blockSources].map((each) => html`<li>${sourceLink(each, source)}</li>`)}</ul>
${
  blocks.length === 0
    ? html`<p class="quiet">No block${source !== undefined && html` by ${BY[source]}`}.</p>`
    : html`<div class="scroll" role="group" aria-labelledby="blocks" tabindex="0"><table><thead><tr><th scope="col">Person</th><th scope="col">Blocked by</th><th scope="col">Kind</th><th scope="col">Since</th></tr></thead>
<tbody>${blocks.map((block) => html`<tr><th scope="row"><a href="${personPath(block.sponsorKey)}"><bdi>${block.sponsorKey}</bdi></a></th><td>${BY[block.source]}</td><td>${block.kind}</td><td>${moment(block.blockedAt, now)}</td></tr>`)}</tbody></table></div>`
}
${nextCursor !== undefined && html`<nav class="pages" aria-label="Pages"><a class="button" href="/people?${new URLSearchParams({ ...(source && { source }), cursor: nextCursor }).toString()}">Next page</a></nav>`}
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

export interface PersonView {
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
    ? unblock(view, key)
    : html`<div class="card"><h3>Block</h3><p>No agent gets a token for this person until the block is lifted. ${blockEnds(live)}</p>
${form(formToken, forms.block.path, html`${key}${typedNameField('block-typed', sponsorKey)}${reasonField('block-reason')}<button class="danger">Block</button>`)}</div>`
}
</div></section>`;
}

function blockEnds({ tasks }: LiveTaskCount): string {
  return tasks === 0 ? 'No live task ends.' : `Ends ${amount(tasks)} live ${tasks === 1 ? 'task' : 'tasks'} now.`;
}

function unblock({ formToken, twoPersons, blocks }: PersonView, key: Insert): Html {
  const means =
    blocks.length > 1
      ? 'Agents still may not act for this person: the blocks of other sources stay, and each source lifts its own.'
      : 'Agents may act for this person again.';
  const two = twoPersons && ' It takes two operators: the block is lifted once a second one asks within an hour.';
  return html`<div class="card"><h3>Lift the operators' block</h3><p>${means}${two}</p>
${form(formToken, forms.unblock.path, html`${key}${reasonField('unblock-reason')}<button>Lift the block</button>`)}</div>`;
}
