/**
 * Sends the requests to the control plane, and reports why one failed. A refusal says only that the control plane could not be
 * asked. Its operator needs the address and the fault: a wrong `issuer` is the usual mistake at the first start.
 */

import { statusListUri } from '../../../../domain/tasks/status-list.ts';
import { faultCode } from './fault-code.ts';

/** The message has the address and the kind of the fault, and quotes no part of a request or an answer. */
export class ControlPlaneFault extends Error {}

/**
 * Reports the first failure, and the first one after a success. A status list is left out: the library reports it.
 *
 * @param fetch the global one when absent
 */
export function reportingFetch(
  issuer: string,
  report: (fault: ControlPlaneFault) => void,
  fetch: typeof globalThis.fetch = (...request) => globalThis.fetch(...request),
): typeof globalThis.fetch {
  const lists = statusListUri(issuer.replace(/\/$/, ''), '');
  let hasFailed = false;
  const tell = (address: string, why: string): void => {
    if (!hasFailed) report(new ControlPlaneFault(`The control plane did not answer at ${address} (${why}).`));
    hasFailed = true;
  };
  return async (address, init) => {
    const name = String(address);
    if (name.startsWith(lists)) return fetch(address, init);
    try {
      const response = await fetch(address, init);
      if (isFault(response, init)) tell(name, `status ${response.status}`);
      else if (isPage(response)) tell(name, 'a page in HTML');
      else hasFailed = false;
      return response;
    } catch (error) {
      tell(name, faultCode(error));
      throw error;
    }
  };
}

/** The control plane never answers with one: another server is at the address. */
function isPage({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().startsWith('text/html') ?? false;
}

/** To a POST, as for an introspection, 4xx is an answer. A GET is for the keys. */
function isFault({ ok, status }: Response, init: RequestInit | undefined): boolean {
  return init?.method === 'POST' ? status >= 500 : !ok;
}
