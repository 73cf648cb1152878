import { expect } from 'chai';
import { reportingFetch } from '../../../../../adapters/sdk/tool-server/guard/control-plane-fetch.ts';

const ISSUER = 'https://mandate.example';
const KEYS = `${ISSUER}/.well-known/jwks.json`;
const INTROSPECT = `${ISSUER}/oauth2/introspect`;

describe("The guard's requests to the control plane", () => {
  /** Sends each request, which is answered with its status, or fails with its code. @returns the reports */
  async function reports(...requests: readonly (readonly [address: string, outcome: number | string])[]) {
    const reported: string[] = [];
    let outcome: number | string = 0;
    const fetch = reportingFetch(
      `${ISSUER}/`,
      (fault) => reported.push(fault.message),
      async () => {
        if (outcome === 'page')
          return new Response('secret', { headers: { 'Content-Type': 'text/HTML; charset=utf-8' } });
        if (typeof outcome === 'number') return new Response('secret', { status: outcome });
        throw new TypeError('secret', { cause: Object.assign(new Error('secret'), { code: outcome }) });
      },
    );
    for (const [address, next] of requests) {
      outcome = next;
      const sent = fetch(address, { method: address === INTROSPECT ? 'POST' : 'GET' });
      // The caller gets answer and error as without the report.
      expect(
        await sent.then(
          ({ status }) => status,
          () => outcome,
        ),
      ).to.equal(outcome === 'page' ? 200 : outcome);
    }
    return reported;
  }
  const at = (address: string, why: string) => `The control plane did not answer at ${address} (${why}).`;

  it('have one report for failures in a row, and another one after an answer', async () => {
    const refused = [KEYS, 'ECONNREFUSED'] as const;
    const lines = [at(KEYS, 'ECONNREFUSED'), at(INTROSPECT, 'status 503')];
    expect(await reports(refused, refused, [KEYS, 200], [INTROSPECT, 503], refused)).to.deep.equal(lines);
  });

  it('report every status but 200 for the keys, and for a POST only those of 500 and above', async () => {
    expect(await reports([KEYS, 404])).to.deep.equal([at(KEYS, 'status 404')]);
    expect(await reports([INTROSPECT, 403])).to.deep.equal([]);
  });

  it('report a page of another server', async () => {
    expect(await reports([KEYS, 'page'])).to.deep.equal([at(KEYS, 'a page in HTML')]);
  });

  it('leave status lists to the library, which reports them', async () => {
    expect(await reports([`${ISSUER}/status/1`, 404], [`${ISSUER}/status/1`, 'ECONNRESET'])).to.deep.equal([]);
  });
});
