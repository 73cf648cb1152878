/** The proxy and the server behind it choose one route for each target: a property over servers that read paths differently. */

import { expect } from 'chai';
import fc from 'fast-check';
import { pathOfTarget } from '../../../../../adapters/sdk/tool-server/guard/request-target.ts';
import { sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { byLength } from '../../../../support/length.ts';
import { targets } from '../../../../support/tool-server/confusing-targets.ts';
import { proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { routedUpstreams } from '../../../../support/tool-server/routed-upstreams.ts';

/** The guard's routes, and those of the server. Everything else is `other`, which the guard never allows. */
const ROUTES: Readonly<Record<string, string>> = { 'GET /issues/*': 'issues', 'GET /a': 'a' };

/** Half of them are below a route of the guard. */
const tried = fc.oneof(
  targets,
  targets.filter((target) => pathOfTarget(target) !== undefined).map((path) => `/issues${path}`),
);

describe('The path of a request to the proxy', () => {
  const proxy = proxyForEachTest();

  for (const upstream of routedUpstreams) {
    if (!upstream.isInstalled) {
      it(`is not tried with ${upstream.name}, which is not installed`, function () {
        this.skip();
      });
      continue;
    }

    it(`names the route that ${upstream.name} chooses too`, async function () {
      this.timeout(byLength({ short: 30_000, full: 300_000 }));
      const server = await upstream.start();
      try {
        const url = await proxy.start(server.url, { routes: readable(...Object.keys(ROUTES)) });
        let allowed = 0;
        const run = fc.asyncProperty(tried, async (target) => {
          proxy.events.length = 0;
          const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${proxy.bearer().join(': ')}\r\n\r\n`;
          const { text } = await sendBytes(url, head);
          const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
          const [event] = proxy.events;
          if (status !== '200') {
            // Node's parser refuses some targets, without an event.
            expect(['400', '403'], text).to.include(status);
            expect(event?.decision ?? 'deny').to.equal('deny');
            return;
          }
          allowed += 1;
          expect(text.split('\r\n').at(-1), target).to.equal(ROUTES[event?.route ?? '']);
        });
        await fc.assert(run, { numRuns: byLength({ short: 250, full: 5000 }) });
        // Far fewer than by chance: about 100 of 250 are allowed. With none, the property would hold of nothing.
        expect(allowed).to.be.above(byLength({ short: 40, full: 800 }));
      } finally {
        await server.close();
      }
    });
  }
});
