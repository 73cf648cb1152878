/** Binds the use cases of `/oauth2/authorize` to their ports. It exists only with `Service:Authorize:ClientId`. */

import { type AuthorizePath, authorizePath } from '../../adapters/http/authorize/authorize-path.ts';
import type { ScopeWords } from '../../adapters/http/browser/scope-words.ts';
import { strangersWait } from '../../adapters/jose/key-waits.ts';
import { sealing, sha256 } from '../../adapters/platform/system-crypto.ts';
import { answerAuthorization, findRequest } from '../../application/authorization/answer.ts';
import { beginAuthorization } from '../../application/authorization/begin.ts';
import { comeBack } from '../../application/authorization/come-back.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Parts } from '../parts.ts';
import { personChecks } from '../person-checks.ts';
import { optionalParameters } from '../settings/optional-parameters.ts';
import { authorizeClient } from '../settings/sign-in-clients.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';

/** The contents of the files that the settings name. */
interface AuthorizeFiles {
  /** `undefined` for `private_key_jwt`. */
  readonly authorizeSecret: Secret | undefined;
  readonly scopeWords: ScopeWords;
}

export function openAuthorize(parts: Parts, { authorizeSecret, scopeWords }: AuthorizeFiles): AuthorizePath {
  const { settings, storage, clientDocuments, randomness, log } = parts;
  const client = authorizeClient(settings);
  if (client === undefined) throw new Error('/oauth2/authorize is opened without its settings');
  const atProvider = { metadata: parts.providerMetadata, providerKeys: parts.providerKeys };
  const requestTtl = settings['Service:Authorize:RequestTtl'];
  const service = {
    ...personChecks(parts),
    clients: {
      agents: storage.agents,
      documents: clientDocuments,
      publicClients: settings['Service:Authorize:PublicClients'],
    },
    provider: signInAtFirstUse({ ...client, clientSecret: authorizeSecret }, atProvider, parts),
    providerKeys: parts.providerKeys.at(strangersWait()),
    anonymous: parts.anonymousDenials,
    authorizations: storage.authorizations,
    sponsors: storage.sponsors,
    decisions: storage,
    randomness,
    digest: sha256,
    maxAuthAge: settings['Service:Authorize:MaxAuthAge'],
    requestTtl,
    codeTtl: settings['Service:Authorize:CodeTtl'],
    minTaskTtl: settings['Service:Agents:MinTaskTtl'],
  };
  return authorizePath({
    issuer: service.issuer,
    clock: service.clock,
    scopeWords,
    purpose: settings['Service:Tasks:Purpose'],
    minTaskTtl: service.minTaskTtl,
    optionalParameters: optionalParameters(settings),
    randomness,
    sealing,
    requestTtl,
    log,
    begin: (asked, signIn, trace, permit) => beginAuthorization(service, asked, signIn, trace, permit),
    comeBack: (kept, back, trace, permit) => comeBack(service, kept, back, trace, permit),
    find: (requestId, secrets, trace, permit) => findRequest(service, requestId, secrets, trace, permit),
    answer: (requestId, secret, answer, trace, permit) =>
      answerAuthorization(service, requestId, secret, answer, trace, permit),
    refuse: async (reason, trace) => service.anonymous.record({ event: 'authorization.denied', reason }, trace),
  });
}
