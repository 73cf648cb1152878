/** The endpoints of an identity provider that the sponsor check uses: users, and Mandate's own access token. */

import { answering, type Handler, type Loopback, startLoopback } from './loopback.ts';

export interface UserDirectory {
  readonly server: Loopback;
  /** Settings with which the service queries these endpoints. */
  readonly settings: Readonly<Record<string, string>>;
  /** Answers queries about a person. */
  answer: Handler;
  /** Answers requests of Mandate for its own access token. */
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
