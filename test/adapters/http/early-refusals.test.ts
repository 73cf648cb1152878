/** Requests that are refused before node has read them, on real connections: which are, and which never may be. */

import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import type { EarlyAnswer } from '../../../adapters/http/early-answers.ts';
import { httpServer, TIME_LIMITS, type TimeLimits } from '../../../adapters/http/server.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { eventually } from '../../support/eventually.ts';
import { readAnswers, takeAnswers } from '../../support/hostile/raw-conversation.ts';
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
  /** What was asked for before it was read, and was then refused if it was `/refused`. `/refused-late` is, once it was read. */
  readonly asked: string[];
  /** What node has read. */
  readonly read: string[];
  connection(options?: { readonly allowHalfOpen?: boolean }): Promise<RawConnection>;
  /** Resolves once the service has read all that was sent on the connection: what is sent next comes by itself. */
  hasAll(connection: RawConnection): Promise<void>;
  /** Whether the server has been told. */
  readonly isStopping: boolean;
  /** Once; as long is waited for what may still come. */
  stop(lingerMs?: number): Promise<void>;
}

async function open(listener: RequestListener, limits: Partial<TimeLimits> = {}): Promise<Scene> {
  const [asked, read]: [string[], string[]] = [[], []];
  const serve: RequestListener = (request, response) => {
    read.push(request.url ?? '');
    listener(request, response);
  };
  const server = httpServer(serve, {
    ...{ log: capturedLog(), limits: { ...TIME_LIMITS, ...limits } },
    refuser: {
      wasTurnedAway: ({ req }) => req.url?.startsWith('/refused') === true,
      turnAway({ url }) {
        asked.push(url);
        if (url === '/refused-at-length') return LONG_REFUSAL;
        return url === '/refused' ? REFUSAL : undefined;
      },
    },
  });
  /** By their clients' ports. */
  const accepted = new Map<number | undefined, Socket>();
  const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (socket) => {
    accepted.set(socket.remotePort, socket);
    server.take(socket);
  });
  const opened: RawConnection[] = [];
  let [isStopped, isStopping] = [false, false];
  return {
    ...{ asked, read },
    get isStopping() {
      return isStopping;
    },
    hasAll: ({ socket }) => eventually(() => accepted.get(socket.localPort)?.bytesRead === socket.bytesWritten),
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
      const stopped = server.stop(lingerMs);
      isStopping = true;
      await stopped;
    },
  };
}

/** Within a suite, each time anew: sets ahead what the service reads of the time. Timers do not go by that. */
function movedTime(): { advance(ms: number): void } {
  const { now } = performance;
  let ahead = 0;
  beforeEach(() => {
    ahead = 0;
    performance.now = () => now.call(performance) + ahead;
  });
  afterEach(() => {
    performance.now = now;
  });
  return {
    advance(ms) {
      ahead += ms;
    },
  };
}

/** Sends it on a new connection. One from which nothing has come in time, as the machine stood still, comes again. */
async function coming(scene: Scene, bytes: string, options?: { readonly allowHalfOpen: boolean }) {
  const seen = () => scene.asked.length + scene.read.length;
  const before = seen();
  while (true) {
    const connection = await scene.connection(options);
    connection.send(bytes);
    await eventually(() => seen() > before || connection.received() !== '' || connection.socket.destroyed);
    if (seen() > before) return connection;
  }
}

/** Each is read before the next comes. */
async function sendPieces(scene: Scene, connection: RawConnection, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    connection.send(piece);
    await scene.hasAll(connection);
  }
}

const served: RequestListener = (request, response) => {
  request.resume();
  response.end(`served ${request.url}.`);
};

/** As refusals are: nobody reads the body. */
const bodyLeft: RequestListener = (request, response) => {
  response.end(`${'x'.repeat(1000)} served ${request.url}.`);
};
/** As those are whose record is written first. */
const later: RequestListener = (request, response) => {
  if (request.url === '/large') request.resume().once('end', () => response.end('served /large.'));
  else setTimeout(() => bodyLeft(request, response), 60);
};

