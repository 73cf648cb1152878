/**
 * Better Auth as an identity provider on loopback, for tests. Its tokens are signed with EdDSA, and it speaks https with
 * a certificate of the tests' authority. People sign in through the real flow.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { freePort } from '../../../../scripts/free-port.ts';
import { serverCertificate } from '../../loopback.ts';
import { everyScope, type Person } from '../people.ts';
import { type SignedIn, signIn } from '../sign-in.ts';
import type { BetterAuthReady, BetterAuthSetup, KeyChange } from './setup.ts';

export interface BetterAuth extends BetterAuthReady {
  readonly audience: string;
  /** Signs a person in at the application, which requests every scope of the provider. */
  signIn(person: Person): Promise<SignedIn>;
  changeKeys(change: KeyChange): Promise<void>;
  stop(): Promise<void>;
}

const AUDIENCE = 'https://mandate.example';

export async function startBetterAuth(
  given: Pick<BetterAuthSetup, 'people' | 'mandate' | 'consoleOrigin'>,
): Promise<BetterAuth> {
  const redirectUri = 'https://portal.example/signed-in';
  const setup: BetterAuthSetup = {
    ...given,
    port: await freePort(),
    certificate: serverCertificate,
    audience: AUDIENCE,
    scopes: everyScope,
    redirectUri,
  };
  const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData: setup });
  const [ready] = (await once(thread, 'message')) as [BetterAuthReady];
  // A test that fails before `stop` does not keep the process alive.
  thread.unref();
  return {
    ...ready,
    audience: AUDIENCE,
    signIn: (person) =>
      signIn(
        { issuer: ready.issuer, clientId: ready.clients.application, redirectUri, audience: AUDIENCE },
        person,
        // Without a refresh token Better Auth does not store which client has the session, and sends no logout token.
        ['offline_access', ...everyScope].join(' '),
      ),
    async changeKeys(change) {
      thread.postMessage(change);
      await once(thread, 'message');
    },
    async stop() {
      await thread.terminate();
    },
  };
}
