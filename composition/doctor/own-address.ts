/** The service at its own address, asked as anybody would. */

import { discovery } from '../../adapters/identity-provider/discovery.ts';
import type { OwnAnswer } from '../../application/doctor/address-examinations.ts';
import { heardLog } from '../../application/doctor/heard.ts';
import { observedNetwork } from '../../application/doctor/observed-network.ts';
import { askReplica } from '../published-by.ts';
import type { Asking } from './signers.ts';

/** @param issuer `Service:Issuer` */
export async function askOwnAddress(issuer: string, asking: Asking): Promise<OwnAnswer> {
  const network = observedNetwork(asking.network, asking.clock, asking.limitMs);
  const heard = heardLog();
  const url = `${issuer}/.well-known/openid-configuration`;
  const description = await discovery({ kind: 'metadata_url', url }, network, heard).refresh();
  const failed = (sentence: string | undefined): OwnAnswer => ({
    kind: 'failed',
    problem: { sentence, status: network.lastStatus('') },
  });
  if (description === undefined) return failed(heard.problem());
  const { published } = await askReplica(network, issuer, []);
  if ('problem' in published) return failed(published.problem);
  return { kind: 'answered', issuer: description.issuer, kids: published };
}
