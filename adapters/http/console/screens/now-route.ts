/** Reads what *Now* shows. */

import { recentDenials } from '../../../../application/admin/recent-denials.ts';
import { FORM_PAGE_HEADERS } from '../../browser/page-headers.ts';
import { answerInvalid } from '../../message/problem-details.ts';
import { readQuery } from '../../message/query.ts';
import type { Asked, Feed, Show } from '../asked.ts';
import { readFilters, refusedFilters } from '../filters.ts';
import { assets } from '../layout.ts';
import { renderLiveRecords } from './live-records.ts';
import { type NowView, renderNow, renderRenewed } from './now.ts';

/** The newest live tasks that *Now* shows. */
const NEWEST = 20;

export const showNow: Show = async (asked, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, '/');
  const isAuditor = asked.may('auditor');
  const body = renderNow(await readNow(asked), isAuditor && renderLiveRecords());
  return { body, scripts: isAuditor ? [assets.renewal, assets.stream] : [assets.renewal] };
};

/** The parts of *Now* that its script renews. */
export const renewNow: Feed = async (asked, request, response) => {
  const query = readQuery(request.originalUrl, []);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  response.set(FORM_PAGE_HEADERS).send(renderRenewed(await readNow(asked)).toString());
};

async function readNow({ admin, audit, overview, now, may }: Asked): Promise<NowView> {
  const [live, newest, blocked, backlog, denials] = await Promise.all([
    overview.countLive(undefined),
    admin.listTasks({ filters: { state: 'live' }, limit: NEWEST, cursor: undefined }),
    overview.countBlocks(),
    overview.backlog(),
    may('auditor') ? recentDenials((question) => audit.query(question), now) : undefined,
  ]);
  return {
    ...{ now, live, blocked, backlog, denials, hasSink: overview.hasSink, mayStop: may('responder') },
    newest: newest.kind === 'page' ? newest.items : [],
  };
}
