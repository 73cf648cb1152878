/** A service that seals ten times a second, beside a command that waits for it. */

import { setTimeout as pause } from 'node:timers/promises';
import type { CheckpointSigner } from '../../../application/ports/keys.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Storage } from '../storage.ts';
import { seal } from './fill.ts';

type Sealed = Pick<Storage, 'checkpoints'>;

/** Seals what is not sealed, as the service's next pass does. */
export async function sealRest(storage: Sealed, signer: CheckpointSigner, at: Instant): Promise<void> {
  if ((await storage.checkpoints.unsealed()) !== undefined) await seal(storage, signer, at);
}

export async function whileSealing<Answer>(
  sealNow: () => Promise<unknown>,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const stopped = new AbortController();
  const sealing = (async () => {
    while (!stopped.signal.aborted) {
      await sealNow();
      await pause(100, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  try {
    return await work();
  } finally {
    stopped.abort();
    await sealing;
  }
}
