/** Scopes (RFC 6749 §3.3): sets of case-sensitive tokens, kept in the order in which they were first named. */

/** scope-token = 1*( %x21 / %x23-5B / %x5D-7E ): printable ASCII without space, `"` and `\`. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

export type Scope = readonly string[];

export function isScopeToken(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

/** Reads a space-separated scope; repeated names count once. `undefined` when a name is not a scope-token. */
export function parseScope(text: string): Scope | undefined {
  const names = text.split(' ').filter((name) => name !== '');
  return names.every(isScopeToken) ? [...new Set(names)] : undefined;
}

export function formatScope(scope: Scope): string {
  return scope.join(' ');
}

/** The names that every one of the scopes holds, in the order of the first scope. */
export function intersectScopes(first: Scope, ...others: readonly Scope[]): Scope {
  const held = others.map((scope) => new Set(scope));
  return first.filter((name) => held.every((set) => set.has(name)));
}

/** Whether every name of `inner` is in `outer`. */
export function isWithin(inner: Scope, outer: Scope): boolean {
  const held = new Set(outer);
  return inner.every((name) => held.has(name));
}
