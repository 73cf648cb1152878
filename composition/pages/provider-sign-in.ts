/** Binds a sign-in at an identity provider to its ports. */

import { serviceAssertion } from '../../adapters/identity-provider/service-token.ts';
import type { SignInClient } from '../../adapters/identity-provider/sign-in-client.ts';
import type { ProviderMetadata, SignIn } from '../../application/ports/identity-provider.ts';
import type { ProviderKeys } from '../../application/ports/keys.ts';
import type { Parts } from '../parts.ts';

interface AtProvider {
  readonly metadata: ProviderMetadata;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
}

/** Loading the library for sign-ins would lengthen the start of the service. */
export function signInAtFirstUse(
  client: SignInClient,
  { metadata, providerKeys }: AtProvider,
  { signingKeys, network, clock, log, randomness }: Parts,
): SignIn {
  const load = async () => {
    const { signIn } = await import('../../adapters/identity-provider/sign-in.ts');
    const assertion = serviceAssertion(signingKeys, clock, randomness);
    return signIn(client, { metadata, providerKeys, network, clock, log, assertion });
  };
  let loading: Promise<SignIn> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    begin: async (...given) => (await loaded()).begin(...given),
    finish: async (...given) => (await loaded()).finish(...given),
    offersSignOut: async () => (await loaded()).offersSignOut(),
    signOutAddress: async (...given) => (await loaded()).signOutAddress(...given),
  };
}
