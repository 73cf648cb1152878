/** The receivers of signals bound to their ports; each is there only where it is configured. */

import type { DependencyContainer } from 'tsyringe';
import type { BackchannelLogoutSurface } from '../adapters/http/backchannel-logout/router.ts';
import type { EventsSurface } from '../adapters/http/events/router.ts';
import { acceptLogout } from '../application/signals/accept-logout.ts';
import { acceptSecurityEvent } from '../application/signals/accept-security-event.ts';
import { chosenTransmitter, chosenUpstream } from './settings/alternatives.ts';
import { tokens } from './tokens.ts';

export function backchannelLogoutSurface(c: DependencyContainer): BackchannelLogoutSurface | undefined {
  const settings = c.resolve(tokens.settings);
  const audience = settings['Service:UpstreamIdp:BackchannelLogout:Audience'];
  if (audience === undefined) return undefined;
  const refuseLoggedOut = settings['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'];
  const service = { ...shared(c), providerKeys: c.resolve(tokens.providerKeys), audience, refuseLoggedOut };
  return { accept: (logoutToken) => acceptLogout(service, logoutToken), log: c.resolve(tokens.log) };
}

export function eventsSurface(c: DependencyContainer): EventsSurface | undefined {
  const chosen = chosenTransmitter(c.resolve(tokens.settings));
  const transmitterKeys = c.resolve(tokens.transmitter).keys;
  if (chosen === undefined || transmitterKeys === undefined) return undefined;
  const { audience, credentials } = chosen;
  const log = c.resolve(tokens.log);
  const service = { ...shared(c), transmitterKeys, audience, upstreamIssuer: upstreamIssuer(c), log };
  return {
    credentials,
    refuse: async (reason) => service.anonymous.record({ event: 'ssf.denied', reason }),
    accept: (eventToken) => acceptSecurityEvent(service, eventToken),
    log,
  };
}

function shared(c: DependencyContainer) {
  return {
    signals: c.resolve(tokens.storage).signals,
    anonymous: c.resolve(tokens.anonymousDenials),
    clock: c.resolve(tokens.clock),
  };
}

/** Where the issuer is configured, events are acted on whether or not the identity provider answers. */
function upstreamIssuer(c: DependencyContainer): () => Promise<string | undefined> {
  const upstream = chosenUpstream(c.resolve(tokens.settings));
  if (upstream.kind === 'issuer') return async () => upstream.issuer;
  const metadata = c.resolve(tokens.providerMetadata);
  return async () => (await metadata.current())?.issuer;
}
