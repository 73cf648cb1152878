/** Requests that are refused before node has read them, on real connections: which are, and which never may be. */

import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import type { EarlyAnswer } from '../../../adapters/http/early-refusals.ts';
import { httpServer, type TimeLimits } from '../../../adapters/http/server.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { readAnswers } from '../../support/hostile/raw-conversation.ts';
import { type RawConnection, rawConnection } from '../../support/raw-http.ts';

const REFUSAL: EarlyAnswer = { head: 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n', body: 'busy' };
const LONG_REFUSAL: EarlyAnswer = {
  head: 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100000\r\n',
  body: 'x'.repeat(100_000),
};
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: mandate.test\r\n\r\n`;
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: mandate.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** What comes behind it belongs to its last header. */
const HALF = 'GET /half HTTP/1.1\r\nX-Any: ';

interface Scene {
  /** What was asked for before it was read, and was then refused if its path says so. */
  readonly asked: string[];
  /** What node has read. */
  readonly read: string[];
  connection(options?: { readonly allowHalfOpen?: boolean }): Promise<RawConnection>;
  /** Once; as long is waited for what may still come. */
  stop(lingerMs?: number): Promise<void>;
}

async function open(listener: RequestListener, limits?: TimeLimits): Promise<Scene> {
  const [asked, read]: [string[], string[]] = [[], []];
  const serve: RequestListener = (request, response) => {
    read.push(request.url ?? '');
    listener(request, response);
  };
  const server = httpServer(serve, {
    ...{ log: capturedLog(), ...(limits === undefined ? {} : { limits }) },
    early: {
      hasRefused: ({ req }) => req.url?.startsWith('/refused') === true,
      refuse({ url }) {
        asked.push(url);
        if (url === '/refused-at-length') return LONG_REFUSAL;
        return url === '/refused' ? REFUSAL : undefined;
      },
    },
  });
  const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, server.take);
  const opened: RawConnection[] = [];
  let isStopped = false;
  return {
    ...{ asked, read },
    async connection({ allowHalfOpen = false } = {}) {
      const connection = await rawConnection(`http://127.0.0.1:${connections.address.port}`, { allowHalfOpen });
      opened.push(connection);
      return connection;
    },
    async stop(lingerMs = 0) {
      if (isStopped) return;
      isStopped = true;
      await connections.close();
      if (lingerMs === 0) for (const connection of opened) connection.leave();
      await server.stop(lingerMs);
    },
  };
}

const served: RequestListener = (request, response) => {
  request.resume();
  response.end(`served ${request.url}.`);
};

