/** Asks the upstream directly, as a client that goes around the guard would. */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { faultCode } from '../../adapters/sdk/tool-server/guard/fault-code.ts';

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
]);

export interface Probed {
  /** Whether requests may reach the upstream around the guard. */
  readonly isOpen: boolean;
  readonly sentence: string;
}

/** @param url the address under which others would reach the upstream */
export async function probe(url: URL): Promise<Probed> {
  try {
    return ofStatus(await statusOf(url));
  } catch (error) {
    const code = faultCode(error);
    return UNREACHABLE.has(code)
      ? { isOpen: false, sentence: `The address of --probe cannot be reached from here (${code}).` }
      : { isOpen: true, sentence: `The address of --probe gave no answer that tells (${code}): check it by hand.` };
  }
}

/** With `node:http`: `fetch` refuses the ports of other protocols. Follows no redirect. */
function statusOf(url: URL): Promise<number> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = send(url, { agent: false }, ({ statusCode = 0 }) => {
      resolve(statusCode);
      sent.destroy();
    });
    let isConnected = false;
    sent.once('socket', (socket) => {
      socket.once('connect', () => {
        isConnected = true;
      });
    });
    const late = () => reject(Object.assign(new Error('Late.'), { code: isConnected ? 'NO_ANSWER' : 'ETIMEDOUT' }));
    const timer = setTimeout(() => {
      late();
      sent.destroy();
    }, TIMEOUT_MS);
    sent.on('error', reject).on('close', () => clearTimeout(timer));
    sent.end();
  });
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