describe('A request that is refused before it is read', () => {
  let scene: Scene;
  const clock = movedTime();
  afterEach(() => scene.stop());

  /** A connection on which the listener turned a request away, and node then read one more. */
  async function used(listener = served, limits?: Partial<TimeLimits>, allowHalfOpen = false): Promise<RawConnection> {
    scene = await open(listener, limits);
    const connection = await coming(scene, get('/refused-late'), { allowHalfOpen });
    await connection.until('served /refused-late.');
    connection.send(get('/then'));
    await connection.until('served /then.');
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
    // By then it is known where the parser is, as it was at the very beginning.
    expect(scene.asked).to.deep.equal(['/a', '/c']);
  });

  it('is one where another was turned away before its body was read, as forms are', async () => {
    scene = await open(bodyLeft);
    const connection = await scene.connection();
    for (const path of ['/refused-late', '/then', '/refused', '/refused']) {
      const before = readAnswers(connection.received()).length;
      connection.send(post(path, 'x'.repeat(3000)));
      await untilAnswers(connection, before + 1);
    }
    expect(scene.read).to.deep.equal(['/refused-late', '/then']);
    expect(scene.asked).to.deep.equal(['/refused-late', '/refused', '/refused']);
  });

  it('keeps its connection, however long a head may take', async () => {
    const connection = await used(served, { headMs: 60, requestMs: 120, lookingMs: 20 });
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
      await sendPieces(scene, connection, pieces);
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
    await sendPieces(scene, connection, [whole.slice(0, -20), whole.slice(-20, -10), whole.slice(-10)]);
    await connection.until('served /pieces.');
    connection.send(get('/refused'));
    await untilAnswers(connection, 4);
    expect(scene.read).to.deep.equal(['/pieces']);
  });

  it('is none as long as some of its body is to come', async () => {
    const connection = await used();
    const whole = post('/refused', 'a body');
    await sendPieces(scene, connection, [whole.slice(0, -1), whole.slice(-1), get('/last')]);
    await connection.until('served /last.');
    expect(scene.read).to.deep.equal(['/refused', '/last']);
  });

  it('is none in the middle of a body, though it looks like one', async () => {
    const connection = await used();
    const body = get('/refused');
    const whole = post('/pieces', `x${body}`);
    await sendPieces(scene, connection, [whole.slice(0, -body.length), body]);
    await connection.until('served /pieces.');
    expect(scene.asked).to.not.include('/refused');
    connection.send(get('/last'));
    await connection.until('served /last.');
    expect(scene.read).to.deep.equal(['/pieces', '/last']);
  });

  /**
   * Behind a request whose head comes in two pieces nobody counts its body. So these begin in the middle of one, and what
   * looks like a request there is one to us and none, or another, to the parser; which in the end is in the head of `/half`,
   * or in a body, and takes for that what looks like a request again.
   */
  async function inBody(connection: RawConnection, length: number, pieces: readonly string[]): Promise<void> {
    const head = `POST /around HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
    await sendPieces(scene, connection, [head.slice(0, 20), head.slice(20), ...pieces]);
  }
  const headOf = (path: string, length: number) => post(path, 'x'.repeat(length)).slice(0, -length);

  for (const [what, path, brought] of [
    ['the body of another that brings one more, and the beginning of a third', '/refused', get('/b')],
    ['another for the same, that says of its body something else', '/served', post('/served', 'abc')],
  ] as const) {
    it(`is none behind ${what}`, async () => {
      const connection = await used();
      const behind = brought + HALF;
      const looksLikeOne = post(path, `x${behind}`);
      await inBody(connection, looksLikeOne.length - behind.length, [looksLikeOne, get('/refused')]);
      await connection.until('served /half.');
      expect(scene.read).to.deep.equal(['/around', brought.split(' ')[1], '/half']);
      expect(scene.asked).to.deep.equal([]);
    });
  }

  it('is none behind what looks like the one before it, which ended in there', async () => {
    const connection = await used();
    const length = 200;
    const head = headOf('/around', length);
    const rest = 'x'.repeat(length - head.length);
    const half = HALF.padEnd(head.length, 'a');
    const pieces = [head.slice(0, 20), head.slice(20), `${head}${rest}${half}`, get('/refused')];
    await sendPieces(scene, connection, pieces);
    await connection.until('served /half.');
    expect(scene.read).to.deep.equal(['/around', '/half']);
    expect(scene.asked).to.deep.equal([]);
  });

  it('is none behind the rest of a body that was another’s', async () => {
    const connection = await used();
    const behind = get('/b') + HALF;
    const [length, rest] = [200, 'x'.repeat(10)];
    const looksLikeOne = `${headOf('/served', length)}${'x'.repeat(length - rest.length - behind.length)}`;
    await inBody(connection, looksLikeOne.length + rest.length, [looksLikeOne, rest + behind, get('/refused')]);
    await connection.until('served /half.');
    expect(scene.read).to.deep.equal(['/around', '/b', '/half']);
    expect(scene.asked).to.deep.equal([]);
  });

  for (const missing of [0, 10]) {
    it(`is none in the body of one that looks exactly like what came, and began further on, ${missing} bytes before its end`, async () => {
      const connection = await used();
      const length = 400;
      const hidden = `${headOf('/served', length)}${'x'.repeat(20)}`;
      const before = 'x'.repeat(length - hidden.length - missing);
      const looksLikeOne = `${headOf('/served', length)}${before}${hidden}`;
      const pieces = missing === 0 ? [looksLikeOne] : [looksLikeOne, 'x'.repeat(missing)];
      await inBody(connection, looksLikeOne.length - hidden.length, pieces);
      const lacks = length - 20 - missing;
      const padding = 'a'.repeat(lacks - get('/refused').length - 'X-Any: \r\n'.length);
      const padded = get('/refused').replace('\r\n', `\r\nX-Any: ${padding}\r\n`);
      await sendPieces(scene, connection, [padded, get('/last')]);
      await connection.until('served /last.');
      expect(scene.read).to.deep.equal(['/around', '/served', '/last']);
      expect(scene.asked).to.not.include('/refused');
    });
  }

  /** Node stops reading from a connection for a while, for any of these. */
  const large = post('/refused-late', 'x'.repeat(40_000));
  const whole = post('/large', 'x'.repeat(40_000));
  for (const [what, listener, pieces] of [
    ['the rest of whose body comes after the answer', bodyLeft, [large.slice(0, 20_000), large.slice(20_000)]],
    ['the rest of whose body comes before the answer', later, [large.slice(0, 20_000), large.slice(20_000)]],
    ['whose large body has come at once', later, [large]],
    ['with many behind it', bodyLeft, [get('/refused-late').repeat(90)]],
    ['with one behind it that is large', later, [get('/refused-late') + whole.slice(0, 20_000), whole.slice(20_000)]],
  ] as const) {
    it(`is not the last that comes on a connection where one was turned away ${what}`, async () => {
      scene = await open(listener);
      const connection = await scene.connection();
      for (const piece of [...pieces, get('/last')]) {
        connection.send(piece);
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      expect(await connection.until('served /last.')).to.include('served /last.');
      expect(scene.read.at(-1)).to.equal('/last');
    });
  }

  it('is followed by an answer that is the last, when the flood is over: another connection costs less again', async () => {
    const connection = await used(served, { calmMs: 60_000 });
    for (let nth = 0; nth < 6; nth += 1) {
      connection.send(get('/refused'));
      await untilAnswers(connection, 3 + nth);
      clock.advance(25_000);
    }
    connection.send(get('/served'));
    await connection.until('served /served.');
    clock.advance(60_000);
    connection.send(get('/again'));
    await once(connection.socket, 'close');
    const answers = readAnswers(connection.received());
    expect(answers.map(({ headers }) => headers.get('connection'))).to.deep.equal([
      ...Array(9).fill('keep-alive'),
      'close',
    ]);
  });

  it('is not served behind the last answer: that is for another connection', async () => {
    const connection = await used(served, { calmMs: 60_000 });
    clock.advance(60_000);
    connection.send(get('/a') + get('/b'));
    await once(connection.socket, 'close');
    expect(scene.read).to.deep.equal(['/a']);
    expect(connection.received()).to.match(/served \/a\.$/);
  });

  it('is none behind the end of its connection, though whoever was too slow for the rest of a body goes on', async () => {
    const connection = await used(served, { headMs: 60, requestMs: 100, lookingMs: 20 }, true);
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
    const stopped = scene.stop(20_000);
    await eventually(() => scene.isStopping);
    connection.send(get('/refused'));
    await untilAnswers(connection, 3);
    expect(readAnswers(connection.received())[2]?.headers.get('connection')).to.equal('close');
    await Promise.all([closed, stopped]);
  });
});

describe('A connection that has not been served', () => {
  let scene: Scene;
  const clock = movedTime();
  beforeEach(async () => {
    scene = await open(served);
  });
  afterEach(() => scene.stop());

  it('is refused by the head from the first request on, and then served as any other', async () => {
    const connection = await scene.connection();
    for (const path of ['/refused', '/refused', '/a', '/refused']) {
      const before = readAnswers(connection.received()).length;
      connection.send(post(path, 'a body that nobody reads'));
      await untilAnswers(connection, before + 1);
    }
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal([503, 503, 200, 503]);
    // It was handed over while requests were turned away, and so was followed from there.
    expect(scene.read).to.deep.equal(['/a']);
  });

  it('is not followed where nothing has been turned away lately: it costs less', async () => {
    await scene.stop();
    scene = await open(served, { calmMs: 60_000 });
    const refused = await scene.connection();
    refused.send(get('/refused'));
    await untilAnswers(refused, 1);
    clock.advance(60_000);
    const connection = await scene.connection();
    for (const path of ['/a', '/refused']) {
      connection.send(get(path));
      await connection.until(`served ${path}.`);
    }
    expect(scene.read).to.deep.equal(['/a', '/refused']);
  });

  for (const [what, pieces, read] of [
    ['a head in two pieces', ['GET /refused HTTP/1.1\r\nHost: x\r\n', 'X-Any: a\r\n\r\n'], ['/refused', '/last']],
    ['a body that is still to come', [post('/refused', 'abc').slice(0, -1), 'c'], ['/refused', '/last']],
    ['two requests in one piece', [get('/refused').repeat(2)], ['/refused', '/refused', '/last']],
    [
      'a request that can be read in two ways',
      [get('/refused').replace('\r\n', '\r\nX-Any:\ta\r\n')],
      ['/refused', '/last'],
    ],
  ] as const) {
    it(`is node's with ${what}`, async () => {
      const connection = await scene.connection();
      await sendPieces(scene, connection, pieces);
      await untilAnswers(connection, read.length - 1);
      connection.send(get('/last'));
      await connection.until('served /last.');
      expect(scene.read).to.deep.equal(read);
      expect(connection.received()).to.not.include('busy');
    });
  }

  it('goes on being followed as long as anybody is turned away, however long it has not been itself', async () => {
    await scene.stop();
    scene = await open(served, { calmMs: 60_000 });
    const [refused, connection] = [await scene.connection(), await scene.connection()];
    for (let nth = 0; nth < 6; nth += 1) {
      refused.send(get('/refused'));
      await untilAnswers(refused, nth + 1);
      connection.send(get('/a'));
      await untilAnswers(connection, nth + 1);
      clock.advance(25_000);
    }
    const said = readAnswers(connection.received()).map(({ headers }) => headers.get('connection'));
    expect(said).to.deep.equal(Array(6).fill('keep-alive'));
  });

  it('is not waited for as for a head, where an empty line follows what was refused', async () => {
    await scene.stop();
    scene = await open(served, { headMs: 60, lookingMs: 20 });
    const connection = await coming(scene, get('/refused'));
    await untilAnswers(connection, 1);
    connection.send('\r\n');
    await new Promise((resolve) => setTimeout(resolve, 150));
    connection.send(get('/a'));
    await untilAnswers(connection, 2);
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal([503, 200]);
  });

  it('is not too slow where it is its first answer that takes long', async () => {
    await scene.stop();
    scene = await open((_request, response) => void setTimeout(() => response.end('slow.'), 150), {
      ...{ headMs: 60, lookingMs: 20 },
    });
    const connection = await coming(scene, get('/a'));
    await connection.until('slow.');
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal([200]);
  });

  it('is not read from faster than its first body is', async () => {
    await scene.stop();
    let bytesRead = () => 0;
    // Nobody reads the body.
    scene = await open(({ socket }) => {
      bytesRead = () => socket.bytesRead;
    });
    const { socket } = await scene.connection();
    socket.write(`POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n${'x'.repeat(40_000)}`);
    await eventually(() => bytesRead() > 40_000);
    const more = Buffer.alloc(1_000_000, 'x');
    for (let sent = 0; sent < 50; sent += 1) socket.write(more);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(bytesRead()).to.be.lessThan(1_000_000);
  });

  it('gets the answers to all that it asked for first, and to what came when node had stopped reading', async () => {
    await scene.stop();
    scene = await open((_request, response) => void response.end('y'.repeat(200_000)));
    const connection = await scene.connection();
    connection.socket.pause();
    connection.send(get('/a').repeat(80));
    for (let time = 0; time < 3; time += 1) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      connection.send(get('/b'));
    }
    await new Promise((resolve) => setTimeout(resolve, 40));
    connection.socket.resume();
    await untilAnswers(connection, 83);
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal(Array(83).fill(200));
  });

  it('gets its refusal and an end, where its client ends it right behind the request', async () => {
    const connection = await scene.connection();
    connection.socket.end(get('/refused'));
    await once(connection.socket, 'close');
    expect(readAnswers(connection.received()).map(({ status }) => status)).to.deep.equal([503]);
  });

  it('is ended where its client ends it without a word', async () => {
    const connection = await scene.connection();
    connection.socket.end();
    await once(connection.socket, 'close');
    expect(connection.received()).to.equal('');
  });

  it('does not have answers piled up for a client that takes none', async () => {
    const connection = await scene.connection();
    connection.socket.pause();
    for (let sent = 1; sent <= 500 && scene.read.length === 0; sent += 1) {
      connection.send(get('/refused-at-length'));
      await eventually(() => scene.asked.length + scene.read.length >= sent);
    }
    expect(scene.read).to.deep.equal(['/refused-at-length']);
  });

  it('holds up no stop, whether it was refused or has said nothing', async () => {
    const [silent, refused] = [await scene.connection(), await scene.connection()];
    refused.send(get('/refused'));
    await untilAnswers(refused, 1);
    const closed = Promise.all([silent, refused].map(({ socket }) => once(socket, 'close')));
    const began = performance.now();
    await Promise.all([scene.stop(100), closed]);
    expect(performance.now() - began).to.be.within(90, 9_000);
  });

  it('is served while the service stops, and told that this is the last answer', async () => {
    const connection = await scene.connection();
    const closed = once(connection.socket, 'close');
    const stopped = scene.stop(20_000);
    await eventually(() => scene.isStopping);
    connection.send(get('/refused'));
    await Promise.all([closed, stopped]);
    const [answer, ...more] = readAnswers(connection.received());
    expect([answer?.status, answer?.headers.get('connection'), more]).to.deep.equal([200, 'close', []]);
  });
});

async function untilAnswers(connection: RawConnection, count: number): Promise<void> {
  await eventually(() => takeAnswers(connection.received()).answers.length >= count);
}
