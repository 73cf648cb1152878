import { createPrivateKey, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  type Agent,
  type AgentClock,
  type AgentKey,
  createAgent,
  NotNow,
  Refused,
  type Task,
  TaskOver,
} from '../../../../adapters/sdk/agent/agent.ts';
import { freshDatabase } from '../../../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../../support/mandate.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

/** The registered lifetimes: four minutes for a token, twenty for a task. */
const TOKEN_MS = 240_000;
const TASK_MS = 1_200_000;

type Answering = (url: string, init: RequestInit | undefined, pass: () => Promise<Response>) => Promise<Response>;

/** Records the agent's requests. The service answers them, unless a test sets `answer`. */
interface Line {
  readonly fetch: typeof globalThis.fetch;
  readonly sent: { readonly url: string; readonly form: URLSearchParams }[];
  answer: Answering;
}

function line(): Line {
  const sent: Line['sent'] = [];
  const self: Line = {
    sent,
    answer: (_url, _init, pass) => pass(),
    fetch: (input, init) => {
      sent.push({ url: String(input), form: new URLSearchParams(String(init?.body ?? '')) });
      return self.answer(String(input), init, () => fetch(input, init));
    },
  };
  return self;
}

const busy = (status: number, retryAfter?: string): Response =>
  new Response(JSON.stringify({ error: status === 429 ? 'slow_down' : 'temporarily_unavailable' }), {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) },
  });

/** The answer to a renewal of this task, made without the service and its clock. */
const renewed = (token: string, task?: Task): Response =>
  refusing(200, {
    access_token: token,
    refresh_token: 'task_grant_b',
    token_type: 'Bearer',
    expires_in: TOKEN_MS / 1000,
    scope: 'jira:read',
    task_id: task?.id ?? 'task_a',
    task_expires_at: task?.expiresAt.toISOString() ?? '2031-01-01T00:00:00Z',
  });

const refusing = (status: number, body: object): Response => new Response(JSON.stringify(body), { status });

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

