/** At the start: records the keys that sign, if others signed before. */

import type { Jwk } from '../../domain/agents/public-key.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { formatVerifierKey } from '../../domain/log/verifier-key.ts';
import { activateKeys } from '../decisions/activate-keys.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { NoteSigner, SigningKeys } from '../ports/keys.ts';
import type { Clock } from '../ports/runtime.ts';
import type { TransparencyLog } from '../ports/transparency-log.ts';

interface KeyRecording {
  readonly decisions: Decisions;
  readonly log: Pick<TransparencyLog, 'keys' | 'signers'>;
  readonly signingKeys: SigningKeys;
  readonly signer: NoteSigner;
  /** RFC 7638. */
  readonly thumbprint: (jwk: Jwk) => Promise<string>;
  readonly clock: Clock;
  /** How many checkpoints the log had before this start. */
  readonly logged: number;
}

export async function recordKeys(service: KeyRecording): Promise<void> {
  const { decisions, log, signingKeys, signer, clock, logged } = service;
  const configured = await Promise.all(
    signingKeys.published().keys.map(async (jwk) => {
      const thumbprint = await service.thumbprint(jwk);
      const kid = typeof jwk.kid === 'string' ? jwk.kid : thumbprint;
      return { use: 'checkpoint', kid, thumbprint, publicKey: JSON.stringify(jwk) } as const;
    }),
  );
  // Keys that signed while the log was off. Without their public key, nothing can be said about them.
  const isNew = !(await log.keys()).some(({ use }) => use === 'checkpoint');
  const signers = await log.signers(isNew ? 0 : logged);
  const earlier = signers.flatMap(({ kid, first, last }): readonly LogKey[] => {
    const key = configured.find((each) => each.kid === kid);
    return key === undefined ? [] : [{ ...key, from: first, to: last }];
  });
  const active = [
    ...configured.filter(({ kid }) => kid === signingKeys.checkpoints.kid),
    // Under another name the same key is another verifier key.
    {
      ...({ use: 'log', kid: `${signer.key.name}+${signer.key.keyId}`, thumbprint: signer.thumbprint } as const),
      publicKey: formatVerifierKey(signer.key),
    },
  ];
  await decisions.decide(activateKeys, { active, earlier, at: clock.now() });
}
