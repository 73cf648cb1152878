/** Starts the peer, a server to compare with, and describes its load: client_credentials requests to peer-server.ts. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { makeAgentKey } from '../../test/support/agents/agent-key.ts';
import { freePort } from '../free-port.ts';
import { toBytes } from './load.ts';
import type { PeerSetup } from './peer-server.ts';
import { ASSERTION_LIFETIME, type Workload } from './workload.ts';

const CLIENT_ID = 'bench-client';
const RESOURCE = 'https://jira.example/api';
const SCOPE = 'jira:read jira:comment';
const HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };

export async function startPeer(): Promise<{ readonly workload: Workload; stop(): void }> {
  const key = await makeAgentKey('ES256');
  const { kty, crv, x, y } = key.publicJwk;
  const clientJwk = { kty, crv, x, y, kid: key.kid, alg: 'ES256', use: 'sig' };
  const port = await freePort();
  const setup: PeerSetup = { port, clientId: CLIENT_ID, clientJwk, resource: RESOURCE, scope: SCOPE };
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
  const request = () => {
    const exp = Math.floor(Date.now() / 1000) + ASSERTION_LIFETIME;
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
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
      name: 'oidc-provider, client_credentials',
      target,
      pid: child.pid ?? 0,
      databasePid: undefined,
      expected: '"access_token"',
      prepare: (count) => Array.from({ length: count }, request),
    },
    stop: () => child.disconnect(),
  };
}
