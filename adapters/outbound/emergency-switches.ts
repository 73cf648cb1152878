/** The operator's switches of a running service, over its admin API: the commands `stop`, `block`, `unblock`, `agent disable`. */

import { AdminApiFailure, type EmergencySwitches, type StopTarget } from '../../application/ports/admin-api.ts';
import type { AgentId, SponsorKey } from '../../domain/identifiers.ts';
import { isJsonObject, type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import { type AdminAccess, type Ask, adminApi, type ReadAnswer, readProblem, unexpected } from './admin-api.ts';
import { readAgent } from './registration-json.ts';

/** The service ends tasks for 40 s at most, and may wait for a permit or a connection before. */
const TIMEOUT_MS = 90_000;
/** Each may last as long as the one before: an operator should hear of the failure within minutes. */
const MAX_ATTEMPTS = 5;
/** So few agents in a page, because a registration may be long. */
const AGENTS_IN_PAGE = 50;
const MAX_PAGES = 40;
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** @param reason why the operator acts. The service requires it with an access token, and ignores it with the admin key */
export function emergencySwitches(access: AdminAccess, reason: string | undefined): EmergencySwitches {
  const ask = adminApi(access);
  const changing = { reason, timeoutMs: TIMEOUT_MS, maxAttempts: MAX_ATTEMPTS };
  return {
    async stop(target) {
      let before = 0;
      const busy = (body: JsonObject) => {
        const ended = revokedTasks(body) ?? 0;
        before += ended;
        return ended > 0;
      };
      const answer = await ask('DELETE', pathOf(target), { ...changing, busy });
      if (answer.status === 404 && (target.kind === 'task' || target.kind === 'agent')) return { kind: 'not_found' };
      return { kind: 'ended', tasks: before + endedBy(answer) };
    },

    block: async (sponsorKey) => ({ tasks: endedBy(await ask('PUT', blockOf(sponsorKey), changing)) }),

    async unblock(sponsorKey) {
      const answer = await ask('DELETE', blockOf(sponsorKey), changing);
      switch (answer.status) {
        case 204:
          return (await isBlocked(ask, sponsorKey)) ? 'refused' : 'lifted';
        case 202:
          return 'pending';
        case 404:
          return 'not_blocked';
        case 409:
          return 'not_owned';
        default:
          throw refused(answer);
      }
    },

    async disable(agentId) {
      const answer = await ask('PATCH', agent(agentId), { ...changing, fields: { enabled: false } });
      if (answer.status === 404) return 'not_found';
      if (answer.status !== 200) throw refused(answer);
      return 'disabled';
    },

    async longestTokenTtl(agentId) {
      if (agentId !== undefined) {
        const answer = await ask('GET', agent(agentId));
        return answer.status === 200 ? readAgent(answer.body)?.maxTokenTtl : undefined;
      }
      let longest: number | undefined;
      let after = '';
      for (let page = 0; page < MAX_PAGES; page++) {
        const path = `/admin/agents?limit=${AGENTS_IN_PAGE}${after}`;
        const { status, body } = await ask('GET', path, { maxBytes: MAX_PAGE_BYTES });
        const agents = member(body, 'agents');
        if (status !== 200 || !Array.isArray(agents)) return undefined;
        for (const each of agents) {
          const ttl = isJsonObject(each) ? readAgent(each)?.maxTokenTtl : undefined;
          if (ttl === undefined) return undefined;
          longest = Math.max(longest ?? 0, ttl);
        }
        const next = member(body, 'next_after');
        if (typeof next !== 'string') return longest;
        after = `&after=${encodeURIComponent(next)}`;
      }
      return undefined;
    },
  };
}

/** Asked after a lift. @throws AdminApiFailure that says that the lift was made */
async function isBlocked(ask: Ask, sponsorKey: SponsorKey): Promise<boolean> {
  const path = `/admin/sponsors/${encodeURIComponent(sponsorKey)}`;
  const status = await ask('GET', path).then(
    (answer) => answer.status,
    (error: unknown) => {
      if (!(error instanceof AdminApiFailure)) throw error;
      return undefined;
    },
  );
  if (status === 200 || status === 404) return status === 200;
  throw new AdminApiFailure(
    "The operator's block is lifted. Whether another source still blocks the person could not be read.",
  );
}

function pathOf(target: StopTarget): string {
  switch (target.kind) {
    case 'task':
      return `/admin/tasks/${target.taskId}`;
    case 'agent':
      return `${agent(target.agentId)}/tasks`;
    case 'person':
      return `/admin/sponsors/${encodeURIComponent(target.sponsorKey)}/tasks`;
    case 'everything':
      return '/admin/tasks';
  }
}

function agent(agentId: AgentId): string {
  return `/admin/agents/${agentId}`;
}

function blockOf(sponsorKey: SponsorKey): string {
  return `/admin/sponsors/${encodeURIComponent(sponsorKey)}/block`;
}

function endedBy(answer: ReadAnswer): number {
  const ended = answer.status === 200 ? revokedTasks(answer.body) : undefined;
  if (ended === undefined) throw refused(answer);
  return ended;
}

function revokedTasks(body: JsonObject): number | undefined {
  const tasks = member(body, 'revoked_tasks');
  return Number.isSafeInteger(tasks) && Number(tasks) >= 0 ? Number(tasks) : undefined;
}

/** The service says why, for example which role the access token lacks. */
function refused(answer: ReadAnswer): AdminApiFailure {
  if (answer.status === 401) return new AdminApiFailure('The service does not accept this admin key or access token.');
  const [problem] = answer.status === 400 || answer.status === 403 ? readProblem(answer.body) : [];
  return problem === undefined ? unexpected(answer) : new AdminApiFailure(`The service refused: ${problem.sentence}`);
}
