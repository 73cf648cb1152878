/** The peer as a contender: started in a child process, asked for client_credentials. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { makeAgentKey } from '../../test/support/agents/agent-key.ts';
import { ASSERTION_LIFETIME, type Contender } from './contender.ts';
import type { PeerListening, PeerSetup } from './peer-server.ts';
import { post } from './post.ts';

const CLIENT_ID = 'bench-client';
const RESOURCE = 'https://jira.example/api';
const SCOPE = 'jira:read jira:comment';

export async function startPeer(): Promise<{ readonly contender: Contender; stop(): void }> {
  const key = await makeAgentKey('ES256');
  const { kty, crv, x, y } = key.publicJwk;
  const setup: PeerSetup = {
    clientId: CLIENT_ID,
    clientJwk: { kty, crv, x, y, kid: key.kid, alg: 'ES256', use: 'sig' },
    resource: RESOURCE,
    scope: SCOPE,
  };
  const child = fork(fileURLToPath(new URL('./peer-server.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, NODE_ENV: 'production', BENCH_PEER: JSON.stringify(setup) },
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the peer ended with ${code}`);
  });
  const [message]: unknown[] = await Promise.race([once(child, 'message'), died]);
  died.catch(() => undefined);
  const target = { host: '127.0.0.1', port: (message as PeerListening).port };
  const issuer = `http://127.0.0.1:${target.port}`;

  const fixed = new URLSearchParams({
    grant_type: 'client_credentials',
    resource: RESOURCE,
    scope: SCOPE,
    client_id: CLIENT_ID,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  }).toString();
  return {
    contender: {
      name: 'oidc-provider, client_credentials',
      target,
      pid: child.pid ?? 0,
      expected: '"access_token"',
      prepare: (count) =>
        Array.from({ length: count }, () => {
          const exp = Math.floor(Date.now() / 1000) + ASSERTION_LIFETIME;
          const assertion = key.signAssertion(CLIENT_ID, { aud: issuer, exp });
          return post(target, '/token', `${fixed}&client_assertion=${assertion}`);
        }),
    },
    stop: () => child.disconnect(),
  };
}
