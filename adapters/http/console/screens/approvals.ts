/**
 * *Approvals*: what people were asked, by person, agent and state, the newest first. Each links to its task, which has its other
 * words.
 */

import type { ComparedApproval } from '../../../../application/admin/list-approvals.ts';
import { type ApprovalState, approvalStates } from '../../../../domain/approvals/approval.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseAgentId, parseSponsorKey } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { describeDifference } from '../../../../domain/ledger/compared.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { type Html, html } from '../../browser/html.ts';
import { named, placeOf } from '../../browser/words.ts';
import { CURSOR, CURSOR_SENTENCE, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { agentPath, personPath, screenPaths, taskPath } from '../addresses.ts';
import type { Screen, ShowScreen } from '../context.ts';
import { approvalState } from '../parts/approvals.ts';
import { AGENT_ID_SENTENCE, notFound, readFilters, refusedFilters, type Typed } from '../parts/filters.ts';
import { type Listing, listForm, listLinks, listSummary } from '../parts/listing.ts';
import { readSuggestions, type Suggestions } from '../parts/suggestions.ts';
import { moment } from '../parts/times.ts';
import { wide } from '../parts/words.ts';

const FIELDS = ['sponsor', 'agent_id', 'state'] as const;
type Filters = Typed<(typeof FIELDS)[number]>;

const STATE_SENTENCE = `Must be one of ${approvalStates.join(', ')}.`;

function parseState(text: string): ApprovalState | undefined {
  return approvalStates.find((state) => state === text);
}

interface ApprovalsView {
  /** The filters in the address of the screen. */
  readonly filters: Filters;
  readonly approvals: readonly ComparedApproval[];
  readonly isFirst: boolean;
  /** `undefined` on the last page. */
  readonly nextCursor: string | undefined;
  readonly suggested: Suggestions;
  readonly now: Instant;
  /** By the later of the shared clocks. */
  readonly latest: Instant;
}

const LISTING: Listing = {
  path: screenPaths.approvals,
  plural: 'approvals',
  fields: [
    ['sponsor', 'Person (sponsor key)', 'people'],
    ['agent_id', 'Agent', 'agents'],
  ],
  states: approvalStates,
  anyState: true,
};

export function renderApprovals(view: ApprovalsView): Html {
  const { filters, approvals } = view;
  const what = filters.state === undefined ? 'approval' : `${filters.state} approval`;
  return html`${listForm(LISTING, filters, view.suggested)}
<p class="summary">${listSummary(approvals.length, what, view)} <span class="quiet">The words are those of the tool servers.</span></p>
${approvals.length > 0 && approvalTable(view)}
${listLinks(LISTING, filters, view)}`;
}

/** The first lines tell actions of one title apart. */
const LINES = 2;

function approvalTable({ approvals, ...times }: ApprovalsView): Html {
  return wide(
    'Approvals',
    html`<table><thead><tr><th scope="col">Action</th><th scope="col">State</th><th scope="col">Asked</th><th scope="col">Person</th><th scope="col">Agent</th><th scope="col">Tool server</th></tr></thead>
<tbody>${approvals.map((compared) => row(compared, times))}</tbody></table>`,
  );
}

function row(compared: ComparedApproval, times: Pick<ApprovalsView, 'now' | 'latest'>): Html {
  const { approvalId, taskId } = compared.row;
  const path = `${taskPath(taskId)}#${approvalId}`;
  if (compared.kind === 'differs') {
    return html`<tr><th scope="row"><a href="${path}"><code>${approvalId}</code></a></th>
<td colspan="5"><span class="warned">Not shown.</span> ${describeDifference(compared.difference)}</td></tr>`;
  }
  const { title, lines, requestedAt, sponsorKey, agentId, displayName, audience, says } = compared.row;
  return html`<tr><th scope="row"><a href="${path}">${named(title)}</a>${lines.slice(0, LINES).map(({ label, value }) => html`<br><span class="quiet">${named(label)}: ${named(value)}</span>`)}</th>
<td>${approvalState(compared.row, times)}${says && html`<br><span class="quiet">The person said: ${named(says.text)}</span>`}</td>
<td>${moment(requestedAt, times.now)}</td>
<td><a href="${personPath(sponsorKey)}">${named(sponsorKey)}</a></td>
<td>${displayName === undefined ? html`${named(agentId)} (removed)` : html`<a href="${agentPath(agentId)}">${named(displayName)}</a>`}</td>
<td class="address">${named(placeOf(audience))}</td></tr>`;
}

/** A page has no more approvals than a person can read. */
const APPROVALS_PER_PAGE = 100;

const showApprovals: ShowScreen = async (context, request) => {
  const { views, now } = context;
  if (views.listApprovals === undefined) {
    return notFound(
      'Approvals are off',
      'Tool servers may ask for none: Service:Approvals:Enabled is false.',
      screenPaths.now,
    );
  }
  const query = readFilters(request, [...FIELDS, CURSOR]);
  const filters = {
    sponsorKey: query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE),
    agentId: query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE),
    state: query.read('state', parseState, STATE_SENTENCE),
  };
  const cursor = query.read(CURSOR, parseListCursor, CURSOR_SENTENCE);
  const { [CURSOR]: _, ...typed } = query.typed;
  const suggested = await readSuggestions(context);
  const refused = (errors: typeof query.errors) =>
    refusedFilters(errors, screenPaths.approvals, listForm(LISTING, typed, suggested));
  if (query.errors.length > 0) return refused(query.errors);
  const { page, latest } = await views.listApprovals({ filters, limit: APPROVALS_PER_PAGE, cursor });
  if (page.kind === 'foreign_cursor') return refused(fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE));
  const { items: approvals, nextCursor } = page;
  return {
    body: renderApprovals({
      filters: typed,
      approvals,
      isFirst: cursor === undefined,
      nextCursor,
      suggested,
      now,
      latest,
    }),
  };
};

export const approvalsScreen = {
  path: screenPaths.approvals,
  title: 'Approvals',
  route: 'GET /admin/tasks',
  work: 'other',
  back: screenPaths.now,
  inNavigation: false,
  show: showApprovals,
} as const satisfies Screen;
