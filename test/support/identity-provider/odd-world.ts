/** A Mandate with everything that an identity provider takes part in, at one that misbehaves, and the doctor's view of it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { explainToken } from '../../../composition/commands/doctor.ts';
import { examineEverything } from '../../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { operators, signedInOperator } from '../console/operators-browser.ts';
import { sqliteFile } from '../databases.ts';
import { environmentOf, type Mandate, type MandateOptions, sendTo, startMandate } from '../mandate.ts';
import { personBrowser } from '../me/person-browser.ts';
import { OPERATORS } from '../operators.ts';
import { sharedSigningKey } from '../shared-signing-key.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';
import type { Oddities } from './oddities.ts';
import { ada, grace } from './people.ts';
import { CONSOLE_CLIENT_ID, type Demands, PAGE_CLIENT_ID } from './provider-configuration.ts';

/** The parts of the system that use the provider. */
export type Area = 'page' | 'console' | 'exchange';

export interface OddWorld {
  readonly mandate: Mandate;
  readonly provider: IdentityProvider;
  readonly origin: string;
  /** Whether a person signs in at the page, an operator at the console, and an agent gets a token for a person. */
  works(area: Area): Promise<boolean>;
  /** The address to which a sign-in sends the browser. */
  begins(area: 'page' | 'console'): Promise<URL>;
  /** The doctor's findings about the same provider. */
  findings(area: Area): Promise<readonly NamedFinding[]>;
  stop(): Promise<void>;
}

export interface OddWorldOptions extends Pick<MandateOptions, 'requestLimitMs'> {
  readonly acceptsOnlyTokenEndpoint?: boolean;
  readonly demands?: Demands;
  /** The secret of each client at the provider. By default they have keys. */
  readonly secret?: string;
  /** The secret that Mandate has. */
  readonly ownSecret?: string;
  /** Whether the setting is the address of the metadata, not the issuer. */
  readonly hasMetadataUrl?: boolean;
  /** By default `poll`. */
  readonly mode?: 'signals';
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startOddWorld(odd: Oddities, options: OddWorldOptions = {}): Promise<OddWorld> {
  const { acceptsOnlyTokenEndpoint = false, secret, ownSecret = secret } = options;
  const [port, consolePort] = [await freePort(), await freePort()];
  const [issuer, origin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${consolePort}`];
  const client = { issuer, ...(secret && { secret }) };
  const people = [ada, grace, ...Object.values(operators)];
  const provider = await startIdentityProvider({
    odd,
    people,
    acceptsOnlyTokenEndpoint,
    ...(options.demands && { demands: options.demands }),
    page: client,
    console: { ...client, origin },
    poll: { issuer },
  });
  const folder = await mkdtemp(join(tmpdir(), 'mandate-odd-'));
  const secrets = ownSecret === undefined ? {} : await secretFiles(folder, ownSecret);
  const settings = {
    PORT: String(port),
    'Service:Issuer': issuer,
    ...OPERATORS,
    ...sharedSigningKey(),
    ...(options.mode === 'signals' ? { 'Service:UpstreamIdp:SponsorCheck:Mode': 'signals' } : provider.pollSettings),
    'Service:Me:ClientId': PAGE_CLIENT_ID,
    'Service:Operators:ClientId': CONSOLE_CLIENT_ID,
    'Service:Console:Port': String(consolePort),
    'Service:Console:Origin': origin,
    ...(options.hasMetadataUrl && metadataUrlOf(provider)),
    ...secrets,
    ...options.settings,
  };
  const limits = options.requestLimitMs === undefined ? {} : { requestLimitMs: options.requestLimitMs };
  const database = await sqliteFile.fresh();
  const own = { ...sqliteFile, fresh: async () => database };
  const mandate = await startMandate({ database: own, provider, settings, ...limits });
  const doctored = doctorSettings({
    environment: environmentOf({
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:Admin:ApiKey': 'an-admin-key-that-only-the-doctor-knows-0123456789',
      ...database.settings,
      ...settings,
      NODE_ENV: 'development',
    }),
    overrides: [],
  });

  const works: OddWorld['works'] = async (area) => {
    if (area === 'exchange') return (await (await mandate.agent()).exchange()).status === 200;
    const signedIn = await signInAt(area, mandate, origin).catch(() => undefined);
    return signedIn?.status === 302;
  };

  const findings: OddWorld['findings'] = async (area) => {
    const found = await examineEverything(doctored, mandate.clock);
    const token = provider.mintAccessToken({ exp: mandate.clock.seconds() + 3600 });
    const ofToken = await explainToken(doctored, mandate.clock, { stdin: Readable.from([token]), person: false });
    return [...found, ...ofToken].filter(({ check }) => CHECKS[area].test(check));
  };

  return {
    mandate,
    provider,
    origin,
    works,
    async begins(area) {
      const address = area === 'page' ? `${mandate.url}/me/sign-in` : `${origin}/sign-in`;
      const { headers } = await sendTo(address, {});
      return new URL(headers.get('location') ?? '');
    },
    findings,
    async stop() {
      await mandate.stop();
      await provider.stop();
      await rm(folder, { recursive: true });
    },
  };
}

function metadataUrlOf({ issuer }: IdentityProvider): Readonly<Record<string, string>> {
  const url = `${issuer}/.well-known/openid-configuration`;
  return { 'Service:UpstreamIdp:Issuer': '', 'Service:UpstreamIdp:MetadataUrl': url };
}

/** The checks that say whether each works. */
const CHECKS: Readonly<Record<Area, RegExp>> = {
  page: /^(provider|sign-in) /,
  console: /^(provider|console (provider|client))/,
  exchange: /^(provider |sponsor check|verdict)/,
};

async function signInAt(area: 'page' | 'console', mandate: Mandate, origin: string) {
  if (area === 'page') return personBrowser(mandate).signIn();
  return (await signedInOperator({ origin }, operators.viewer)).signedIn;
}

/** Two settings that name one file are refused. */
async function secretFiles(folder: string, secret: string): Promise<Readonly<Record<string, string>>> {
  const [page, console] = [join(folder, 'page'), join(folder, 'console')];
  await Promise.all([page, console].map((path) => writeFile(path, secret, { mode: 0o600 })));
  return { 'Service:Me:ClientSecret:Path': page, 'Service:Operators:ClientSecret:Path': console };
}
