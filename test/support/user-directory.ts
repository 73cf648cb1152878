/** The identity provider's user endpoint for the sponsor check, and the token endpoint that its client needs. */

import { answering, type Handler, type Loopback, startLoopback } from './loopback.ts';

export interface UserDirectory {
  readonly server: Loopback;
  /** Settings that make the service poll it. */
  readonly settings: Readonly<Record<string, string>>;
  /** Answers questions about a user. */
  answer: Handler;
  /** Answers requests for a service token. */
  answerToken: Handler;
}

export async function startUserDirectory(answer: Handler): Promise<UserDirectory> {
  const server = await startLoopback((request, response) =>
    (request.path === '/token' ? directory.answerToken : directory.answer)(request, response),
  );
  const directory: UserDirectory = {
    server,
    settings: {
      'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
      'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${server.url}/users`,
      'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${server.url}/token`,
      'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate',
    },
    answer,
    answerToken: answering({ access_token: 'service-token', token_type: 'Bearer', expires_in: 60 }),
  };
  return directory;
}
