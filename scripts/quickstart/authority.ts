/** The people, agents and scopes of the quickstart. */

/** The person, under her name at the identity provider, which every token and record has. */
export { ada } from '../../test/support/identity-provider/people.ts';

export const AGENT_ID = 'triage-bot';
/** The maximum scopes of the agent. */
export const AGENT_SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
/** More than the agent may have, and more than Ada holds. */
export const ASKED = [...AGENT_SCOPES, 'calendar:read'];
/** The granted part of it. */
export const GRANTED = ['jira:read', 'jira:comment'];

/**
 * Short enough to wait for a renewal and for an expiry, and long enough for the uses of one token in between on a busy
 * machine.
 */
export const TOKEN_SECONDS = 6;
