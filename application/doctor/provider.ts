/**
 * Examines the identity provider, with the adapters that the service itself uses. Also examines the receivers of signals
 * about people: back-channel logout, SCIM and Shared Signals.
 */

import { travelsInTheClear } from '../../domain/address.ts';
import { issuerFault } from '../../domain/tokens/issuer-fault.ts';
import type { ReadMetadata, UnreadMetadata } from '../ports/identity-provider.ts';
import type { Problem } from '../ports/network.ts';
import { type Examination, type Finding, failed, judgeClock, ok, skipped, warning } from './examine.ts';
import { describeProblem } from './problem.ts';
import { quoteSafely } from './quote.ts';

/** A server whose signatures the service trusts: the identity provider, or a transmitter. */
export interface Signer {
  /** The configured URL of its metadata, or its issuer. */
  readonly address: string;
  /** Reads its metadata once; later calls share the result. */
  readonly metadata: () => Promise<SignerMetadata>;
  /** Reads its keys. `unused` is sentences about those that are not used; `undefined` if all are. */
  readonly readKeys: (jwksUri: string) => Promise<Problem | { readonly unused: string | undefined }>;
}

/** `ahead`: how many seconds its clock is ahead of ours; `undefined` if its response has no date. */
export type SignerMetadata = (ReadMetadata | UnreadMetadata) & { readonly ahead: number | undefined };

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
async function examineDiscovery(signer: Signer, settings: string): Promise<Finding> {
  const metadata = await signer.metadata();
  if ('problem' in metadata) {
    const { sentence, remedy } = describeProblem(metadata);
    return failed(
      `Its metadata could not be read. ${sentence}`,
      remedy ??
        `See that ${settings} is exactly the issuer that its metadata names, and that it is reachable from here. If the provider has several tenants, name one of them.`,
    );
  }
  const { issuer, accessTokenIssuer = issuer } = metadata.description;
  const fault = issuerFault(issuer) ?? issuerFault(accessTokenIssuer);
  if (fault === 'template') {
    return failed(
      'Its metadata names no issuer, but a template for those of several tenants: no token has it as its iss.',
      `Let ${settings} name the metadata of one tenant, whose issuer has no placeholder.`,
    );
  }
  if (fault === 'no_uri') {
    return failed(
      'Its metadata names an issuer that is no URI: no token can have it as its iss (RFC 7519).',
      'Correct the issuer at the provider.',
    );
  }
  // AD FS issues access tokens under another issuer.
  const ofAccessTokens =
    accessTokenIssuer === issuer ? '' : ` The iss of its access tokens is another: ${quoteSafely(accessTokenIssuer)}.`;
  if (travelsInTheClear(new URL(signer.address))) {
    return warning(
      `Its metadata was read over http: an attacker on the network can replace the keys.${ofAccessTokens}`,
      `Let ${settings} be an https URL.`,
    );
  }
  return ok(`Its metadata was read, and the issuer is the one that is expected.${ofAccessTokens}`);
}

const UNREAD = 'Its metadata could not be read.';

async function examineKeys(signer: Signer): Promise<Finding> {
  const metadata = await signer.metadata();
  if ('problem' in metadata) return skipped(UNREAD);
  const keys = await signer.readKeys(metadata.description.jwksUri);
  if (!('problem' in keys)) {
    return ok(
      keys.unused === undefined
        ? 'Its keys were fetched, and can be used.'
        : `Its keys were fetched, and others than these can be used: ${keys.unused}`,
    );
  }
  const { sentence, remedy } = describeProblem(keys);
  return failed(
    `Its keys could not be fetched. ${sentence}`,
    remedy ??
      'See what its jwks_uri answers from here. Keys need RS, PS or ES 256 to 512, or EdDSA, and RSA ones 2048 bits.',
  );
}

async function examineClock(provider: Signer): Promise<Finding> {
  const metadata = await provider.metadata();
  if (metadata.ahead !== undefined) return judgeClock("The identity provider's clock", metadata.ahead);
  return skipped('problem' in metadata ? UNREAD : 'Its responses have no date.');
}

