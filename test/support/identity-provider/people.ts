/** The people who can sign in at the identity provider, and their scopes. */

export interface Person {
  /** The name on the login page, and the `sub` of tokens. */
  readonly username: string;
  readonly password: string;
  readonly name: string;
  /** The scopes to which the person can consent. */
  readonly scopes: readonly string[];
  /** More claims of the person's access tokens, such as `oid`. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** All scopes that the people below hold. */
export const everyScope = ['jira:read', 'jira:comment', 'jira:admin', 'calendar:read', 'calendar:write'] as const;

export const ada: Person = {
  username: 'ada',
  password: 'notes-on-the-engine',
  name: 'Ada Lovelace',
  scopes: ['jira:read', 'jira:comment', 'calendar:read'],
  claims: { oid: 'b3d6f1a0-5c1e-4f0e-9a57-6a2f5d3c9e11' },
};

export const grace: Person = {
  username: 'grace',
  password: 'nanoseconds-of-wire',
  name: 'Grace Hopper',
  scopes: ['jira:read', 'calendar:read', 'calendar:write'],
  claims: { oid: '0d0c8a52-7a43-4d52-8c55-93a1d8b0c2f4' },
};

/** A person without scopes. */
export const edsger: Person = {
  username: 'edsger',
  password: 'considered-harmful',
  name: 'Edsger Dijkstra',
  scopes: [],
  claims: { oid: '7f9c3b68-21d5-4e6c-8f10-5e4b7a9d6c02' },
};
