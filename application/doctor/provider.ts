/** Examines the identity provider, through the adapters with which the service reads its metadata and keys. */

import { travelsInTheClear } from '../../domain/address.ts';
import type { ProviderDescription } from '../ports/identity-provider.ts';
import { type Examination, type Finding, failed, judgeClock, ok, skipped, warning } from './examine.ts';
import { describeProblem, type Problem } from './observation.ts';

/** A server whose signatures the service trusts: the identity provider, or a transmitter. */
export interface Signer {
  /** The configured URL of its metadata, or its issuer. */
  readonly address: string;
  /** Reads its metadata once; later calls share the result. */
  readonly metadata: () => Promise<ProviderDescription | undefined>;
  /** Fetches its keys. Resolves with whether one of them can be used. */
  readonly fetchKeys: () => Promise<boolean>;
  /** Why reading the metadata or the keys failed. */
  readonly problem: () => Problem;
  /** How many seconds its clock is ahead of ours; `undefined` if its responses have no date. */
  readonly ahead: () => number | undefined;
}

export function providerExaminations(provider: Signer): readonly Examination[] {
  return [
    {
      check: 'provider discovery',
      examine: () => examineDiscovery(provider, 'Service:UpstreamIdp:Issuer or MetadataUrl'),
    },
    { check: 'provider keys', examine: () => examineKeys(provider) },
    { check: 'provider clock', examine: () => examineClock(provider) },
  ];
}

/** @param settings the settings that hold its address, for the remedy */
export async function examineDiscovery(signer: Signer, settings: string): Promise<Finding> {
  const description = await signer.metadata();
  if (description === undefined) {
    const { sentence, remedy } = describeProblem(signer.problem());
    return failed(
      `Its metadata could not be read. ${sentence}`,
      remedy ?? `See that ${settings} names it as it names itself, letter by letter, and that it is reached from here.`,
    );
  }
  if (travelsInTheClear(new URL(signer.address))) {
    return warning(
      'Its metadata was read over http: anybody on the way can put other keys there.',
      `Let ${settings} be an https URL.`,
    );
  }
  return ok('Its metadata was read, and the issuer is the one that is expected.');
}

export async function examineKeys(signer: Signer): Promise<Finding> {
  if ((await signer.metadata()) === undefined) return skipped('Its metadata could not be read.');
  if (await signer.fetchKeys()) return ok('Its keys were fetched, and can be used.');
  const { sentence, remedy } = describeProblem(signer.problem());
  return failed(
    `Its keys could not be had. ${sentence}`,
    remedy ??
      'See what its jwks_uri answers from here. Keys need RS, PS or ES 256 to 512, or EdDSA, and RSA ones 2048 bits.',
  );
}

async function examineClock(provider: Signer): Promise<Finding> {
  await provider.metadata();
  const ahead = provider.ahead();
  return ahead === undefined
    ? skipped('It did not tell the time.')
    : judgeClock("The identity provider's clock", ahead);
}
