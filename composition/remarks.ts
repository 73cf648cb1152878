/** Warnings in the log at the start: settings that are valid, but perhaps not intended. */

import { proxyFromEnvironment } from '../adapters/platform/tunnel.ts';
import { NetworkFailure } from '../application/ports/network.ts';
import type { Log } from '../application/ports/telemetry.ts';
import { transmitterChoice } from './settings/alternatives.ts';
import { ambiguousAudiences } from './settings/audiences.ts';
import { plainHttpIssuer, repeatedSecrets } from './settings/rules.ts';
import { isDevelopmentHost, type Settings } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';

/** @throws StartupError for a proxy that cannot be used */
export function remarkOn(settings: Settings, log: Log): void {
  warnOfPlainHttp(settings, log);
  warnOfRepeatedSecrets(settings, log);
  warnOfAmbiguousAudiences(settings, log);
  warnOfEventSubjects(settings, log);
  announceProxy(settings, log);
}

function warnOfPlainHttp(settings: Settings, log: Log): void {
  switch (plainHttpIssuer(settings)) {
    case 'network':
      log.warn(
        'Service:Issuer is plain http: on the network others can read tokens and grants, and replace the published keys',
      );
      return;
    case 'loopback':
      log.warn('Service:Issuer is a loopback address outside a development host: only this machine reaches it');
      return;
    case undefined:
  }
}

function warnOfRepeatedSecrets(settings: Settings, log: Log): void {
  for (const keys of repeatedSecrets(settings)) {
    log.warn('one secret is in several settings: its holder can use all of them', {
      settings: keys.join(', '),
    });
  }
}

function warnOfAmbiguousAudiences(settings: Settings, log: Log): void {
  for (const setting of ambiguousAudiences(settings)) {
    log.warn(
      "an audience is the same as Service:UpstreamIdp:Audience: a token of the provider for it can pass as a person's access token",
      { setting },
    );
  }
}

/** Specification "POST /events": the value of a subject is the sponsor key, for any configured claim. */
function warnOfEventSubjects(settings: Settings, log: Log): void {
  if (transmitterChoice(settings) === undefined || settings['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub') return;
  log.warn(
    'Service:UpstreamIdp:SponsorKeyClaim is not sub: in security events, the sub of an iss_sub subject must be the value of that claim',
  );
}

/**
 * With a provider in https every request to it would fail. With one in plain http only others would, such as those to the
 * sink and for agents' keys: on a development host there may be none, and a warning is enough.
 *
 * @throws StartupError for variables with which no proxy can be used
 */
function announceProxy(settings: Settings, log: Log): void {
  const provider = settings['Service:UpstreamIdp:Issuer'] ?? settings['Service:UpstreamIdp:MetadataUrl'];
  if (provider === undefined) return;
  const address = new URL(provider);
  const isAskedOverTls = address.protocol === 'https:';
  // Requests to http URLs never go through a proxy.
  address.protocol = 'https:';
  try {
    const proxy = proxyFromEnvironment(address);
    if (proxy !== undefined && isAskedOverTls) {
      log.info('the identity provider is asked through a proxy', { proxy: proxy.host });
    }
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    if (isAskedOverTls || !isDevelopmentHost(settings)) throw new StartupError([error.message]);
    log.warn('requests to https addresses will fail', { problem: error.message });
  }
}
