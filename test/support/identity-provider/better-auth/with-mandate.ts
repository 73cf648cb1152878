/** A running Mandate with Better Auth as the identity provider of the application, the page `/me` and the console. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../../scripts/free-port.ts';
import { operators } from '../../console/operators-browser.ts';
import { sqliteFile } from '../../databases.ts';
import { makeSealingKey } from '../../ledger/sealing-key.ts';
import { ADMIN_KEY, type Mandate, startMandate } from '../../mandate.ts';
import { OPERATORS } from '../../operators.ts';
import { ada, grace } from '../people.ts';
import { type BetterAuth, startBetterAuth } from './better-auth.ts';

export interface MandateWithBetterAuth {
  readonly mandate: Mandate;
  readonly provider: BetterAuth;
  /** `Service:Console:Origin`. */
  readonly origin: string;
  /** A temporary folder with the signing key. */
  readonly folder: string;
  /** For `mandate doctor`, which runs as another process. */
  readonly settings: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** @param more settings of the service, by the clients that Better Auth has */
export async function startWithBetterAuth(
  more: (clients: BetterAuth['clients'], audience: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<MandateWithBetterAuth> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const [issuer, origin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${consolePort}`];
  const provider = await startBetterAuth({
    people: [ada, grace, operators.viewer, operators.none],
    mandate: { name: 'https://mandate.example', address: issuer },
    consoleOrigin: origin,
  });
  const folder = mkdtempSync(join(tmpdir(), 'mandate-better-auth-'));
  const keyFile = join(folder, 'signing-key.pem');
  writeFileSync(keyFile, (await makeSealingKey()).pem, { mode: 0o600 });
  const database = await sqliteFile.fresh();
  const settings = {
    ...database.settings,
    PORT: String(port),
    'Service:Issuer': issuer,
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clients.application,
    'Service:Scim:BearerToken': 'a-provisioning-credential-for-better-auth-01',
    'Service:Signing:Keys:0:Path': keyFile,
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:Me:ClientId': provider.clients.page,
    ...OPERATORS,
    'Service:Operators:ClientId': provider.clients.console,
    'Service:Console:Port': String(consolePort),
    'Service:Console:Origin': origin,
    ...more(provider.clients, provider.audience),
  };
  const mandate = await startMandate({ database: { ...sqliteFile, fresh: async () => database }, settings });
  return {
    mandate,
    provider,
    origin,
    folder,
    settings,
    async stop() {
      await mandate.stop();
      await provider.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
