/** Sends checkpoints to witnesses over HTTP (C2SP tlog-witness v1.0.0), and reads their answers. */

import type { AskWitness, WitnessAnswer } from '../../application/ports/log-witnesses.ts';
import { type Network, type NetworkAnswer, NetworkFailure } from '../../application/ports/network.ts';
import { parseSize } from '../../domain/log/checkpoint-note.ts';

/** Longer than 16 signature lines with the longest keys in use. */
const MAX_ANSWER_BYTES = 65_536;

/** @param timeoutMs for the whole request */
export function httpWitnesses(network: Network, timeoutMs: number): AskWitness {
  return async ({ url }, body) => {
    try {
      return readAnswer(
        await network.send({
          method: 'POST',
          url: `${url}/add-checkpoint`,
          body,
          timeoutMs,
          maxBytes: MAX_ANSWER_BYTES,
          headers: { 'content-type': 'text/plain; charset=utf-8' },
          purpose: 'witness',
        }),
      );
    } catch (error) {
      if (!(error instanceof NetworkFailure)) throw error;
      return { kind: error.answered ? 'wrong_answer' : 'unavailable', detail: error.message };
    }
  };
}

function readAnswer({ status, body }: NetworkAnswer): WitnessAnswer {
  switch (status) {
    case 200:
      return { kind: 'cosigned', lines: body };
    case 403:
      return { kind: 'unknown_key' };
    case 404:
      return { kind: 'unknown_log' };
    case 409: {
      // The other conflict, another root of the same size, has no size in its body.
      const size = body.endsWith('\n') ? parseSize(body.slice(0, -1)) : undefined;
      return size === undefined ? { kind: 'contradicted' } : { kind: 'other_old_size', size };
    }
    case 422:
      return { kind: 'contradicted' };
    default: {
      const detail = `The answer's status was ${status}.`;
      return { kind: status === 429 || status >= 500 ? 'unavailable' : 'wrong_answer', detail };
    }
  }
}
