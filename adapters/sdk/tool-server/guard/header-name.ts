/** The names of headers as services compare them. */

/**
 * The name as servers compare it that put headers into variables (CGI, WSGI, PHP): they read every sign but letters and digits
 * as one. So `X_User`, `x.user` and `x!user` are `X-User` to some of them.
 *
 * @param name in lower case
 */
export function asVariable(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-');
}
