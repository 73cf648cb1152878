/** Clients that hold a connection of the guard without a request. Node has the clock of these limits, so the test waits. */

import { expect } from 'chai';
import { rawConnection } from '../../../../../support/raw-http.ts';
import { proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';

describe('The guard', function () {
  this.timeout(60_000);
  const proxy = proxyForEachTest();

  it('closes a connection that sends no head, or a head without an end, soon after ten seconds', async () => {
    const url = await proxy.start((_, response) => response.end());
    const began = performance.now();
    const [silent, slow] = [await rawConnection(url), await rawConnection(url)];
    slow.send('GET /a HTTP/1.1\r\nHost: x\r\n');
    const sending = setInterval(() => slow.send('a: b\r\n'), 500);
    const texts = await Promise.all([silent, slow].map((connection) => connection.until('never sent')));
    clearInterval(sending);
    for (const text of texts) expect(text).to.match(/^HTTP\/1\.1 408 /);
    expect((performance.now() - began) / 1000).to.be.within(9, 20);
    expect(proxy.events).to.deep.equal([]);
  });
});
