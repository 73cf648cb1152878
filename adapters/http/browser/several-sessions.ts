/**
 * Logs requests with several cookies of one session. A browser that knows the prefix `__Host-` never sends them, so an old
 * browser, a proxy or another site has added one. The log gets at most one line a second, without the cookies.
 */

import type { RequestHandler } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { throttledLog } from '../server/throttled-log.ts';
import type { SignInCookies } from './sign-in-cookies.ts';

export function logSeveralSessions(
  log: Log,
  { sessionName, hasSeveralSessions }: Pick<SignInCookies<string>, 'sessionName' | 'hasSeveralSessions'>,
): RequestHandler {
  const report = throttledLog<{ cookie: string }>(
    log,
    'requests had several cookies of one session: none was accepted',
  );
  return (request, _response, next) => {
    if (hasSeveralSessions(request.headers.cookie)) report({ cookie: sessionName });
    next();
  };
}
