/**
 * A proxy to Postgres that makes one statement fail: it sends a statement that raises the error instead, so session
 * and transaction end up as after a real failure.
 */

import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listening.ts';

export interface Fault {
  readonly sqlState: string;
  /** Whether the session ends too. */
  readonly ends?: 'session';
  /** Whether the server executes the statement, so that only its response is lost. */
  readonly executes?: true;
}

export interface StatementFaults {
  readonly port: number;
  /** Counts statements from now on; the nth, from 1, fails. */
  arm(nth: number, fault: Fault): void;
  /** Stops failing, and returns the number of statements since `arm`. */
  disarm(): number;
  close(): Promise<void>;
}

export const LOST_RESPONSE: Fault = { sqlState: '57P01', ends: 'session', executes: true };

const TYPE_AND_LENGTH = 5;
const SYNC = 'S';
const SIMPLE_QUERY = 'Q';
/** Messages of the extended protocol before their Sync. */
const PARTS = new Set(['P', 'B', 'D', 'E', 'C', 'H']);
/** The first statement of each connection, and the rollback of a failed transaction. */
const NOT_COUNTED = /^\s*(set time zone|rollback)/;

export async function statementFaults(target: number): Promise<StatementFaults> {
  const sockets = new Set<Socket>();
  let armed: { readonly nth: number; readonly fault: Fault } | undefined;
  let counted = 0;

  /** The fault of the next statement, if it is the nth. */
  const nextFault = (): Fault | undefined => {
    if (armed === undefined) return undefined;
    counted += 1;
    return counted === armed.nth ? armed.fault : undefined;
  };

  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    let losesAnswer = false;
    far.on('data', (chunk: Buffer) => {
      if (losesAnswer) near.destroy();
      else near.write(chunk);
    });
    const send = (statement: Buffer, fault: Fault | undefined) => {
      losesAnswer = fault?.executes === true;
      far.write(fault === undefined || losesAnswer ? statement : simpleQuery(failing(fault)));
    };
    near.on(
      'data',
      statementReader(send, (other) => far.write(other), nextFault),
    );
  });
  const port = await listen(server);
  return {
    port,
    arm(nth, fault) {
      counted = 0;
      armed = { nth, fault };
    },
    disarm() {
      armed = undefined;
      return counted;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Splits the client's bytes into statements. The start-up message comes first and has no type. */
function statementReader(
  send: (statement: Buffer, fault: Fault | undefined) => void,
  pass: (other: Buffer) => void,
  nextFault: () => Fault | undefined,
): (chunk: Buffer) => void {
  let received: Buffer = Buffer.alloc(0);
  let parts: Buffer[] = [];
  let isStarted = false;

  const take = (length: number): Buffer => {
    const taken = received.subarray(0, length);
    received = received.subarray(length);
    return taken;
  };
  const accept = (message: Buffer): void => {
    const type = message.toString('latin1', 0, 1);
    if (type === SIMPLE_QUERY) {
      const isCounted = !NOT_COUNTED.test(message.toString('utf8', TYPE_AND_LENGTH));
      send(message, isCounted ? nextFault() : undefined);
    } else if (type === SYNC) {
      send(Buffer.concat([...parts, message]), nextFault());
      parts = [];
    } else if (PARTS.has(type)) parts.push(message);
    else pass(message);
  };
  return (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const from = isStarted ? 1 : 0;
      if (received.length < from + 4) return;
      const length = from + received.readInt32BE(from);
      if (received.length < length) return;
      if (isStarted) accept(take(length));
      else pass(take(length));
      isStarted = true;
    }
  };
}

function failing({ sqlState, ends }: Fault): string {
  return ends === 'session'
    ? 'select pg_terminate_backend(pg_backend_pid())'
    : `do $$ begin raise exception 'a failure put there by a test' using errcode = '${sqlState}'; end $$`;
}

function simpleQuery(text: string): Buffer {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(TYPE_AND_LENGTH);
  head.write(SIMPLE_QUERY, 'latin1');
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}
