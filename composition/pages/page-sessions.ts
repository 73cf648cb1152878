/** Binds the sessions of a page to their ports. */

import { formTokenOf } from '../../adapters/http/browser/cookies.ts';
import type { BrowserSessions } from '../../adapters/http/browser/session.ts';
import type { SignInCookies } from '../../adapters/http/browser/sign-in-cookies.ts';
import { sealing, sha256 } from '../../adapters/platform/system-crypto.ts';
import type { SignIn } from '../../application/ports/identity-provider.ts';
import type { Digest } from '../../application/ports/runtime.ts';
import { findSession, keptIdToken, type PageSessions, peekSession } from '../../application/sessions.ts';
import type { RoleValues } from '../../domain/operators/operator.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { Parts } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';

/** The sessions of one page, with what differs from those of another. */
export function pageSessions(
  { storage, clockWatch, randomness }: Parts,
  page: Pick<PageSessions, 'kind' | 'ttl' | 'digest'>,
): PageSessions {
  const { sessions } = storage;
  return { ...page, sessions, decisions: storage, sealing, sharedTime: clockWatch, randomness };
}

/** @param holderOf `undefined` if the session opens nothing at the page */
export function browserSessions<Holder>(
  sessions: PageSessions,
  cookies: Pick<SignInCookies<string>, 'sessionSecret'>,
  holderOf: (session: Session) => Holder | undefined,
  provider: Pick<SignIn, 'offersSignOut'>,
): BrowserSessions<Holder> {
  const by = (read: typeof findSession) => async (cookie: string) => {
    const secret = cookies.sessionSecret(cookie);
    const session = secret === undefined ? undefined : await read(sessions, secret);
    const holder = session && holderOf(session);
    if (secret === undefined || session === undefined || holder === undefined) return undefined;
    const idToken = keptIdToken(sealing, secret, session);
    return { holder, formToken: formTokenOf(secret), idToken, signsOutEverywhere: await provider.offersSignOut() };
  };
  return { find: by(findSession), peek: by(peekSession) };
}

/** These settings decide which person a provider's `sub` and sponsor key name. */
type Naming = Pick<
  Settings,
  'Service:UpstreamIdp:Issuer' | 'Service:UpstreamIdp:MetadataUrl' | 'Service:UpstreamIdp:SponsorKeyClaim'
>;

/**
 * Hashes a secret together with the settings that made the session. So after a change of these no stored session is found:
 * it could name another person, or have other roles.
 *
 * @param own further settings of the surface
 */
export function sessionDigest(settings: Naming, own: readonly (string | RoleValues | undefined)[]): Digest {
  const naming = [
    settings['Service:UpstreamIdp:Issuer'],
    settings['Service:UpstreamIdp:MetadataUrl'],
    settings['Service:UpstreamIdp:SponsorKeyClaim'],
  ];
  const given = JSON.stringify([...own, ...naming]);
  return (secret) => sha256(`${secret} ${given}`);
}
