/** Asks the upstream directly, as a client that goes around the guard would. */

import { faultCode } from '../../adapters/sdk/tool-server/guard/fault-code.ts';

/** Longer than the limit of a connection, so that a slow answer is not taken for an address without a server. */
const TIMEOUT_MS = 15_000;
/** What the guard's port answers, or another check of task tokens. */
const REFUSED = new Set([401, 403]);
/** The errors of an address where no server accepts a connection. After any other error a server may be there. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface Probed {
  /** Whether requests may reach the upstream around the guard. */
  readonly isOpen: boolean;
  readonly sentence: string;
}

/** @param url the address under which others would reach the upstream */
export async function probe(url: URL): Promise<Probed> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel().catch(() => undefined);
    return ofStatus(response.status);
  } catch (error) {
    const code = faultCode(error);
    return UNREACHABLE.has(code)
      ? { isOpen: false, sentence: `The address of --probe cannot be reached from here (${code}).` }
      : { isOpen: true, sentence: `The address of --probe gave no answer that tells (${code}): check it by hand.` };
  }
}

function ofStatus(status: number): Probed {
  if (REFUSED.has(status)) {
    return { isOpen: false, sentence: `The address of --probe refuses a request without a token with ${status}.` };
  }
  return {
    isOpen: true,
    sentence: `The address of --probe answers a request without a token with ${status}, not with 401 or 403: requests reach the upstream around the guard.`,
  };
}
