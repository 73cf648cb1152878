/** The bodies that the adapter for MCP holds while it reads them. Everything is compared by counts. */

import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import { type RawConnection, rawConnection } from '../../../../support/raw-http.ts';
import { guardedForEachTest, rpc } from '../../../../support/tool-server/guarded-messages.ts';

const PING = JSON.stringify(rpc('ping'));
const BUSY = '{"error":"temporarily_unavailable"';

describe('The adapter for MCP without a body parser', () => {
  const guarded = guardedForEachTest();
  const { start, tokenWith, decided } = guarded;
  const clients: RawConnection[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.leave();
  });

  /** Sends the head and half of the body. */
  async function begin(token: string): Promise<RawConnection> {
    const client = await rawConnection(guarded.app.url);
    clients.push(client);
    const head = ['POST /mcp HTTP/1.1', `Host: ${new URL(guarded.app.url).host}`, `Authorization: Bearer ${token}`];
    const body = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];
    client.send([...head, ...body, `Content-Length: ${PING.length}`, '', PING.slice(0, 20)].join('\r\n'));
    return client;
  }
  const tokenOf = (agent: string) => tokenWith({ act: { sub: `agent:${agent}`, depth: 1 } });
  const end = (client: RawConnection) => client.send(PING.slice(20));

  it('holds half a body for as many connections as it may, and answers the others, also strangers, at once', async function () {
    this.timeout(30_000);
    await start({ parsed: false });
    const [known, foreign] = [tokenOf('a'), tokenWith({ aud: 'https://wiki.example' })];
    const own: RawConnection[] = [];
    for (let at = 0; at < 100; at += 1) own.push(await begin(known));
    const strangers: RawConnection[] = [];
    for (let at = 0; at < 100; at += 1) strangers.push(await begin(at % 2 === 0 ? foreign : 'x'));
    for (const stranger of strangers) expect(await stranger.until('"reason":')).to.match(/^HTTP\/1\.1 401 /);
    // An agent gets as many permits as remain free, so half of 100.
    await eventually(() => decided().length === 150);
    expect(own.filter((client) => client.received() === '')).to.have.lengthOf(50);
    const busy = own.filter((client) => client.received() !== '');
    for (const client of busy) {
      expect(await client.until(BUSY))
        .to.match(/^HTTP\/1\.1 503 /)
        .and.match(/\r\nRetry-After: 1\r\n/i);
    }
    const counted = (reason: string) => decided().filter(([route, , why]) => route === null && why === reason).length;
    expect(['overloaded', 'wrong_audience', 'malformed_token'].map(counted)).to.deep.equal([50, 50, 50]);
    const other = await begin(tokenOf('b'));
    end(other);
    expect(await other.until('"result"')).to.match(/^HTTP\/1\.1 200 /);
  });

  it('holds a body until the SDK gets it, or the client leaves, or it is refused', async () => {
    await start({ parsed: false, maxHeldBodies: 1 });
    const first = await begin(tokenOf('a'));
    expect(await (await begin(tokenOf('b'))).until(BUSY)).to.match(/^HTTP\/1\.1 503 /);
    end(first);
    expect(await first.until('"result"')).to.match(/^HTTP\/1\.1 200 /);
    const second = await begin(tokenOf('b'));
    expect(await (await begin(tokenOf('a'))).until(BUSY)).to.match(/^HTTP\/1\.1 503 /);
    second.leave();
    await eventually(() => decided().some(([, , reason]) => reason === 'unknown_tool'));
    const third = await begin(tokenOf('a'));
    third.send('!'.repeat(PING.length));
    expect(await third.until('"error"')).to.match(/^HTTP\/1\.1 400 /);
    const fourth = await begin(tokenOf('a'));
    end(fourth);
    expect(await fourth.until('"result"')).to.match(/^HTTP\/1\.1 200 /);
  });
});