describe('A request that is refused before it is read', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  /** A connection on which node has refused a request, and then read one more. */
  async function used(listener = served, limits?: TimeLimits, allowHalfOpen = false): Promise<RawConnection> {
    scene = await open(listener, limits);
    const connection = await scene.connection({ allowHalfOpen });
    for (const path of ['/refused', '/then']) {
      connection.send(get(path));
      await connection.until(`served ${path}.`);
    }
    scene.asked.splice(0);
    scene.read.splice(0);
    return connection;
  }

  it('never comes to anybody, and what comes behind it on its connection is served as ever', async () => {
    const connection = await used();
    for (let time = 0; time < 3; time += 1) {
      connection.send(post('/refused', 'a body that nobody reads'));
      await untilAnswers(connection, 3 + 2 * time);
      connection.send(post('/served', 'another'));
      await untilAnswers(connection, 4 + 2 * time);
    }
    const answers = readAnswers(connection.received());
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 503, 200, 503, 200, 503, 200]);
    expect(scene.read).to.deep.equal(['/served', '/served', '/served']);
    expect(scene.asked).to.deep.equal(['/refused', '/served', '/refused', '/served', '/refused', '/served']);
  });

  it('is answered as node answers: with the date, and with how long the connection is kept', async () => {
    const connection = await used();
    connection.send(get('/refused'));
    await untilAnswers(connection, 3);
    const [first, , second] = readAnswers(connection.received());
    for (const name of ['connection', 'keep-alive']) {
      expect(second?.headers.get(name), name).to.be.a('string').and.equal(first?.headers.get(name));
    }
    expect(second?.headers.get('date')).to.match(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
  });

  it('is none where nobody was refused before, and not the next one after that either', async () => {
    scene = await open(served);
    const connection = await scene.connection();
    for (const path of ['/a', '/b', '/refused', '/refused', '/c']) {
      const before = scene.read.length;
      connection.send(get(path));
      await untilAnswers(connection, before + 1);
    }
    expect(scene.read).to.deep.equal(['/a', '/b', '/refused', '/refused', '/c']);
    // By then it is known where the parser is.
    expect(scene.asked).to.deep.equal(['/c']);
  });

  it('keeps its connection, however long a head may take', async () => {
    const connection = await used(served, { headMs: 60, requestMs: 120, takingMs: 1_000, lookingMs: 20 });
    for (let answers = 3; answers < 14; answers += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.send(get('/refused'));
      await untilAnswers(connection, answers);
    }
    expect(scene.read).to.deep.equal([]);
  });

  it('does not overtake one whose answer is owed', async () => {
    let answer = (): void => undefined;
    const connection = await used((request, response) => {
      if (request.url === '/slow') answer = () => response.end('slow.');
      else served(request, response);
    });
    connection.send(get('/slow'));
    await eventually(() => scene.read.includes('/slow'));
    connection.send(get('/refused'));
    await eventually(() => scene.read.includes('/refused'));
    answer();
    await untilAnswers(connection, 4);
    expect(connection.received()).to.match(/slow\.[\s\S]*served \/refused\.$/);
    expect(scene.asked).to.deep.equal(['/slow']);
  });

  for (const [what, pieces, then] of [
    ['one whose head came in two pieces', ['GET /pieces HTTP/1.1\r\nHost: x\r\nX-Any:', ' a\r\n\r\n'], '/refused'],
    ['two in one piece', [get('/a') + get('/pieces')], '/refused'],
    ['one and the beginning of another', [get('/pieces') + HALF], '/half'],
    ['a body with the beginning of another', [post('/pieces', 'x').slice(0, -1), `x${HALF}`], '/half'],
    [
      'one in chunks',
      ['POST /pieces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n', '0\r\n\r\n'],
      '/refused',
    ],
  ] as const) {
    it(`is none behind ${what}: where the parser is then, only it knows`, async () => {
      const connection = await used();
      for (const piece of pieces) {
        connection.send(piece);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      await connection.until('served /pieces.');
      connection.send(get('/refused'));
      await connection.until(`served ${then}.`);
      expect(scene.asked).to.not.include('/refused');
      expect(connection.received()).to.not.include('busy');
    });
  }

  it('is one again behind a body that came in pieces', async () => {
    const connection = await used();
    const whole = post('/pieces', 'x'.repeat(30));
    for (const piece of [whole.slice(0, -20), whole.slice(-20, -10), whole.slice(-10)]) {
      connection.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await connection.until('served /pieces.');
    connection.send(get('/refused'));
    await untilAnswers(connection, 4);
    expect(scene.read).to.deep.equal(['/pieces']);
  });

  it('is none as long as some of its body is to come', async () => {
    const connection = await used();
    const whole = post('/refused', 'a body');
    for (const piece of [whole.slice(0, -1), whole.slice(-1), get('/last')]) {
      connection.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await connection.until('served /last.');
    expect(scene.read).to.deep.equal(['/refused', '/last']);
  });

  it('is none in the middle of a body, though it looks like one', async () => {
    const connection = await used();
    const body = get('/refused');
    const whole = post('/pieces', `x${body}`);
    connection.send(whole.slice(0, -body.length));
    await new Promise((resolve) => setTimeout(resolve, 30));
    connection.send(body);
    await connection.until('served /pieces.');
    expect(scene.asked).to.not.include('/refused');
    connection.send(get('/last'));
    await connection.until('served /last.');
    expect(scene.read).to.deep.equal(['/pieces', '/last']);
  });

  /** Sends one whose body ends with the first byte of the body of another, which node then sees nothing else of. */
  async function pieceInBody(connection: RawConnection, looksLikeOne: string, behind: string): Promise<void> {
    const head = `POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: ${looksLikeOne.length - behind.length}\r\n\r\n`;
    for (const piece of [head.slice(0, 20), head.slice(20), looksLikeOne]) {
      connection.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  it('is none behind what only looks like one: the body of another, with the beginning of a third behind it', async () => {
    const connection = await used();
    const behind = get('/b') + HALF;
    await pieceInBody(connection, post('/refused', `x${behind}`), behind);
    await connection.until('served /b.');
    connection.send(get('/refused'));
    await connection.until('served /half.');
    expect(scene.asked).to.deep.equal([]);
    expect(scene.read).to.deep.equal(['/pieces', '/b', '/half']);
  });

  it('is none in the body of one that looks exactly like what came, and began further behind', async () => {
    const connection = await used();
    const [hidden] = post('/served', 'x'.repeat(200)).split(/(?<=\r\n\r\n)/);
    const behind = `${hidden}${'x'.repeat(20)}`;
    await pieceInBody(connection, post('/served', `${'x'.repeat(200 - behind.length)}${behind}`), behind);
    await connection.until('served /served.');
    // 180 bytes of its body are to come.
    connection.send(get('/refused').replace('\r\n', `\r\nX-Any: ${'a'.repeat(180 - get('/refused').length - 9)}\r\n`));
    await new Promise((resolve) => setTimeout(resolve, 30));
    connection.send(get('/last'));
    await connection.until('served /last.');
    expect(scene.asked).to.not.include('/refused');
    expect(scene.read).to.deep.equal(['/pieces', '/served', '/last']);
  });

  it('is none behind the end of its connection, though whoever was too slow for the rest of a body goes on', async () => {
    const connection = await used(served, { headMs: 60, requestMs: 100, takingMs: 1_000, lookingMs: 20 }, true);
    const ended = once(connection.socket, 'end');
    const whole = post('/pieces', 'abc');
    connection.send(whole.slice(0, -1));
    await ended;
    for (const piece of [whole.slice(-1), get('/refused')]) {
      connection.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(scene.asked).to.not.include('/refused');
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
  });

  it('is not piled up as answers for a client that takes none', async () => {
    const connection = await used();
    connection.socket.pause();
    // What can't be sent now goes node's way, which stops reading until it can. Far more than the system holds for one.
    for (let sent = 1; sent <= 500 && scene.read.length === 0; sent += 1) {
      connection.send(get('/refused-at-length'));
      await eventually(() => scene.asked.length + scene.read.length === sent);
    }
    expect(scene.read).to.deep.equal(['/refused-at-length']);
  });

  it('is none once the service stops: the answer says that it is the last', async () => {
    const connection = await used();
    const closed = once(connection.socket, 'close');
    const stopped = scene.stop(1_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    connection.send(get('/refused'));
    await untilAnswers(connection, 3);
    expect(readAnswers(connection.received())[2]?.headers.get('connection')).to.equal('close');
    await Promise.all([closed, stopped]);
  });
});

async function untilAnswers(connection: RawConnection, count: number): Promise<void> {
  await eventually(() => (connection.received().match(/HTTP\/1\.1 /g) ?? []).length >= count);
}

async function eventually(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn += 1) {
    if (turn > 3000) throw new Error('it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
