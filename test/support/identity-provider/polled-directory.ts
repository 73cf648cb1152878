/** The sponsor check by poll, of a provider whose token and users endpoints a test answers. */

import { polledSponsors } from '../../../adapters/identity-provider/polled-sponsors.ts';
import { serviceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { SponsorDirectory } from '../../../application/ports/identity-provider.ts';
import { type CapturedLog, capturedLog } from '../captured-log.ts';
import { answering, type Handler, loopbackForSuite } from '../loopback.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';

export const ADA = '5f1c8d0e-ada';
/** Answers for the requested person, as Keycloak does. */
const person =
  (enabled: boolean): Handler =>
  (request, response) => {
    const id = decodeURIComponent(request.path.split('/').at(-1) ?? '');
    answering({ id, username: 'ada', enabled })(request, response);
  };
export const ACTIVE = person(true);
export const DISABLED = person(false);
export const UNAVAILABLE = 'sponsor_status_unavailable';

interface Polled {
  clock: MovedClock;
  log: CapturedLog;
  directory: SponsorDirectory;
  /** How the token endpoint and the users endpoint answer. */
  token: Handler;
  users: Handler;
  /** The number of issued service tokens. */
  issued: number;
}

export function pollingForEachTest() {
  const polling = {} as Polled;
  const server = loopbackForSuite((request, response) =>
    request.path === '/token' ? polling.token(request, response) : polling.users(request, response),
  );
  beforeEach(() => {
    polling.issued = 0;
    polling.token = (request, response) => {
      polling.issued += 1;
      answering({ access_token: `token-${polling.issued}`, token_type: 'Bearer', expires_in: 86_400 })(
        request,
        response,
      );
    };
    polling.users = ACTIVE;
    polling.clock = movedClock();
    polling.clock.standStill();
    polling.log = capturedLog();
    polling.directory = make(`${server.url}/admin/realms/people/users`);
  });

  function make(usersUrl: string): SponsorDirectory {
    // A new network has no kept connection. A GET that is cut on a kept connection is sent again.
    const network = httpNetwork();
    const tokens = serviceTokens(
      { tokenUrl: `${server.url}/token`, clientId: 'mandate-service', scope: undefined, assertionAudience: 'issuer' },
      {
        network,
        clock: polling.clock,
        metadata: { current: async () => ({ issuer: server.url, jwksUri: `${server.url}/keys` }) },
        assertion: async () => 'an.assertion.here',
      },
    );
    return polledSponsors(usersUrl, { network, clock: polling.clock, log: polling.log, tokens });
  }
  const userRequests = () => server.received.filter((request) => request.path !== '/token');
  const ask = (maxAge = 0, subject = ADA) => polling.directory.status(subject, maxAge);

  return Object.assign(polling, { server, make, userRequests, ask });
}
