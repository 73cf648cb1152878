/** The people, agents and scopes of the quickstart. */

/** The person. Tokens and records have her name at the identity provider. */
export { ada } from '../../test/support/identity-provider/people.ts';

export const AGENT_ID = 'triage-bot';
/** The scopes that the agent may have at most. */
export const AGENT_SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
/** The requested scopes: more than the agent may have, and more than Ada holds. */
export const ASKED = [...AGENT_SCOPES, 'calendar:read'];
/** The granted part of the requested scopes. */
export const GRANTED = ['jira:read', 'jira:comment'];

/** The lifetime of a token: short enough to wait for its expiry, long enough to use it a few times before. */
export const TOKEN_SECONDS = 6;
