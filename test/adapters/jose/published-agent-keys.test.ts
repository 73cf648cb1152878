import { expect } from 'chai';
import { agentKeys } from '../../../adapters/jose/agent-keys.ts';
import { manyWait } from '../../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { AgentKeys } from '../../../application/ports/keys.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { es, jwsBy, ps, rs, stranger, without } from '../../support/agents/signed-assertion.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { agentIdOf, anAgent, aTrace } from '../../support/domain-fixtures.ts';
import {
  answering,
  type Loopback,
  loopbackForSuite,
  STATUSES_BESIDE_200,
  startLoopback,
  testTrust,
} from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

describe('The published keys of an agent', () => {
  const server = loopbackForSuite(answering({}), { tls: true });
  let clock: MovedClock;
  let log: CapturedLog;
  let keys: AgentKeys;
  let agent: Agent;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    log = capturedLog();
    // A new network has no kept connection. A GET that is cut on a kept connection is sent again.
    keys = agentKeys(httpNetwork({ secureContext: testTrust }), clock, log).at(manyWait());
    agent = anAgent({ keys: { kind: 'remote', uri: `${server.url}/keys/jwks.json?version=3` } });
  });

  const publish = (...published: readonly unknown[]) => {
    server.answer = answering({ keys: published });
  };
  const verdict = async (jws = jwsBy(es), of = agent) => (await keys.verify(of, jws)).kind;

  it('are fetched once over https for concurrent and later callers', async () => {
    publish(es.publicJwk, rs.publicJwk);
    expect(await Promise.all([verdict(), verdict(jwsBy(rs)), verdict()])).to.deep.equal(Array(3).fill('verified'));
    expect(await verdict()).to.equal('verified');
    expect(server.received.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'GET /keys/jwks.json?version=3',
    ]);
  });

  it('are fetched in the trace of the first of concurrent callers, which the log names', async () => {
    server.answer = answering({}, 500);
    const other = { ...aTrace, traceId: 'f'.repeat(32) };
    await Promise.all([aTrace, other, undefined].map((trace) => keys.verify(agent, jwsBy(es), trace)));
    expect(server.received.map(({ headers }) => headers.traceparent)).to.deep.equal([
      `00-${aTrace.traceId}-${aTrace.spanId}-01`,
    ]);
    expect(log.lines.map((line) => JSON.parse(line).trace_id)).to.deep.equal([aTrace.traceId]);
  });

  it('are unavailable after an unforeseen error, which the log reports with the trace of the request', async () => {
    keys = agentKeys({ send: () => Promise.reject(new RangeError('a bug')) }, clock, log).at(manyWait());
    expect((await keys.verify(agent, jwsBy(es), aTrace)).kind).to.equal('keys_unavailable');
    const [bug] = log.lines.map((line) => JSON.parse(line));
    expect(bug).to.include({ message: 'Reading a key set failed.', cause: 'RangeError', trace_id: aTrace.traceId });
  });

  it('are shared by all agents with the same jwks_uri', async () => {
    publish(es.publicJwk);
    await verdict();
    expect(await verdict(jwsBy(es), { ...agent, agentId: agentIdOf('another'), revision: 9 })).to.equal('verified');
    expect(server.received).to.have.length(1);
  });

  it('are not fetched for an unlisted algorithm', async () => {
    expect(await verdict({ ...jwsBy(es), algorithm: 'HS256' })).to.equal('unsupported_algorithm');
    expect(server.received).to.have.length(0);
  });

  it('are fetched again for an unknown kid, at most once in thirty seconds if that does not bring the key', async () => {
    publish(es.publicJwk);
    await verdict();
    publish(stranger.publicJwk);
    expect(await verdict(jwsBy(stranger))).to.equal('verified');
    for (let time = 0; time < 5; time += 1) {
      expect(await verdict(jwsBy(es, { kid: `made-up-${time}` }))).to.equal('unknown_key');
    }
    expect(server.received).to.have.length(3);
    clock.advance(29);
    expect(await verdict(jwsBy(es))).to.equal('unknown_key');
    expect(server.received).to.have.length(3);
    clock.advance(1);
    expect(await verdict(jwsBy(es))).to.equal('unknown_key');
    expect(server.received).to.have.length(4);
  });

  it('are not fetched twice for the same token', async () => {
    publish(es.publicJwk);
    expect(await verdict(jwsBy(stranger))).to.equal('unknown_key');
    expect(server.received).to.have.length(1);
  });

  it('are fetched again for a token without a kid that no key verifies', async () => {
    publish(without(es.publicJwk, 'kid'));
    await verdict(jwsBy(es, { kid: undefined }));
    publish(without(stranger.publicJwk, 'kid'));
    expect(await verdict(jwsBy(stranger, { kid: undefined }))).to.equal('verified');
    for (let time = 0; time < 3; time += 1) {
      expect(await verdict(jwsBy(es, { kid: undefined }))).to.equal('invalid_signature');
    }
    expect(server.received).to.have.length(3);
  });

  it('are fetched again when a new key is published under a known kid, and the old key is refused from then on', async () => {
    publish(es.publicJwk);
    await verdict();
    const renewed = { ...stranger, kid: es.kid };
    publish({ ...stranger.publicJwk, kid: es.kid });
    expect(await verdict(jwsBy(renewed))).to.equal('verified');
    expect(await verdict(jwsBy(es))).to.equal('invalid_signature');
    expect(await verdict(jwsBy(renewed))).to.equal('verified');
  });

  it('are fetched again when a key of another algorithm is published under a known kid', async () => {
    publish(es.publicJwk);
    await verdict();
    publish({ ...rs.publicJwk, kid: es.kid });
    expect(await verdict(jwsBy({ ...rs, kid: es.kid }))).to.equal('verified');
  });

  it('are fetched at most once in thirty seconds for wrong signatures with a known kid', async () => {
    publish(es.publicJwk);
    await verdict();
    for (let time = 0; time < 5; time += 1) {
      expect(await verdict(jwsBy(stranger, { kid: es.kid }))).to.equal('invalid_signature');
      expect(await verdict(jwsBy(es, { kid: 'made-up' }))).to.equal('unknown_key');
    }
    expect(server.received).to.have.length(2);
    clock.advance(30);
    expect(await verdict(jwsBy(stranger, { kid: es.kid }))).to.equal('invalid_signature');
    expect(server.received).to.have.length(3);
    expect(await verdict()).to.equal('verified');
  });

  it('refuse a wrong signature with a known kid as such while a fetch fails', async () => {
    publish(es.publicJwk);
    await verdict();
    server.answer = answering('down', 503);
    for (let time = 0; time < 2; time += 1) {
      expect(await verdict(jwsBy(stranger, { kid: es.kid }))).to.equal('invalid_signature');
      expect(await verdict(jwsBy(stranger, { kid: undefined }))).to.equal('keys_unavailable');
    }
    expect(server.received).to.have.length(2);
  });

  it('are skipped when they are unusable, and no_registered_keys is returned when none is usable', async () => {
    publish(rs.privateJwk, { ...es.publicJwk, use: 'enc' }, ps.publicJwk, 'nonsense');
    expect(await verdict(jwsBy(ps))).to.equal('verified');
    expect(await verdict(jwsBy(rs))).to.equal('unknown_key');
    publish(rs.privateJwk);
    clock.advance(31);
    expect(await verdict(jwsBy(rs))).to.equal('no_registered_keys');
  });

  it('are all tried when several have the same kid', async () => {
    const sameKid = { ...stranger, kid: es.kid };
    publish(es.publicJwk, { ...stranger.publicJwk, kid: es.kid }, rs.publicJwk);
    for (const key of [es, sameKid, rs]) expect(await verdict(jwsBy(key))).to.equal('verified');
  });

  it('are used without the key for encryption that has the same kid', async () => {
    publish({ ...rs.publicJwk, use: 'enc', alg: 'RSA-OAEP' }, rs.publicJwk);
    expect(await verdict(jwsBy(rs))).to.equal('verified');
  });

  it('are used for one more request five minutes after their fetch, and then expire if they are not published', async () => {
    publish(es.publicJwk);
    await verdict();
    publish(stranger.publicJwk);
    clock.advance(300);
    expect(await verdict(jwsBy(es))).to.equal('verified');
    // The request above started a fetch in the background.
    while ((await verdict(jwsBy(es))) === 'verified') await new Promise(setImmediate);
    expect(await verdict(jwsBy(es))).to.equal('unknown_key');
    expect(server.received).to.have.length(3);
  });

  it('expire fifteen minutes after their fetch if they are not published, also without a request before', async () => {
    publish(es.publicJwk);
    await verdict();
    publish(stranger.publicJwk);
    clock.advance(900);
    expect(await verdict(jwsBy(es))).to.equal('unknown_key');
  });

  it('are kept while fetches fail', async () => {
    publish(es.publicJwk);
    await verdict();
    server.answer = answering('down', 503);
    clock.advance(86_400);
    expect(await verdict()).to.equal('verified');
    expect(await verdict(jwsBy(stranger))).to.equal('keys_unavailable');
    expect(await verdict()).to.equal('verified');
  });

  for (const [title, answer] of [
    ['the answer is an error', answering({ keys: [] }, 500)],
    ['the answer is a redirect', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    ['the answer is not JSON', answering('<html>')],
    ['the answer repeats a member', answering('{"keys":[],"keys":[]}')],
    ['the answer is not a key set', answering({ key: [] })],
    ['the answer is longer than 64 KiB', answering({ keys: [], padding: 'x'.repeat(65_536) })],
    ['the connection is cut', (_, response) => response.destroy()],
  ] satisfies [string, Loopback['answer']][]) {
    it(`are unavailable when ${title}, and the log repeats neither the answer nor the path`, async () => {
      server.answer = answer;
      expect(await verdict()).to.equal('keys_unavailable');
      expect(await verdict()).to.equal('keys_unavailable');
      expect(server.received).to.have.length(1);
      expect(log.lines).to.have.length(1);
      expect(log.lines[0]).to.contain(new URL(server.url).host).and.not.contain('version=3').and.not.contain('html');
      clock.advance(1);
      expect(await verdict()).to.equal('keys_unavailable');
      expect(server.received).to.have.length(2);
      expect(log.lines).to.have.length(1);
      publish(es.publicJwk);
      clock.advance(2);
      expect(await verdict()).to.equal('verified');
      expect(log.lines).to.have.length(2);
    });
  }

  for (const status of STATUSES_BESIDE_200) {
    it(`are unavailable when a good key set has the status ${status}`, async () => {
      server.answer = answering({ keys: [es.publicJwk] }, status);
      expect(await verdict()).to.equal('keys_unavailable');
      expect(server.received).to.have.length(1);
      expect(log.lines[0]).to.contain(`The answer's status was ${status}.`);
    });
  }

  it('are all tried for a token without a kid, and a set of more than 64 keys is refused by name', async () => {
    const nameless = without(stranger.publicJwk, 'kid');
    publish(...Array(63).fill(nameless), es.publicJwk);
    expect(await verdict(jwsBy(es, { kid: undefined }))).to.equal('verified');
    expect(await verdict(jwsBy(es))).to.equal('verified');
    publish(...Array(64).fill(nameless), rs.publicJwk);
    clock.advance(31);
    expect(await verdict(jwsBy(rs))).to.equal('keys_unavailable');
    expect(log.lines.at(-1)).to.contain('The set has more than 64 keys.');
    expect(await verdict(jwsBy(es))).to.equal('verified');
  });

  describe('when only public addresses are allowed,', () => {
    const isPublic = new Set<string>();
    beforeEach(() => {
      isPublic.clear();
      const network = httpNetwork({ secureContext: testTrust, isPublic: (address) => isPublic.has(address) });
      keys = agentKeys(network, clock, log, { blockPrivateNetworks: true }).at(manyWait());
      publish(es.publicJwk);
    });

    it('are unavailable at a private address, and the log names each agent, the host and the reason', async () => {
      const another = { ...agent, agentId: agentIdOf('another') };
      for (const one of [agent, another, agent]) expect(await verdict(jwsBy(es), one)).to.equal('keys_unavailable');
      expect(server.received).to.have.length(0);
      const problem = 'The host has an address that is not public.';
      const said = { level: 'warn', host: new URL(server.url).host, problem };
      const lines = log.lines.map((line) => JSON.parse(line) as object);
      expect(lines).to.have.length(2);
      expect(lines[0]).to.include({ ...said, agent: agent.agentId });
      expect(lines[1]).to.include({ ...said, agent: 'another' });
    });

    it('are fetched after the address has become public, and the log says so', async () => {
      expect(await verdict()).to.equal('keys_unavailable');
      isPublic.add('127.0.0.1');
      clock.advance(1);
      expect(await verdict()).to.equal('verified');
      expect(JSON.parse(log.lines[1] ?? '')).to.include({ level: 'info', agent: agent.agentId });
    });
  });

  it('are never fetched over http', async () => {
    const plain = await startLoopback(answering({ keys: [es.publicJwk] }));
    const insecure = anAgent({ keys: { kind: 'remote', uri: `${plain.url}/jwks.json` } });
    expect(await verdict(jwsBy(es), insecure)).to.equal('keys_unavailable');
    expect(plain.received).to.have.length(0);
    await plain.close();
  });
});
