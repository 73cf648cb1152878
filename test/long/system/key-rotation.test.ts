/**
 * A rotation of the signing key in the three steps that `mandate keys rotate` prescribes. The replicas are replaced one
 * after another under load (specification "Configuration rules", tool-server contract).
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { JWKSCacheInput } from 'jose';
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwksCache, jwtVerify } from 'jose';
import { runMandate } from '../../support/cli-run.ts';
import { startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { byLength } from '../../support/length.ts';
import {
  ADMIN_KEY,
  type Answer,
  encodeForm,
  type Form,
  JIRA,
  type RegisteredAgent,
  registerAgent,
  sendTo,
} from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';

const ISSUER = 'https://mandate.test';
const REPLICAS = byLength({ short: 1, full: 3 });
/** Short, because step 3 waits until the last token of the old key has expired. */
const TOKEN_SECONDS = 5;
/** The last two seconds of a token are not used, because a busy machine may verify it after its expiry. */
const MARGIN_MS = 2000;
/** How long step 2 waits for caches: ten minutes in tool servers, and five in an HTTP cache. */
const KEY_SET_AGE = 900;
const BETWEEN_REQUESTS_MS = byLength({ short: 120, full: 40 });

type Settings = Readonly<Record<string, string>>;

interface Replica {
  readonly url: string;
  inFlight: number;
  /** Sends SIGTERM. Resolves with the exit code. */
  end(): Promise<number | null>;
}

async function startReplica(settings: Settings): Promise<Replica> {
  const { child, ended, said } = startCommand(['serve'], settings);
  const line = (await said('"listening"')).split('\n').find((one) => one.includes('"listening"')) ?? '';
  const url = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
  while ((await fetch(`${url}/readyz`)).status !== 200) await pause(20);
  return {
    url,
    inFlight: 0,
    end: async () => {
      child.kill('SIGTERM');
      return (await ended).code;
    },
  };
}

/** A round-robin load balancer. It removes a replica after the last request of the replica. */
function loadBalancer() {
  let replicas: readonly Replica[] = [];
  let turn = 0;
  return {
    urls: () => replicas.map(({ url }) => url),
    join: (replica: Replica) => {
      replicas = [...replicas, replica];
    },
    async leave(replica: Replica) {
      replicas = replicas.filter((one) => one !== replica);
      while (replica.inFlight > 0) await pause(5);
    },
    async send(path: string, init: RequestInit = {}): Promise<Answer> {
      const replica = replicas[turn++ % replicas.length];
      if (replica === undefined) throw new Error('no replica is there');
      replica.inFlight += 1;
      try {
        return await sendTo(`${replica.url}${path}`, init);
      } finally {
        replica.inFlight -= 1;
      }
    },
  };
}

type LoadBalancer = ReturnType<typeof loadBalancer>;

const formTo = (balancer: LoadBalancer) => (path: string, form: Form) =>
  balancer.send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: encodeForm(form),
  });

