/** Reads what *Now* shows. */

import { recentDenials } from '../../../../application/admin/recent-denials.ts';
import type { Show } from '../asked.ts';
import { readFilters, refusedFilters } from '../filters.ts';
import { assets } from '../layout.ts';
import { renderLiveRecords } from './live-records.ts';
import { renderNow } from './now.ts';

/** The newest live tasks that *Now* shows. */
const NEWEST = 20;

export const showNow: Show = async (asked, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, '/');
  const { admin, audit, overview, now } = asked;
  const isAuditor = asked.may('auditor');
  const [live, newest, blocked, backlog, denials] = await Promise.all([
    overview.countLive(undefined),
    admin.listTasks({ filters: { state: 'live' }, limit: NEWEST, cursor: undefined }),
    overview.countBlocks(),
    overview.backlog(),
    isAuditor ? recentDenials((question) => audit.query(question), now) : undefined,
  ]);
  const body = renderNow({
    ...{ now, live, blocked, backlog, denials, hasSink: overview.hasSink, mayStop: asked.may('responder') },
    newest: newest.kind === 'page' ? newest.items : [],
    stream: isAuditor && renderLiveRecords(),
  });
  return { body, scripts: isAuditor ? [assets.stream] : [] };
};
