/** The people, agents and scopes of the quickstart. */

import type { Person } from '../../test/support/identity-provider/people.ts';

/** The person. Tokens and records have her name at the identity provider. */
export { ada, edsger, grace } from '../../test/support/identity-provider/people.ts';

/** The operator. Her role is a claim of the provider. */
export const olga: Person = {
  username: 'olga',
  password: 'three-in-the-morning',
  name: 'Olga Ops',
  scopes: [],
  claims: { oid: '5b0c0f7e-6a0b-4d4f-8f53-2f6f0a1b7c33', roles: ['mandate-responder'] },
};

export const AGENT_ID = 'triage-bot';
/** A program without a key, for which a person starts the task. */
export const PROGRAM_ID = 'any-client';
/** The scopes that the agent may have at most. */
export const AGENT_SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
/** The requested scopes: more than the agent may have, and more than Ada holds. */
export const ASKED = [...AGENT_SCOPES, 'calendar:read'];
/** The granted part of the requested scopes. */
export const GRANTED = ['jira:read', 'jira:comment'];

/** The lifetime of a token: short enough to wait for its expiry, long enough to use it a few times before. */
export const TOKEN_SECONDS = 6;
