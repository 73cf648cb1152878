/** Who may do what in the story. */

/** The person, as the identity provider and so every token and record names her. */
export { ada } from '../../test/support/identity-provider/people.ts';

export const AGENT_ID = 'triage-bot';
/** The agent's ceiling. */
export const AGENT_SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
/** More than the agent may have, and more than Ada has to give. */
export const ASKED = [...AGENT_SCOPES, 'calendar:read'];
/** What is left of it. */
export const GRANTED = ['jira:read', 'jira:comment'];

/**
 * Short enough for a renewal, and an end, to be waited for; and long enough for what the story does with one token in
 * between on a busy machine.
 */
export const TOKEN_SECONDS = 6;
