/** The operator's switches of a running service, over its admin API: the commands `stop`, `block`, `unblock`, `agent disable`. */

import {
  AdminApiFailure,
  type EmergencySwitches,
  type StopTarget,
  type TargetLook,
} from '../../application/ports/admin-api.ts';
import type { AgentId, SponsorKey } from '../../domain/identifiers.ts';
import { isJsonObject, type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import { type AdminAccess, type Ask, adminApi, type ReadAnswer, readProblem, unexpected } from './admin-api.ts';
import { readAgent } from './registration-json.ts';

/** The service ends tasks for 40 s at most, and may wait for a permit or a connection before. */
const TIMEOUT_MS = 90_000;
/** Each may last as long as the one before: an operator should hear of the failure within minutes. */
const MAX_ATTEMPTS = 5;
/** After a change that has been made, an operator does not wait for a busy service to say more. */
const READING: { readonly maxAttempts: number; readonly timeoutMs?: number } = { maxAttempts: 1 };
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

    look: (target) => look(ask, target),

    hasEndedTasks: (target) => hasEndedTasks(ask, target),

    async longestTokenTtl(agentId) {
      if (agentId !== undefined) {
        const answer = await ask('GET', agent(agentId), READING);
        if (answer.status !== 200) return undefined;
        if (!mayHaveBelow(answer.body)) return readAgent(answer.body)?.maxTokenTtl;
      }
      let longest: number | undefined;
      let after = '';
      for (let page = 0; page < MAX_PAGES; page++) {
        const path = `/admin/agents?limit=${AGENTS_IN_PAGE}${after}`;
        const { status, body } = await ask('GET', path, { ...READING, maxBytes: MAX_PAGE_BYTES });
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

async function hasEndedTasks(ask: Ask, target: StopTarget, reading: typeof READING = READING): Promise<boolean> {
  for (const state of ['revoked', 'expired']) {
    const { status, body } = await ask('GET', `/admin/tasks?limit=1&state=${state}${filterOf(target)}`, reading);
    const tasks = member(body, 'tasks');
    // An answer that is not understood counts as a task: the operator then hears more, not less.
    if (status !== 200 || !Array.isArray(tasks) || tasks.length > 0) return true;
  }
  return false;
}

/** Before a change, which must not wait for a slow service. */
const LOOKING = { maxAttempts: 1, timeoutMs: 3000, maxBytes: MAX_PAGE_BYTES };
const LIVE_IN_PAGE = 1000;

async function look(ask: Ask, target: StopTarget): Promise<TargetLook> {
  const unknown = { live: undefined, peopleInstead: undefined };
  try {
    const path = `/admin/tasks?state=live&limit=${LIVE_IN_PAGE}`;
    const { status, body } = await ask('GET', `${path}${filterOf(target)}`, LOOKING);
    const tasks = member(body, 'tasks');
    if (status !== 200 || !Array.isArray(tasks)) return unknown;
    const live = {
      tasks: tasks.length,
      hasMore: typeof member(body, 'next_cursor') === 'string',
      mayHaveBelow:
        target.kind === 'agent' &&
        tasks.length > 0 &&
        mayHaveBelow((await ask('GET', agent(target.agentId), LOOKING)).body),
    };
    if (target.kind !== 'person' || live.tasks > 0 || live.hasMore) return { live, peopleInstead: undefined };
    const block = await ask('GET', `/admin/sponsors/${encodeURIComponent(target.sponsorKey)}`, LOOKING);
    if (block.status !== 404 || (await hasEndedTasks(ask, target, LOOKING))) return { live, peopleInstead: undefined };
    const others = await ask('GET', path, LOOKING);
    const blocks = await ask('GET', '/admin/sponsors?limit=1000', LOOKING);
    const people = [...keysIn(others.body, 'tasks'), ...keysIn(blocks.body, 'sponsors')];
    return { live, peopleInstead: [...new Set(people)] };
  } catch (error) {
    if (error instanceof AdminApiFailure) return unknown;
    throw error;
  }
}

/** With this member, tasks of other agents may be delegated from those of this one, and end with them. */
function mayHaveBelow(registration: JsonObject): boolean {
  return member(registration, 'delegates_to') !== undefined;
}

function keysIn(body: JsonObject, list: 'tasks' | 'sponsors'): readonly string[] {
  const items = member(body, list);
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => (isJsonObject(item) ? (textMember(item, 'sponsor_key') ?? []) : []));
}

/** Asked after a lift. @throws AdminApiFailure that says that the lift was made */
async function isBlocked(ask: Ask, sponsorKey: SponsorKey): Promise<boolean> {
  const path = `/admin/sponsors/${encodeURIComponent(sponsorKey)}`;
  const status = await ask('GET', path, READING).then(
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

function filterOf(target: StopTarget): string {
  if (target.kind === 'agent') return `&agent_id=${target.agentId}`;
  return target.kind === 'person' ? `&sponsor=${encodeURIComponent(target.sponsorKey)}` : '';
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