interface Receivers {
  readonly backchannelLogout: boolean;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  readonly scim: boolean;
  /** The transmitter of security events; `undefined` if none is configured. */
  readonly transmitter: Signer | undefined;
  readonly mode: 'poll' | 'signals';
  /** `Service:UpstreamIdp:SponsorKeyClaim`. */
  readonly sponsorKeyClaim: string;
}

export function receiverExaminations(receivers: Receivers): readonly Examination[] {
  const { transmitter } = receivers;
  const ofTransmitter = (examine: (signer: Signer) => Promise<Finding>) => async () =>
    transmitter === undefined ? skipped('Service:Ssf is not configured: there is no /events.') : examine(transmitter);
  return [
    { check: 'receivers', examine: async () => describeReceivers(receivers) },
    {
      check: 'transmitter discovery',
      examine: ofTransmitter((signer) => examineDiscovery(signer, 'Service:Ssf:Issuer')),
    },
    { check: 'transmitter keys', examine: ofTransmitter(examineKeys) },
    { check: 'event subjects', examine: ofTransmitter(async () => judgeEventSubjects(receivers)) },
  ];
}

/** The operators with names (`Service:Operators`). */
interface Operators {
  /** Their own identity provider; `undefined` if it is the one above. */
  readonly provider: Signer | undefined;
  /** Roles without a configured value. No operator can have them. */
  readonly vacant: readonly string[];
}

export function operatorExaminations({ provider, vacant }: Operators): readonly Examination[] {
  const setting = 'Service:Operators:Issuer';
  return [
    { check: 'operators', examine: async () => describeRoles(vacant) },
    ...(provider === undefined
      ? []
      : [
          { check: 'operators discovery', examine: () => examineDiscovery(provider, setting) },
          { check: 'operators keys', examine: () => examineKeys(provider) },
        ]),
  ];
}

function describeRoles(vacant: Operators['vacant']): Finding {
  if (vacant.length === 0) return ok('Every role has a value.');
  // Every other role may do what a viewer may, and at least one role has a value.
  const left = vacant.filter((role) => role !== 'viewer');
  return warning(
    [
      `These roles have no value, so no operator has them: ${vacant.join(', ')}.`,
      ...(left.length === 0 ? [] : [`Only the holder of the admin key can do the work of: ${left.join(', ')}.`]),
    ].join(' '),
    'Set Service:Operators:Roles for each role that an operator should have.',
  );
}

/** The value of an event's subject is read as the sponsor key, whichever claim that is (specification "POST /events"). */
function judgeEventSubjects({ sponsorKeyClaim }: Receivers): Finding {
  return sponsorKeyClaim === 'sub'
    ? ok('The sub of an iss_sub subject is the sponsor key.')
    : warning(
        'Service:UpstreamIdp:SponsorKeyClaim is not sub, and the sub of an iss_sub subject is read as the sponsor key.',
        'Have the transmitter send the value of that claim in its subjects, and test it with one person.',
      );
}

function describeReceivers({ backchannelLogout, refuseLoggedOut, scim, transmitter, mode }: Receivers): Finding {
  const configured = [
    ...(backchannelLogout ? ['/backchannel-logout'] : []),
    ...(scim ? ['/scim/v2'] : []),
    ...(transmitter === undefined ? [] : ['/events']),
  ];
  const remedy = 'Configure Service:Scim or Service:Ssf, or mode poll; else only an operator blocks people.';
  if (mode === 'signals' && configured.length === 0) {
    return failed('In mode signals the provider is not asked about people, and no receiver is configured.', remedy);
  }
  const refused = refuseLoggedOut ? ' Subject tokens from before a logout start no task.' : '';
  // A logout ends tasks but does not keep the person from starting new ones.
  if (mode === 'signals' && !scim && transmitter === undefined) {
    return warning(`In mode signals a logout alone does not say that a person was disabled.${refused}`, remedy);
  }
  if (configured.length === 0) return skipped('No receiver of signals is configured.');
  return ok(`Configured: ${configured.join(', ')}.${refused}`);
}
