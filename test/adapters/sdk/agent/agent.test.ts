import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { type AgentKey, NotNow, Refused, type Task } from '../../../../adapters/sdk/agent/agent.ts';
import { busy, libraryForSuite, pemOf, refusing, renewed, TOKEN_MS } from '../../../support/agents/agent-library.ts';
import { JIRA } from '../../../support/mandate.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

describe('The agent library', () => {
  const library = libraryForSuite();
  const { made, start, sign, advance, activity, renewals } = library;

  describe('authenticates', () => {
    it('with a PEM, a JWK, or an external signer', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const rsa = await library.mandate.agent({
        jwks: {
          keys: [{ ...privateKey.export({ format: 'jwk' }), ...publicOnly, kid: 'rsa', use: 'sig', alg: 'PS256' }],
        },
      });
      const keys: readonly (readonly [AgentKey, string])[] = [
        [{ pem: library.pem }, library.registered.id],
        [{ pem: library.pem, kid: 'one' }, library.registered.id],
        [{ jwk: { ...jwkOf(library.pem), kid: 'one' } }, library.registered.id],
        [{ alg: 'ES256', kid: 'one', sign }, library.registered.id],
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

    it('and states the purpose of the task only if the program gave one', async () => {
      const subjectToken = library.registered.subjectToken();
      for (const stated of [{ purpose: 'Answer “OPS” & more' }, {}]) {
        await library.agent.startTask({ subjectToken, resource: JIRA, scope: ['jira:read'], ...stated });
      }
      expect(library.requests.sent.map(({ form }) => form.get('purpose'))).to.deep.equal(['Answer “OPS” & more', null]);
    });

    it('with a new assertion for each request, retries included', async () => {
      let failures = 2;
      library.requests.answer = async (_url, _init, pass) => (failures-- > 0 ? busy(503, '1') : pass());
      await start();
      const assertions = library.requests.sent.map(({ form }) => form.get('actor_token'));
      expect(new Set(assertions)).to.have.property('size', 3);
    });

    it('only with usable keys and options, and its errors do not repeat the key', () => {
      const wrong: readonly (readonly [object, RegExp])[] = [
        [{ key: { pem: 'secret-that-is-no-pem' } }, /no private key/],
        [{ key: { jwk: { kty: 'EC', crv: 'P-256', x: 'secret-that-is-no-point' } } }, /no private key/],
        [{ key: { pem: pemOf(generateKeyPairSync('ed25519').privateKey) } }, /P-256/],
        [{ key: { pem: library.pem, alg: 'RS256' } }, /P-256/],
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
        expect(() => made({ pem: library.pem }, changes), String(message))
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
      expect(library.requests.sent).to.have.length(0);
    });

    it('sends no signature of the wrong length', async () => {
      const der = made(signing(async () => new Uint8Array(70)));
      expect(await thrownBy(start(['jira:read'], der)))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .match(/64 bytes/);
      expect(library.requests.sent).to.have.length(0);
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
    library.requests.answer = async () => {
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
    library.requests.answer = async (_url, init, pass) => {
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
        [() => library.agent.startTask({ ...request, subjectToken: 'none' }), 'invalid_grant', undefined],
        [() => start(['jira:read'], made({ pem: library.pem }, { agentId: 'unknown' })), 'invalid_client', undefined],
      ];
      for (const [starting, error, reason] of refusals) {
        expect(await thrownBy(starting()))
          .to.be.instanceOf(Refused)
          .and.include({ error, reason });
      }
    });

    it('as temporarily unavailable when the control plane does not answer in time', async () => {
      let signal: AbortSignal | null | undefined;
      library.requests.answer = (_url, init) => {
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
    library.requests.answer = async (url, init, pass) => {
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
    library.requests.answer = async (_url, init) => {
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
    const subjectToken = library.registered.subjectToken();
    const scope = ['jira:read'];
    for (const [resource, origins] of [
      ['urn:jira', undefined],
      ['jira', undefined],
      [JIRA, ['nonsense']],
      [JIRA, ['mailto:jira@example']],
    ] as const) {
      const request = { subjectToken, resource, scope, ...(origins === undefined ? {} : { origins }) };
      expect(await thrownBy(library.agent.startTask(request)), resource).to.be.instanceOf(TypeError);
    }
    expect(library.requests.sent).to.have.length(0);
  });

  it('shows no token, grant, key or assertion in an error or when it is printed', async () => {
    const task = await start();
    const token = await task.token();
    const grant = (renewals()[0] ?? { form: new URLSearchParams() }).form.get('refresh_token');
    library.requests.answer = async () =>
      refusing(400, { error: `invalid_grant ${token}`, error_description: token, reason: token });
    advance(TOKEN_MS);
    const error = await thrownBy(task.token());
    const shown = [
      inspect(task, { depth: 9, showHidden: true }),
      inspect(library.agent, { depth: 9 }),
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