describe('The agent library', () => {
  let mandate: Mandate;
  let registered: RegisteredAgent;
  let pem: string;
  let agent: Agent;
  let requests: Line;
  let slept: number[];
  let clock: AgentClock;

  before(async () => {
    mandate = await startMandate({
      database: { name: 'SQLite', engine: 'sqlite', fresh: () => freshDatabase('sqlite') },
    });
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    pem = pemOf(privateKey);
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] };
    registered = await mandate.agent({ jwks });
  });
  after(() => mandate.stop());

  beforeEach(() => {
    requests = line();
    slept = [];
    clock = {
      now: () => mandate.clock.seconds() * 1000,
      // Moves the clock of the service instead of waiting.
      sleep: async (ms) => {
        slept.push(ms);
        mandate.clock.advance(Math.ceil(ms / 1000));
      },
      random: () => 0.5,
    };
    agent = made({ pem });
  });

  const made = (key: AgentKey, changes: object = {}) =>
    createAgent({ issuer: mandate.issuer, agentId: registered.id, key, fetch: toService, clock, ...changes });
  /** The issuer of the test service is only a name; this is the address that it listens on. */
  const toService: typeof globalThis.fetch = (input, init) =>
    requests.fetch(String(input).replace(mandate.issuer, mandate.url), init);
  const start = (scope: readonly string[] = ['jira:read', 'jira:comment'], from = agent) =>
    from.startTask({
      subjectToken: mandate.provider.mintAccessToken({ exp: mandate.clock.seconds() + 7200 }),
      resource: JIRA,
      scope,
    });
  /** A task of an agent whose clock is `now`. */
  const startWith = (now: () => number) => start(['jira:read'], made({ pem }, { clock: { ...clock, now } }));
  const sign = (input: Uint8Array) => signBytes('sha256', input, { key: pem, dsaEncoding: 'ieee-p1363' });
  const advance = (ms: number) => mandate.clock.advance(ms / 1000);
  const activity = async (token: string) => (await mandate.post('/oauth2/introspect', { token })).body;
  const renewals = () => requests.sent.filter(({ form }) => form.get('grant_type') === 'refresh_token');

  describe('authenticates', () => {
    it('with a PEM, a JWK, or an external signer', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const rsa = await mandate.agent({
        jwks: {
          keys: [{ ...privateKey.export({ format: 'jwk' }), ...publicOnly, kid: 'rsa', use: 'sig', alg: 'PS256' }],
        },
      });
      const keys: readonly (readonly [AgentKey, string])[] = [
        [{ pem }, registered.id],
        [{ pem, kid: 'one' }, registered.id],
        [{ jwk: { ...jwkOf(pem), kid: 'one' } }, registered.id],
        [{ alg: 'ES256', kid: 'one', sign }, registered.id],
        [{ pem: pemOf(privateKey) }, rsa.id],
      ];
      for (const [key, agentId] of keys) {
        const task = await start(['jira:read'], made(key, { agentId, instance: 'pod-7' }));
        expect(await activity(await task.token())).to.deep.include({
          active: true,
          act: { sub: `agent:${agentId}`, instance: 'pod-7', depth: 1 },
        });
      }
    });

    it('with a new assertion for each request, retries included', async () => {
      let failures = 2;
      requests.answer = async (_url, _init, pass) => (failures-- > 0 ? busy(503, '1') : pass());
      await start();
      const assertions = requests.sent.map(({ form }) => form.get('actor_token'));
      expect(new Set(assertions)).to.have.property('size', 3);
    });

    it('only with usable keys and options, and its errors do not repeat the key', () => {
      const wrong: readonly (readonly [object, RegExp])[] = [
        [{ key: { pem: 'secret-that-is-no-pem' } }, /no private key/],
        [{ key: { jwk: { kty: 'EC', crv: 'P-256', x: 'secret-that-is-no-point' } } }, /no private key/],
        [{ key: { pem: pemOf(generateKeyPairSync('ed25519').privateKey) } }, /P-256/],
        [{ key: { pem, alg: 'RS256' } }, /P-256/],
        [{ key: { pem: pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey) } }, /2048 bits/],
        // An untyped caller may pass the key's text instead of an object that holds it.
        [{ key: 'secret-pem' }, /key must be/],
        [{ key: undefined }, /key must be/],
        [{ key: {} }, /key must be/],
        [{ issuer: 'http://mandate.example' }, /issuer must be https/],
        [{ issuer: 'https://mandate.exa\tmple' }, /issuer must be an absolute https URL/],
        [{ issuer: 'https://mandate.example\n' }, /issuer must be an absolute https URL/],
        [{ issuer: 'https://mandate.example/?a=secret-that' }, /issuer/],
        [{ agentId: '' }, /agentId/],
        [{ instance: ' '.repeat(3) }, /instance/],
        [{ instance: 'i'.repeat(129) }, /instance/],
        [{ timeoutMs: 0 }, /timeoutMs/],
        [{ timeoutMs: 2 ** 31 }, /timeoutMs/],
        [{ patienceMs: Number.NaN }, /patienceMs/],
      ];
      for (const [changes, message] of wrong) {
        expect(() => made({ pem }, changes), String(message))
          .to.throw(TypeError, message)
          .with.property('message')
          .not.match(/secret/);
      }
    });
  });

  describe('with an external signer', () => {
    const signing = (sign: (input: Uint8Array) => Promise<Uint8Array>) => ({ alg: 'ES256', kid: 'one', sign }) as const;

    it('gives up after the time limit when the signer does not answer', async () => {
      const waiting = made(
        signing(() => new Promise(() => undefined)),
        { timeoutMs: 20, patienceMs: 1 },
      );
      expect(await thrownBy(start(['jira:read'], waiting))).to.be.instanceOf(NotNow);
      expect(requests.sent).to.have.length(0);
    });

    it('sends no signature of the wrong length', async () => {
      const der = made(signing(async () => new Uint8Array(70)));
      expect(await thrownBy(start(['jira:read'], der)))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .match(/64 bytes/);
      expect(requests.sent).to.have.length(0);
    });

    it('returns the current token until it expires while the signer fails', async () => {
      const fault = new Error('The KMS is away.');
      let fails = false;
      const failing = async (input: Uint8Array) => {
        if (fails) throw fault;
        return sign(input);
      };
      const task = await start(['jira:read'], made(signing(failing)));
      const first = await task.token();
      fails = true;
      advance(TOKEN_MS * 0.7);
      expect(await task.token()).to.equal(first);
      advance(TOKEN_MS);
      expect(await thrownBy(task.token())).to.equal(fault);
    });
  });

  describe('renews a token', () => {
    it('after 60% of its lifetime, and returns the same token until then', async () => {
      const task = await start();
      const first = await task.token();
      // The service's clock also moves by itself, by seconds on a busy machine.
      advance(TOKEN_MS * 0.6 - 20_000);
      expect(await task.token()).to.equal(first);
      advance(21_000);
      const second = await task.token();
      expect(second).not.to.equal(first);
      expect(await task.token()).to.equal(second);
      expect(renewals()).to.have.length(1);
      expect(await activity(second)).to.deep.include({ active: true, task_id: task.id });
    });

    it('with one request for any number of callers', async () => {
      const task = await start();
      advance(TOKEN_MS * 0.7);
      const tokens = await Promise.all(Array.from({ length: 100 }, () => task.token()));
      expect(new Set(tokens)).to.have.property('size', 1);
      expect(renewals()).to.have.length(1);
    });

    it('until the task ends, and never returns an expired token', async () => {
      const task = await start();
      const until = clock.now() + TASK_MS;
      let over: unknown;
      for (; over === undefined; advance(7000)) {
        over = await task.token().then(
          async (token) => {
            expect(await activity(token)).to.include({ active: true });
            return undefined;
          },
          (error) => error,
        );
      }
      expect(over).to.be.instanceOf(TaskOver);
      expect(['task_ending', 'task_expired']).to.include((over as TaskOver).reason);
      expect(Math.abs(clock.now() - until)).to.be.at.most(15_000);
      // 20 minutes with a renewal every 2.4 minutes. The last token expires with its task, and is not renewed.
      expect(renewals().length).to.be.within(8, 10);
      const asked = requests.sent.length;
      expect(await thrownBy(task.token())).to.equal(over);
      expect(requests.sent).to.have.length(asked);
    });

    it('no sooner than Retry-After while the control plane is unavailable, and returns the current token', async () => {
      for (const answer of [
        () => busy(503, '60'),
        () => busy(429, '60'),
        () => Promise.reject(new TypeError('fetch failed')),
      ]) {
        const task = await start();
        const first = await task.token();
        advance(TOKEN_MS * 0.7);
        requests.answer = async () => answer();
        const before = renewals().length;
        expect(await task.token()).to.equal(first);
        expect(await task.token()).to.equal(first);
        expect(slept).to.deep.equal([]);
        const asked = renewals().length - before;
        requests.answer = (_url, _init, pass) => pass();
        advance(60_000);
        expect(await task.token()).not.to.equal(first);
        expect(asked).to.equal(1);
      }
    });

    it('instead of returning a token that may expire before it reaches a tool server', async () => {
      for (const [leftMs, isGiven] of [
        [6000, true],
        [4000, false],
      ] as const) {
        let time = clock.now();
        const task = await startWith(() => time);
        const first = await task.token();
        time += TOKEN_MS - leftMs;
        requests.answer = async () => busy(503, '60');
        const given = await task.token().catch((error) => error);
        if (isGiven) expect(given).to.equal(first);
        else expect(given).to.be.instanceOf(NotNow);
        requests.answer = (_url, _init, pass) => pass();
      }
    });

    it('no sooner than Retry-After, a minute at most, and throws at once when that is longer than patienceMs', async () => {
      let time = clock.now();
      const task = await startWith(() => time);
      time += TOKEN_MS;
      requests.answer = async () => busy(503, '3600');
      for (let call = 0; call < 3; call += 1) {
        expect(await thrownBy(task.token()))
          .to.be.instanceOf(NotNow)
          .with.property('retryAfterMs', 60_000);
      }
      expect([slept, renewals().length]).to.deep.equal([[], 1]);
      // A proxy's maintenance page may announce an hour. The task must not end if the service is back before.
      time += 60_000;
      requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    it('again while its token works, whatever the Retry-After of a proxy', async () => {
      let time = clock.now();
      const task = await startWith(() => time);
      const first = await task.token();
      time += TOKEN_MS * 0.9;
      for (const header of ['86400', new Date(time + 86_400_000).toUTCString()]) {
        requests.answer = async () => busy(503, header);
        expect(await task.token()).to.equal(first);
        // Half of what the token still has.
        time += 12_000;
      }
      requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    for (const [what, lived, back] of [
      ['an hour', 0.3, 3_600_000],
      ['half of the age of the token', 0.5, 60_000],
    ] as const) {
      it(`after the clock was moved back by ${what}, because the age of the token is unknown`, async () => {
        let behind = 0;
        const task = await startWith(() => clock.now() - behind);
        advance(TOKEN_MS * lived);
        await task.token();
        behind = back;
        requests.answer = async () => renewed('another.token', task);
        expect([await task.token(), await task.token()]).to.deep.equal(['another.token', 'another.token']);
        expect(renewals()).to.have.length(1);
      });
    }

    it('after Retry-After at the latest when the clock is moved back', async () => {
      let behind = 0;
      const task = await startWith(() => clock.now() - behind);
      advance(TOKEN_MS);
      requests.answer = async () => busy(503, '20');
      await thrownBy(task.token());
      behind = 3_600_000;
      requests.answer = async () => renewed('another.token', task);
      expect(await task.token()).to.equal('another.token');
    });

    it('at most once a second while the control plane refuses', async () => {
      let time = clock.now();
      const task = await startWith(() => time);
      time += TOKEN_MS * 0.7;
      requests.answer = async () => refusing(401, { error: 'invalid_client' });
      const error = await thrownBy(task.token());
      expect(error).to.be.instanceOf(Refused).with.property('error', 'invalid_client');
      expect(await thrownBy(task.token())).to.equal(error);
      expect(renewals()).to.have.length(1);
      time += 1000;
      await thrownBy(task.token());
      expect(renewals()).to.have.length(2);
    });

    for (const [ahead, sentence] of [
      [70, " This machine's clock is 70 s ahead of the control plane's."],
      [-3600, " This machine's clock is 3600 s behind the control plane's."],
      [29, ''],
    ] as const) {
      it(`names a clock that is ${ahead} s ahead only if the assertion is refused and 30 s or more are missing`, async () => {
        const task = await start();
        advance(TOKEN_MS);
        const date = new Date(clock.now() - ahead * 1000).toUTCString();
        const answer = (error: string) => new Response(JSON.stringify({ error }), { status: 401, headers: { date } });
        requests.answer = async () => answer('invalid_client');
        const refused = await thrownBy(task.token());
        expect(refused).to.be.instanceOf(Refused);
        expect((refused as Refused).message).to.equal(`The control plane refused: invalid_client.${sentence}`);
        expect((refused as Refused).clockAheadSeconds).to.equal(sentence === '' ? undefined : ahead);
        advance(2000);
        requests.answer = async () => answer('invalid_scope');
        expect(((await thrownBy(task.token())) as Refused).clockAheadSeconds).to.equal(undefined);
      });
    }

    it('with jittered retries for at most patienceMs after the token has expired', async () => {
      const task = await start();
      advance(TOKEN_MS);
      let failures = 2;
      requests.answer = async (_url, _init, pass) => (failures-- > 0 ? busy(503, '4') : pass());
      expect(await activity(await task.token())).to.include({ active: true });
      expect(slept).to.deep.equal([5000, 5000]);

      advance(TOKEN_MS);
      requests.answer = async () => busy(503, '4');
      const error = await thrownBy(task.token());
      expect(error).to.be.instanceOf(NotNow).with.property('retryAfterMs', 4000);
      expect(slept.slice(2).reduce((sum, ms) => sum + ms, 0)).to.be.at.most(30_000);
      requests.answer = (_url, _init, pass) => pass();
      expect(await activity(await task.token())).to.include({ active: true });
    });
  });

  describe('ends a task', () => {
    const ends: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
      ['task_revoked', () => mandate.admin('DELETE', `/admin/agents/${registered.id}/tasks`), async () => undefined],
      [
        'agent_disabled',
        () => mandate.admin('PATCH', `/admin/agents/${registered.id}`, { enabled: false }),
        () => mandate.admin('PATCH', `/admin/agents/${registered.id}`, { enabled: true }),
      ],
      ['task_expired', async () => advance(TASK_MS), async () => undefined],
      ['task_ending', async () => advance(TASK_MS - 3000), async () => undefined],
    ];
    for (const [reason, end, undo] of ends) {
      it(`after a refusal with ${reason}, and sends no more requests`, async () => {
        const task = await start();
        await end();
        advance(TOKEN_MS * 0.7);
        const answer = reason === 'task_ending' ? refusing(400, { error: 'access_denied', reason }) : undefined;
        requests.answer = async (_url, _init, pass) => answer ?? pass();
        const error = await thrownBy(task.token());
        await undo();
        expect(error).to.be.instanceOf(TaskOver).with.property('reason', reason);
        const asked = requests.sent.length;
        expect(await thrownBy(task.token())).to.equal(error);
        expect(await thrownBy(task.narrow(['jira:read']))).to.equal(error);
        expect(requests.sent).to.have.length(asked);
      });
    }

    it('on end(), and revokes it once when end() is called repeatedly', async () => {
      const task = await start();
      const token = await task.token();
      await Promise.all([task.end(), task.end()]);
      await task.end();
      expect(await activity(token)).to.include({ active: false, revocation_reason: 'client_revoked' });
      expect(await thrownBy(task.token()))
        .to.be.instanceOf(TaskOver)
        .with.property('reason', 'ended');
      expect(requests.sent.filter(({ url }) => url.endsWith('/revoke'))).to.have.length(1);
    });

    it('at the end of its await using block', async () => {
      let token = '';
      {
        await using task = await start();
        token = await task.token();
      }
      expect(await activity(token)).to.include({ active: false });
    });

    it('and ignores an answer to a renewal that arrives later', async () => {
      const task = await start();
      advance(TOKEN_MS * 0.7);
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      requests.answer = async (_url, init, pass) => {
        if (String(init?.body).includes('refresh_token=')) await held;
        return pass();
      };
      const asking = thrownBy(task.token());
      const ended = task.end();
      release();
      await ended;
      expect(await asking).to.be.instanceOf(TaskOver);
      expect(await thrownBy(task.token())).to.be.instanceOf(TaskOver);
    });

    it('and repeats a revocation that failed on the next end()', async () => {
      const task = await start();
      requests.answer = async () => busy(503, '40');
      expect(await thrownBy(task.end())).to.be.instanceOf(NotNow);
      expect(await thrownBy(task.token())).to.be.instanceOf(TaskOver);
      requests.answer = (_url, _init, pass) => pass();
      await task.end();
    });
  });

  describe('narrows a task', () => {
    it('permanently, and returns the remaining scopes', async () => {
      const task = await start(['jira:read', 'jira:comment']);
      expect(await task.narrow(['jira:read'])).to.deep.equal(['jira:read']);
      expect((await activity(await task.token())).scope).to.equal('jira:read');
      advance(TOKEN_MS * 0.7);
      expect((await activity(await task.token())).scope).to.equal('jira:read');
      const wider = await thrownBy(task.narrow(['jira:read', 'jira:comment']));
      expect(wider).to.be.instanceOf(Refused).with.property('error', 'invalid_scope');
      expect((await activity(await task.token())).active).to.equal(true);
    });

    it('during a renewal, without the wider scope that the renewal returns', async () => {
      const task = await start(['jira:read', 'jira:comment']);
      for (let round = 0; round < 3; round += 1) {
        advance(TOKEN_MS * 0.7);
        await Promise.all([task.token(), task.narrow(['jira:read']), task.token()]);
        expect((await activity(await task.token())).scope).to.equal('jira:read');
      }
    });
  });

  it('sends one request at a time for renewing and narrowing a task', async () => {
    const task = await start();
    let underWay = 0;
    let most = 0;
    requests.answer = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 20));
      underWay -= 1;
      return renewed('another.token', task);
    };
    const orders = [
      () => [task.token(), task.narrow(['jira:read'])],
      () => [task.narrow(['jira:read']), task.token()],
      () => [task.narrow(['jira:read']), task.narrow(['jira:read']), task.token()],
    ];
    for (const order of orders) {
      advance(TOKEN_MS * 0.7);
      await Promise.all(order());
    }
    expect(most).to.equal(1);
  });

  it('does not follow a redirect with its assertion', async () => {
    const seen: unknown[] = [];
    requests.answer = async (_url, init, pass) => {
      seen.push(init?.redirect);
      return pass();
    };
    const task = await start();
    await task.narrow(['jira:read']);
    await task.end();
    expect(seen).to.deep.equal(['error', 'error', 'error']);
  });

  describe('reports a failed request', () => {
    it('to start a task with the error code and the reason', async () => {
      const request = { resource: JIRA, scope: ['jira:read'] };
      const refusals: readonly (readonly [() => Promise<Task>, string, string | undefined])[] = [
        [() => start(['jira:unknown']), 'invalid_scope', undefined],
        [() => agent.startTask({ ...request, subjectToken: 'none' }), 'invalid_grant', undefined],
        [() => start(['jira:read'], made({ pem }, { agentId: 'unknown' })), 'invalid_client', undefined],
      ];
      for (const [starting, error, reason] of refusals) {
        expect(await thrownBy(starting()))
          .to.be.instanceOf(Refused)
          .and.include({ error, reason });
      }
    });

    it('as temporarily unavailable when the control plane does not answer in time', async () => {
      let signal: AbortSignal | null | undefined;
      requests.answer = (_url, init) => {
        signal = init?.signal;
        return new Promise(() => undefined);
      };
      // The signer answers at once, so only the answer is late.
      const impatient = made({ alg: 'ES256', kid: 'one', sign }, { timeoutMs: 20, patienceMs: 1 });
      expect(await thrownBy(start(['jira:read'], impatient))).to.be.instanceOf(NotNow);
      expect(signal?.aborted).to.equal(true);
    });
  });

  it('sends the token to the origins of the task only', async () => {
    const task = await start();
    const seen: (string | null)[] = [];
    requests.answer = async (url, init, pass) => {
      if (!url.startsWith('https://jira.example')) return pass();
      seen.push(new Headers(init?.headers).get('authorization'), init?.redirect ?? null);
      return new Response('{}');
    };
    await task.fetch(`${JIRA}/issues?q=1`, { method: 'POST', headers: { 'content-type': 'application/json' } });
    expect(seen).to.deep.equal([`Bearer ${await task.token()}`, 'error']);
    const others = ['https://jira.example.evil.test/', 'http://jira.example/', 'https://jira.example:8443/', '/issues'];
    for (const other of others) expect(await thrownBy(task.fetch(other)), other).to.be.instanceOf(TypeError);
    expect(seen).to.have.length(2);
  });

  it('does not follow a redirect with the token, and overrides an Authorization header of the caller', async () => {
    const task = await start();
    const seen: unknown[] = [];
    requests.answer = async (_url, init) => {
      seen.push([init?.redirect, new Headers(init?.headers).get('authorization')]);
      return new Response('{}');
    };
    const own = `Bearer ${await task.token()}`;
    await task.fetch(JIRA, { redirect: 'follow', headers: { AUTHORIZATION: 'Bearer other' } });
    await task.fetch(new URL(JIRA), { redirect: 'manual', headers: [['authorization', 'Bearer other']] });
    expect(seen).to.deep.equal([
      ['error', own],
      ['manual', own],
    ]);
    for (const elsewhere of [new Request(JIRA), `blob:${JIRA}x`, 'https://jira.example@evil.test/', 'data:,x']) {
      expect(await thrownBy(task.fetch(elsewhere as string)), String(elsewhere)).to.be.instanceOf(TypeError);
    }
  });

  it('starts no task without an origin for its token', async () => {
    const subjectToken = mandate.provider.mintAccessToken();
    const scope = ['jira:read'];
    for (const [resource, origins] of [
      ['urn:jira', undefined],
      ['jira', undefined],
      [JIRA, ['nonsense']],
      [JIRA, ['mailto:jira@example']],
    ] as const) {
      const request = { subjectToken, resource, scope, ...(origins === undefined ? {} : { origins }) };
      expect(await thrownBy(agent.startTask(request)), resource).to.be.instanceOf(TypeError);
    }
    expect(requests.sent).to.have.length(0);
  });

  it('shows no token, grant, key or assertion in an error or when it is printed', async () => {
    const task = await start();
    const token = await task.token();
    const grant = (renewals()[0] ?? { form: new URLSearchParams() }).form.get('refresh_token');
    requests.answer = async () =>
      refusing(400, { error: `invalid_grant ${token}`, error_description: token, reason: token });
    advance(TOKEN_MS);
    const error = await thrownBy(task.token());
    const shown = [
      inspect(task, { depth: 9, showHidden: true }),
      inspect(agent, { depth: 9 }),
      inspect(error, { depth: 9 }),
      JSON.stringify(task),
      String((error as Error).stack),
    ].join();
    for (const secret of [token, grant ?? 'task_grant_', 'eyJ', 'PRIVATE KEY']) expect(shown).not.to.include(secret);
  });
});

const publicOnly = { d: undefined, p: undefined, q: undefined, dp: undefined, dq: undefined, qi: undefined };

function jwkOf(pem: string): Record<string, unknown> {
  return { ...createPrivateKey(pem).export({ format: 'jwk' }) };
}
