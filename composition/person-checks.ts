/**
 * What every way to start a task checks of the person's access token, and of the person (application/token/start-task.ts), by the
 * settings.
 */

import type { Parts } from './parts.ts';

export function personChecks({ settings, directory, clock, clockWatch }: Parts) {
  return {
    clock,
    sharedTime: clockWatch,
    directory,
    issuer: settings['Service:Issuer'],
    audience: settings['Service:UpstreamIdp:Audience'],
    // A token that is also for `/me` would let the agent, which gets it here, act there as the person.
    foreignAudience: settings['Service:Me:Audience'],
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    refuseBound: settings['Service:UpstreamIdp:RefuseBoundTokens'],
    scopeClaim: settings['Service:UpstreamIdp:ScopeClaim'],
    refuseLoggedOut: settings['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    mayAct: settings['Service:UpstreamIdp:MayAct'],
  };
}
