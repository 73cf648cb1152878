/** Binds the console's reads to their ports. Its screens also use the use cases of the API. */

import { findExcessIn, readAgentBytes } from '../../adapters/cli/agent-files/read-agent-files.ts';
import { describeFileProblem } from '../../adapters/cli/yaml/yaml-file.ts';
import type { ViewsSurface } from '../../adapters/http/console/context.ts';
import { nearest } from '../../adapters/platform/nearest.ts';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { compareDeclarations } from '../../application/admin/compare-declarations.ts';
import { findDelegations } from '../../application/admin/find-delegations.ts';
import { listApprovals } from '../../application/admin/list-approvals.ts';
import { nearestNames } from '../../application/admin/nearest-names.ts';
import { judgeDraft } from '../../application/admin/register-agent.ts';
import { CERTAIN_RULES, draftOf } from '../../domain/agents/declaration.ts';
import { comparePerson } from '../../domain/approvals/approval-records.ts';
import type { Parts } from '../parts.ts';
import { registrationRules } from '../settings/registration-rules.ts';

/**
 * All other requests wait while a file is parsed: some 100 ms for this many tokens. They are enough for some 50 agents.
 */
const COMPARED_AT_ONCE = { tokens: 4000, escapes: 1000, aliases: 20 };

export function consoleViews(parts: Parts): ViewsSurface {
  const { settings, agentKeys, clockWatch: sharedTime } = parts;
  const rules = registrationRules(settings);
  const { lifetimes } = rules;
  const keysAreSubjects = settings['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub';
  const { tasks, agents, sponsors, approvals } = parts.storage;
  return {
    nearest: (what, typed) => nearestNames({ tasks, agents, sponsors, sharedTime, nearest }, what, typed),
    ports: parts.storage,
    longestTokenTtl: lifetimes.maxTokenTtl,
    approvalsOf: settings['Service:Approvals:Enabled']
      ? async (taskId, limit) => {
          const stored = await approvals.ofTask(taskId, limit);
          const newest = stored.map((compared) => comparePerson(compared, keysAreSubjects));
          return { newest, latest: await sharedTime.latest() };
        }
      : undefined,
    listApprovals: settings['Service:Approvals:Enabled']
      ? (question) => listApprovals({ approvals, sharedTime, digest: sha256, keysAreSubjects }, question)
      : undefined,
    delegations: (question) => findDelegations({ tasks, sharedTime, maxTaskTtl: lifetimes.maxTaskTtl }, question),
    async compare(file, bytes) {
      const excess = findExcessIn(file, bytes, COMPARED_AT_ONCE);
      if (excess !== undefined) return { kind: 'too_much', problem: describeFileProblem(excess) };
      // The rules of every service, as `mandate agent apply` checks a file; this service's own rules come after.
      const judge = { agentKeys, rules: CERTAIN_RULES };
      const read = await readAgentBytes(file, bytes, (declaration) => judgeDraft(judge, draftOf(declaration)));
      if (read.kind === 'wrong') return { kind: 'wrong', problems: read.problems.map(describeFileProblem) };
      return { kind: 'compared', agents: await compareDeclarations({ agents, agentKeys, rules }, read.agents) };
    },
  };
}
