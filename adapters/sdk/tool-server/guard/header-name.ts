/** The names of headers as services compare them. */

/**
 * The name as CGI, WSGI and PHP compare it. They put headers into variables, where every sign but letters and digits becomes the
 * same one. So `X_User`, `x.user` and `x!user` are `X-User` to some of them.
 *
 * @param name in lower case
 */
export function asVariable(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-');
}