/** The key cache of a tool server, by its contract: ten minutes, and one fetch in 30 s for unknown kids. */
function toolServer(balancer: LoadBalancer) {
  let cache: JWKSCacheInput = {};
  const keySet = () =>
    createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`), {
      cacheMaxAge: 600_000,
      cooldownDuration: 30_000,
      [jwksCache]: cache,
      [customFetch]: async () => new Response((await balancer.send('/.well-known/jwks.json')).text),
    });
  let keys = keySet();
  return {
    async verify(token: string) {
      await jwtVerify(token, keys, { issuer: ISSUER, audience: JIRA, algorithms: ['ES256'], typ: 'at+jwt' });
    },
    /** Makes the cached keys older. */
    age(seconds: number) {
      const { jwks, uat } = cache as { jwks?: object; uat?: number };
      if (jwks === undefined || uat === undefined) throw new Error('nothing has been fetched yet');
      cache = { jwks, uat: uat - seconds * 1000 } as JWKSCacheInput;
      keys = keySet();
    },
  };
}

interface Issued {
  readonly token: string;
  readonly kid: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

function isPresented({ expiresAt }: Issued): boolean {
  return Date.now() < expiresAt - MARGIN_MS;
}

/** Sends exchanges and introspections, and verifies tokens locally, until it is stopped. */
function traffic(balancer: LoadBalancer, agent: RegisteredAgent) {
  const servers = [toolServer(balancer), toolServer(balancer)] as const;
  const lost: string[] = [];
  const kids = new Map<string, number>();
  const [verified, introspected] = [new Map<string, number>(), new Map<string, number>()];
  let issued = 0;
  let live: readonly Issued[] = [];
  let goesOn = true;
  const count = (counts: Map<string, number>, kid: string) => counts.set(kid, (counts.get(kid) ?? 0) + 1);

  async function exchange() {
    const answer = await agent.exchange();
    const { body } = answer;
    if (answer.status !== 200) {
      lost.push(`exchange ${answer.status} ${JSON.stringify(body)}`);
      return;
    }
    issued += 1;
    const token = String(body.access_token);
    const kid = decodeProtectedHeader(token).kid ?? '';
    count(kids, kid);
    const expiresAt = (decodeJwt(token).exp ?? 0) * 1000;
    live = [...live.filter(isPresented), { token, kid, expiresAt }];
  }

  /** Counts a refused token as lost, unless the token has expired. */
  function refused(what: string, { expiresAt }: Issued) {
    if (Date.now() < expiresAt) lost.push(what);
  }

  async function introspect(one: Issued) {
    const { token, kid } = one;
    const { status, body } = await formTo(balancer)('/oauth2/introspect', { token });
    const { active } = body;
    if (active === true) count(introspected, kid);
    else refused(`introspection of a token of ${kid}: ${status}, active ${active}`, one);
  }

  async function verify(one: Issued) {
    const { token, kid } = one;
    for (const [at, server] of servers.entries()) {
      await server.verify(token).then(
        () => count(verified, kid),
        (fault: Error) => refused(`tool server ${at}, a token of ${kid}: ${fault.name}`, one),
      );
    }
  }

  async function again(act: () => Promise<unknown>) {
    while (goesOn) {
      await act().catch((fault: Error) => lost.push(`${fault.name}: ${fault.message} ${String(fault.cause ?? '')}`));
      await pause(BETWEEN_REQUESTS_MS);
    }
  }

  async function withLiveToken(act: (token: Issued) => Promise<unknown>) {
    const usable = live.filter(isPresented);
    const chosen = usable[Math.floor(Math.random() * usable.length)];
    if (chosen !== undefined) await act(chosen);
  }

  const work = [again(exchange), again(() => withLiveToken(introspect)), again(() => withLiveToken(verify))];
  return {
    servers,
    lost,
    counts: () => ({ issued, kids, verified, introspected }),
    async until(condition: () => boolean) {
      while (!condition()) await pause(20);
    },
    async stop() {
      goesOn = false;
      await Promise.all(work);
    },
  };
}

describe(`A rotation of the signing key over ${REPLICAS} replicas`, function () {
  this.timeout(120_000);
  let database: FreshDatabase;
  let provider: IdentityProvider;
  let folder: string;
  let common: Settings;
  const replicas: Replica[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-rotation-'));
    database = await freshDatabase('postgres');
    provider = await startIdentityProvider({ algorithm: 'ES256' });
    common = {
      ...database.settings,
      'Service:Issuer': ISSUER,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      'Service:Agents:MinTokenTtl': 'PT1S',
      'Service:Agents:MaxTokenTtl': 'PT1M',
      'Service:Tokens:DefaultTokenTtl': 'PT1M',
      'Service:Audit:Checkpoint:Interval': 'PT1S',
      'Service:RateLimit:Enabled': 'false',
      HOST: '127.0.0.1',
      PORT: '0',
    };
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica.end()));
    await provider.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('loses no verification of a token, and the published keys verify the ledger', async () => {
    const [former, next] = [join(folder, 'former.pem'), join(folder, 'next.pem')];
    expect((await runMandate(['keys', 'generate', '--out', former])).code).to.equal(0);
    const atFirst: Settings = { ...common, Service__Signing__Keys__0__Path: former };
    const planned = await runMandate(['keys', 'rotate', '--next', next, '--json'], atFirst);
    const plan = JSON.parse(planned.out) as { key: { kid: string }; steps: { settings: Settings }[] };
    const steps = plan.steps.map(({ settings }) => ({ ...common, ...settings }));

    const balancer = loadBalancer();
    const joined = await Promise.all(Array.from({ length: REPLICAS }, () => startReplica(atFirst)));
    for (const replica of joined) balancer.join(replica);
    replicas.push(...joined);
    const load = traffic(balancer, await register(balancer));
    const { kids, verified, introspected } = load.counts();
    await load.until(() => verified.size === 1 && introspected.size === 1);
    const [formerKid = ''] = kids.keys();

    /** Starts all new replicas before the old ones leave, so that both configurations serve at the same time. */
    async function rollOut(settings: Settings): Promise<void> {
      const successors = await Promise.all(Array.from({ length: REPLICAS }, () => startReplica(settings)));
      const leaving: Promise<number | null>[] = [];
      for (const successor of successors) {
        const former = replicas.shift();
        replicas.push(successor);
        balancer.join(successor);
        await pause(100);
        if (former === undefined) continue;
        await balancer.leave(former);
        leaving.push(former.end());
      }
      expect(await Promise.all(leaving), 'each replica ends in order').to.deep.equal(leaving.map(() => 0));
    }
    const rotate = (settings: Settings) =>
      runMandate(['keys', 'rotate', '--next', next, ...balancer.urls().flatMap((url) => ['--server', url])], settings);

    const [published = common, signing = common, retired = common] = steps;
    const { Service__Signing__Keys__0__Path: _former, ...alone } = retired;
    const early = await rotate(published);
    expect(early.code, 'no replica publishes it yet').to.equal(3);
    expect(early.out).to.include(`does not publish yet: ${plan.key.kid}`);
    await rollOut(published);
    const reached = await rotate(published);
    expect(reached.code, reached.out).to.equal(0);
    expect(reached.out).to.include('step 2 is next');

    // The cache of the first tool server has expired after the full wait. The second server must look for the new kid.
    load.servers[0].age(KEY_SET_AGE);
    load.servers[1].age(31);
    expect([...kids.keys()], 'the former key still signs').to.deep.equal([formerKid]);
    await rollOut(signing);
    const beforeNext = kids.get(plan.key.kid) ?? 0;
    await load.until(() => (kids.get(plan.key.kid) ?? 0) > beforeNext + 2 * REPLICAS);
    const kept = await runMandate(['keys', 'show', '--json'], signing);
    const keySet = join(folder, 'published-keys.json');
    writeFileSync(keySet, kept.out);

    // Tokens of the former key are in use, and verify with its public half.
    expect((await runMandate(['keys', 'retire', `--kid=${formerKid}`], retired)).code).to.equal(0);
    await rollOut(retired);
    expect((await rotate(retired)).out).to.include('The current settings include every step.');
    const byRetired = await runMandate(['audit-verify'], retired);
    expect(byRetired.code, byRetired.out).to.equal(0);

    await pause(TOKEN_SECONDS * 1000);
    await rollOut(alone);
    const inTheEnd = verified.get(plan.key.kid) ?? 0;
    await load.until(() => (verified.get(plan.key.kid) ?? 0) > inTheEnd + 2 * REPLICAS);
    await load.stop();

    expect(load.lost).to.deep.equal([]);
    expect([...verified.keys()]).to.have.members([formerKid, plan.key.kid]);
    expect([...introspected.keys()]).to.have.members([formerKid, plan.key.kid]);
    await Promise.all(replicas.splice(0).map((replica) => replica.end()));
    await ledgerHolds(load.counts().issued);

    const bySet = await runMandate(['audit-verify', '--jwks', keySet], database.settings);
    const bySettings = await runMandate(['audit-verify'], signing);
    const byTheNextAlone = await runMandate(['audit-verify'], alone);
    expect([bySet.code, bySettings.code], bySet.out).to.deep.equal([0, 0]);
    expect(byTheNextAlone.code, 'which is why the former key is best left configured').to.equal(3);
    expect(byTheNextAlone.out).to.include('was signed with a key that is not published');
  });

  function register(balancer: LoadBalancer): Promise<RegisteredAgent> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
    const admin = (method: string, path: string, body?: unknown) =>
      balancer.send(path, { method, headers, body: JSON.stringify(body) });
    const balanced = { admin, post: formTo(balancer), issuer: ISSUER, provider, clock: movedClock() };
    return registerAgent(balanced, { max_token_ttl: `PT${TOKEN_SECONDS}S` });
  }

  async function ledgerHolds(issued: number): Promise<void> {
    const outside = await database.outside?.();
    const rows = await outside?.sql(`select count(*)::integer as issued from ledger where event = 'token.issued'`);
    expect(rows).to.deep.equal([{ issued }]);
    await outside?.close();
  }
});
