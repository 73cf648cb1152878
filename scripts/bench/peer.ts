/** Starts a peer, a server to compare with (peer-server.ts), and describes its load. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { makeAgentKey } from '../../test/support/agents/agent-key.ts';
import { freePort } from '../free-port.ts';
import { toBytes } from './load.ts';
import type { PeerSetup } from './peer-server.ts';
import type { PeerDatabase } from './peer-storage.ts';
import type { SubjectTokens } from './subject-tokens.ts';
import { ASSERTION_LIFETIME, type Workload } from './workload.ts';

export interface Peer {
  readonly workload: Workload;
  stop(): void;
}

/** What the peer that stores needs. */
interface StoringPeer {
  /** The name of the database in the report. */
  readonly name: string;
  readonly database: PeerDatabase;
  /** The process id of the database server. `undefined` on SQLite. */
  readonly databasePid: number | undefined;
  readonly subjectTokens: SubjectTokens;
}

export const PEER_IN_MEMORY = 'peer in memory';
export const peerThatStores = (database: string) => `peer that stores, ${database}`;

const CLIENT_ID = 'bench-client';
const RESOURCE = 'https://jira.example/api';
const SCOPE = 'jira:read jira:comment';
const HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };

/** @param storing by default the peer is the one in memory */
export async function startPeer(storing?: StoringPeer): Promise<Peer> {
  const key = await makeAgentKey('ES256');
  const { kty, crv, x, y } = key.publicJwk;
  const clientJwk = { kty, crv, x, y, kid: key.kid, alg: 'ES256', use: 'sig' };
  const port = await freePort();
  const stores = storing && { database: storing.database, upstream: upstreamOf(storing.subjectTokens) };
  const setup: PeerSetup = {
    port,
    clientId: CLIENT_ID,
    clientJwk,
    resource: RESOURCE,
    scope: SCOPE,
    stores,
  };
  const child = fork(fileURLToPath(new URL('./peer-server.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, NODE_ENV: 'production', BENCH_PEER: JSON.stringify(setup) },
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the peer ended with ${code}`);
  });
  await Promise.race([once(child, 'message'), died]);
  died.catch(() => undefined);
  const target = { host: '127.0.0.1', port };
  const aud = `http://127.0.0.1:${port}`;
  const nextToken = storing?.subjectTokens.inOrder();
  const request = () => {
    const exp = Math.floor(Date.now() / 1000) + ASSERTION_LIFETIME;
    const body = new URLSearchParams({
      ...(nextToken === undefined ? { grant_type: 'client_credentials' } : exchangeOf(nextToken())),
      resource: RESOURCE,
      scope: SCOPE,
      client_id: CLIENT_ID,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: key.signAssertion(CLIENT_ID, { aud, exp }),
    }).toString();
    return toBytes(target, { method: 'POST', path: '/token', headers: HEADERS, body });
  };
  return {
    workload: {
      name: storing === undefined ? PEER_IN_MEMORY : peerThatStores(storing.name),
      target,
      pid: child.pid ?? 0,
      databasePid: storing?.databasePid,
      expected: '"access_token"',
      prepare: async (count) => Array.from({ length: count }, request),
    },
    stop: () => child.disconnect(),
  };
}

function upstreamOf({ provider: { issuer, audience } }: SubjectTokens) {
  return { issuer, audience };
}

function exchangeOf(subjectToken: string) {
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjectToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
}
