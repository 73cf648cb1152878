/**
 * The audiences of the tokens that identity providers and a transmitter issue. A token must open one surface only: so an
 * audience of access tokens differs from every other, or the start fails (specification "Startup errors").
 */

import type { Settings } from './settings.ts';

/** Audiences that must differ. If two are equal, the error names the later one. */
const AUDIENCES = [
  // Agents hold these tokens of a person. With one they could lift the person's pause at `/me`, or act at `/admin`.
  { key: 'Service:UpstreamIdp:Audience', tokens: 'access' },
  // A client id: the client's ID tokens have this audience as well.
  { key: 'Service:UpstreamIdp:BackchannelLogout:Audience', tokens: 'logout' },
  // The transmitter may be the provider itself, so its signature alone distinguishes no event from an access token.
  { key: 'Service:Ssf:Audience', tokens: 'event' },
  { key: 'Service:Me:Audience', tokens: 'access' },
  { key: 'Service:Me:ClientId', tokens: 'id' },
  { key: 'Service:Authorize:ClientId', tokens: 'id' },
  { key: 'Service:Operators:Audience', tokens: 'access' },
  { key: 'Service:Operators:ClientId', tokens: 'id' },
] as const satisfies readonly { readonly key: keyof Settings; readonly tokens: string }[];

type Audience = (typeof AUDIENCES)[number];
type SignalAudience = Extract<Audience, { readonly tokens: 'logout' | 'event' }>;

/** Each pair of settings that must differ. The error names the first. */
export const audiencesThatDiffer: readonly (readonly [Audience['key'], Audience['key']])[] = AUDIENCES.flatMap(
  (later, at) =>
    AUDIENCES.slice(0, at)
      .filter((earlier) => earlier.tokens === 'access' || later.tokens === 'access')
      .filter((earlier) => earlier.key !== 'Service:UpstreamIdp:Audience' || !isSignal(later))
      .map((earlier) => [later.key, earlier.key] as const),
);

/**
 * The audiences of signals that equal `Service:UpstreamIdp:Audience`. Then an ID token of that client, or a security event
 * about a person, has the audience of a subject token, and only its other claims tell them apart. It is legal, because
 * some providers name an API and its client alike: the start and the doctor warn.
 */
export function ambiguousAudiences(
  settings: Pick<Settings, SignalAudience['key'] | 'Service:UpstreamIdp:Audience'>,
): readonly SignalAudience['key'][] {
  return AUDIENCES.filter(isSignal)
    .map(({ key }) => key)
    .filter((key) => settings[key] === settings['Service:UpstreamIdp:Audience']);
}

function isSignal(audience: Audience): audience is SignalAudience {
  return audience.tokens === 'logout' || audience.tokens === 'event';
}
