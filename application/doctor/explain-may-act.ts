/** Says for which agents a person's access token is, if `Service:UpstreamIdp:MayAct` heeds its `may_act`. */

import type { Agent } from '../../domain/agents/agent.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { judgeMayAct, type MayAct, type MayActMode, readMayAct } from '../../domain/sponsors/may-act.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { textMember } from '../../domain/tokens/strict-json.ts';
import { type Finding, failed, ok, skipped } from './examine.ts';
import { quoteSafely } from './quote.ts';

export interface MayActSources {
  /** `Service:UpstreamIdp:MayAct`. */
  readonly mayAct: MayActMode;
  /** The issuers whose actors can be agents of the service, as far as they are known. */
  readonly actorIssuers: readonly string[];
  /** `Service:UpstreamIdp:SponsorKeyClaim`. */
  readonly sponsorKeyClaim: string;
  /** All registered agents; `undefined` if the database does not answer. */
  readonly agents: () => Promise<readonly Agent[] | undefined>;
}

interface ExplainedMayAct {
  readonly finding: Finding;
  /** Why the token would be refused, whichever agent presents it. */
  readonly reason: DenialReason | undefined;
}

/** The finding names at most this many agents. */
const MAX_NAMED = 20;

/** `undefined` if the service ignores the claim. */
export async function explainMayAct(sources: MayActSources, claims: Claims): Promise<ExplainedMayAct | undefined> {
  const { mayAct: mode, actorIssuers } = sources;
  if (mode === 'ignore') return undefined;
  const reading = readMayAct(claims);
  switch (reading.kind) {
    case 'malformed':
      return {
        finding: failed(
          'may_act is malformed: it must be an object with a sub, a client_id or both, each a text of 1 to 256 characters.',
          'See what the provider writes into it (RFC 8693 section 4.4).',
        ),
        reason: 'subject_malformed',
      };
    case 'absent':
      if (mode === 'honour')
        return { finding: ok('There is no may_act: the token is for every registered agent.'), reason: undefined };
      return {
        finding: failed(
          'There is no may_act, and Service:UpstreamIdp:MayAct requires it: the token is for no agent.',
          'Have the provider name the agent in may_act, or set Service:UpstreamIdp:MayAct to honour.',
        ),
        reason: 'actor_not_named',
      };
    case 'read': {
      const ofPerson = [claims.subject, textMember(claims.json, sources.sponsorKeyClaim)];
      const said = describeMayAct(reading.mayAct, ofPerson);
      const agents = await sources.agents();
      if (agents === undefined) return { finding: skipped(`${said} The database does not answer.`), reason: undefined };
      const named = agents.filter((agent) => judgeMayAct(mode, claims, agent, actorIssuers) === undefined);
      if (named.length > 0) return { finding: ok(`${said} The token is for ${listed(named)}.`), reason: undefined };
      return {
        finding: failed(
          `${said} The token is for no registered agent.`,
          "Add the sub, the client_id or both to may_act_names of the agent. An iss must be the provider's or Service:Issuer.",
        ),
        reason: 'actor_not_named',
      };
    }
  }
}

/** @param ofPerson the claims that name the token's person: a provider may name the person as the actor, and no finding does */
function describeMayAct({ sub, clientId, issuer }: MayAct, ofPerson: readonly (string | undefined)[]): string {
  const quote = (name: string) => (ofPerson.includes(name) ? 'of the person' : quoteSafely(name));
  const parts = [
    ...(sub === undefined ? [] : [`sub ${quote(sub)}`]),
    ...(clientId === undefined ? [] : [`client_id ${quote(clientId)}`]),
    ...(issuer === undefined ? [] : [`iss ${typeof issuer === 'string' ? quoteSafely(issuer) : 'that is no text'}`]),
  ];
  return `may_act has ${parts.join(', ')}.`;
}

function listed(agents: readonly Agent[]): string {
  const names = agents
    .slice(0, MAX_NAMED)
    .map(({ agentId, enabled }) => `${agentId}${enabled ? '' : ' (disabled)'}`)
    .join(', ');
  const more = agents.length - MAX_NAMED;
  return more > 0 ? `${names} and ${more} more` : names;
}
