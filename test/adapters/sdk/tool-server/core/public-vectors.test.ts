/** Public test vectors for parsers of tokens: tokens with foreign signatures, and malformed strings. */

import { expect } from 'chai';
import type { ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { sampleByLength } from '../../../../support/length.ts';
import { answering } from '../../../../support/loopback.ts';
import { describeVectors } from '../../../../support/public-vectors.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';

interface JwsVectors {
  readonly testGroups: readonly {
    readonly public?: object;
    readonly private?: object;
    readonly tests: readonly { readonly tcId: number; readonly jws: string; readonly result: string }[];
  }[];
}

describe('A tool server that gets public test vectors of', () => {
  const fixture = planeForEachTest();
  const { events, toolServer: server } = fixture;
  const ask = ({ authorize, policy }: ToolServer, token: string) =>
    authorize({ authorization: `Bearer ${token}`, route: 'x', policy: policy({ scope: ['jira:read'] }) });

  describeVectors<JwsVectors>('foreign signed tokens', 'wycheproof_json_web_signature_test.json', ({ testGroups }) => {
    it('refuses each token, even with its key among the published keys', async () => {
      let seen = 0;
      for (const { tests, public: published, private: secret } of testGroups) {
        fixture.plane.answerKeys = answering({ keys: [fixture.plane.key.publicJwk, published ?? secret] });
        const toolServer = server();
        for (const { tcId, jws } of tests) {
          const access = await ask(toolServer, jws);
          expect(access.kind === 'refused' && access.status, String(tcId)).to.equal(401);
          seen += 1;
        }
        expect((await ask(toolServer, fixture.plane.token())).kind).to.equal('allowed');
      }
      expect(seen).to.be.greaterThan(100);
      for (const { decision, sub, jti } of events.filter((event) => event.decision === 'deny')) {
        expect([decision, sub, jti]).to.deep.equal(['deny', null, null]);
      }
    });
  });

  describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
    it('accepts no naughty string as a token', async () => {
      const toolServer = server();
      for (const value of strings) {
        const access = await ask(toolServer, value);
        expect(access.kind === 'refused' && access.reason, JSON.stringify(value)).to.be.oneOf([
          ...['missing_token', 'malformed_token'],
        ]);
      }
    });

    it('reads each naughty string exactly as a person, or refuses it', async () => {
      const toolServer = server();
      for (const sub of strings) {
        const access = await ask(toolServer, fixture.plane.token({ sub }));
        if (access.kind === 'allowed') expect(access.claims.sub).to.equal(sub);
        else expect(access.reason, JSON.stringify(sub)).to.be.oneOf(['no_subject', 'malformed_token']);
      }
      expect(events.filter((event) => event.decision === 'allow').length).to.be.greaterThan(strings.length / 2);
    });

    for (const name of ['kid', 'typ', 'alg'] as const) {
      it(`refuses each naughty string as ${name}`, async () => {
        const toolServer = server();
        await ask(toolServer, fixture.plane.token());
        for (const value of sampleByLength(strings)) {
          const access = await ask(toolServer, fixture.plane.token({}, { [name]: value }));
          expect(access.kind === 'refused' && access.status, JSON.stringify(value)).to.equal(401);
        }
      });
    }
  });
});
