/** Examines the receivers of signals about people: back-channel logout, SCIM and Shared Signals. */

import { type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';
import { examineDiscovery, examineKeys, type Signer } from './provider.ts';

export interface Receivers {
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
