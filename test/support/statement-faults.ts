/**
 * A proxy to Postgres that makes one statement fail. It replaces the statement by one that raises the error, so that
 * session and transaction end up as after a real failure.
 */

import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listening.ts';

export interface Fault {
  readonly sqlState: string;
  /** With `session`, the session ends too. */
  readonly ends?: 'session';
  /** The server executes the statement, and only its response is lost. */
  readonly executes?: true;
}

/** Another statement, sent in place of the original. */
interface Replacement {
  readonly instead: string;
}

export interface StatementFaults {
  readonly port: number;
  /** Counts statements from now on, and lets statement number `nth` fail. The first is 1. */
  arm(nth: number, fault: Fault | Replacement): void;
  /** Lets no statement fail any more. Returns the number of statements since `arm`. */
  disarm(): number;
  close(): Promise<void>;
}

export const LOST_RESPONSE: Fault = { sqlState: '57P01', ends: 'session', executes: true };

const TYPE_AND_LENGTH = 5;
const SYNC = 'S';
const SIMPLE_QUERY = 'Q';
/** ReadyForQuery, the server's last message about a statement. */
const READY = 'Z';
/** Messages of the extended query protocol that come before Sync. */
const PARTS = new Set(['P', 'B', 'D', 'E', 'C', 'H']);
/** Not counted: the first statement of each connection, and the rollback after a failure. */
const NOT_COUNTED = /^\s*(set time zone|rollback)/;
/** Prepared statements of the pools themselves, which belong to no decision. */
const OF_POOLS = /keep_open|server_identity|remembered_records|running_backends/;

export async function statementFaults(target: number): Promise<StatementFaults> {
  const sockets = new Set<Socket>();
  let armed: { readonly nth: number; readonly fault: Fault | Replacement } | undefined;
  let counted = 0;

  /** Counts a statement. Returns the fault if the statement is the nth. */
  const nextFault = (): Fault | Replacement | undefined => {
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
    /** Statements whose answer is not complete: for each, whether the client must not get it. */
    const unanswered: boolean[] = [];
    far.on(
      'data',
      messageReader('of the server', (type, message) => {
        if (unanswered[0] === true) near.destroy();
        else near.write(message);
        if (type === READY) unanswered.shift();
      }),
    );
    const send = (statement: Buffer, fault: Fault | Replacement | undefined) => {
      const losesAnswer = fault !== undefined && 'executes' in fault;
      unanswered.push(losesAnswer);
      far.write(fault === undefined || losesAnswer ? statement : simpleQuery(replacementOf(fault)));
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

/** Splits the bytes of the client into statements. */
function statementReader(
  send: (statement: Buffer, fault: Fault | Replacement | undefined) => void,
  pass: (other: Buffer) => void,
  nextFault: () => Fault | Replacement | undefined,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  return messageReader('of the client', (type, message) => {
    if (type === SIMPLE_QUERY) {
      const isCounted = !NOT_COUNTED.test(message.toString('utf8', TYPE_AND_LENGTH));
      send(message, isCounted ? nextFault() : undefined);
    } else if (type === SYNC) {
      const statement = Buffer.concat([...parts, message]);
      send(statement, OF_POOLS.test(statement.toString('latin1')) ? undefined : nextFault());
      parts = [];
    } else if (type !== undefined && PARTS.has(type)) parts.push(message);
    else pass(message);
  });
}

/** Splits bytes into messages. The first message of a client, StartupMessage, has no type byte. */
function messageReader(
  whose: 'of the client' | 'of the server',
  accept: (type: string | undefined, message: Buffer) => void,
): (chunk: Buffer) => void {
  let received: Buffer = Buffer.alloc(0);
  let hasType = whose === 'of the server';
  return (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const from = hasType ? 1 : 0;
      if (received.length < from + 4) return;
      const length = from + received.readInt32BE(from);
      if (received.length < length) return;
      const message = received.subarray(0, length);
      received = received.subarray(length);
      accept(hasType ? message.toString('latin1', 0, 1) : undefined, message);
      hasType = true;
    }
  };
}

function replacementOf(fault: Fault | Replacement): string {
  if ('instead' in fault) return fault.instead;
  const { sqlState, ends } = fault;
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
