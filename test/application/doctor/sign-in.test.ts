/** What the doctor says of a sign-in: the metadata's demands, the trial of the client, and what sign-ins have shown. */

import { expect } from 'chai';
import { type PageClient, signInExaminations } from '../../../application/doctor/sign-in.ts';
import type { ClientTrial } from '../../../application/ports/identity-provider.ts';
import type { SignInsQuestion, SignInsSeen } from '../../../application/ports/storage.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { movedClock } from '../../support/moved-clock.ts';

const ACCEPTED: ClientTrial = { kind: 'accepted', pushed: false };
const PUSHED: ClientTrial = { kind: 'accepted', pushed: true };

describe('The examination of a sign-in', () => {
  const clock = movedClock();
  clock.standStill();
  let tried = 0;
  let asked: Pick<SignInsQuestion, 'issuer' | 'since'> | undefined;
  beforeEach(() => {
    tried = 0;
    asked = undefined;
  });

  interface World
    extends Partial<
      Pick<
        PageClient,
        | 'check'
        | 'pushedAuthorization'
        | 'fileProblem'
        | 'unusableEndpoints'
        | 'signedOutAddress'
        | 'accessTokenAudience'
        | 'hasSecret'
      >
    > {
    readonly document?: JsonObject;
    readonly trial?: ClientTrial | 'no_key';
    readonly seen?: Partial<SignInsSeen> | undefined;
  }
  async function examine({ document = {}, trial = ACCEPTED, seen, ...changes }: World) {
    const metadata = {
      description: { issuer: 'https://idp.example', jwksUri: 'https://idp.example/keys' },
      document,
      ahead: undefined,
    };
    const client: PageClient = {
      check: 'sign-in',
      issuer: 'https://mandate.example',
      clientId: 'mandate-page',
      returnAddress: 'https://mandate.example/me/callback',
      signedOutAddress: 'https://mandate.example/me/signed-out',
      hasSecret: false,
      assertionAudience: 'issuer',
      pushedAuthorization: 'auto',
      claims: [],
      fileProblem: async () => undefined,
      metadata: async () => metadata,
      unusableEndpoints: () => [],
      async tryClient() {
        tried += 1;
        return trial;
      },
      publishesKeys: async () => true,
      async signIns(question) {
        asked = question;
        return seen && { lastAt: undefined, dpopDemandedAt: undefined, ...seen };
      },
      clock,
      ...changes,
    };
    const [provider, ofClient] = await Promise.all(signInExaminations(client).map((each) => each.examine()));
    if (provider === undefined || ofClient === undefined) throw new Error('a check is missing');
    return { provider, client: ofClient };
  }

  const demands: readonly (readonly [JsonObject, refutedBy: ClientTrial | undefined, words: string])[] = [
    [{ require_signed_request_object: true }, PUSHED, 'signed request objects (require_signed_request_object)'],
    [
      { token_endpoint_auth_methods_supported: ['tls_client_auth'] },
      ACCEPTED,
      'a client authentication other than private_key_jwt and a client secret (token_endpoint_auth_methods_supported)',
    ],
    [
      { response_modes_supported: ['form_post'] },
      PUSHED,
      'another response mode than query (response_modes_supported)',
    ],
    [
      { id_token_signing_alg_values_supported: ['HS256'] },
      undefined,
      'ID tokens of algorithms that this service does not accept (id_token_signing_alg_values_supported)',
    ],
  ];
  for (const [document, refutedBy, words] of demands) {
    it(`fails if the metadata demands ${words}, unless the trial shows the contrary`, async () => {
      for (const trial of [
        { kind: 'code_first' },
        { kind: 'refused', problem: 'No.' },
        'no_key',
        ACCEPTED,
        PUSHED,
      ] as const) {
        const isRefuted =
          typeof trial === 'object' &&
          trial.kind === 'accepted' &&
          refutedBy?.kind === 'accepted' &&
          (trial.pushed || !refutedBy.pushed);
        const { provider } = await examine({ document, trial });
        expect(provider.status, JSON.stringify(trial)).to.equal(isRefuted ? 'warning' : 'failed');
        if (isRefuted) continue;
        expect(provider).to.deep.equal({
          status: 'failed',
          sentence: `People cannot sign in at /me: the provider's metadata demands ${words}. This service does not do that.`,
          remedy: 'Turn that off at the provider, or use another one for these sign-ins.',
        });
      }
      const unread = await examine({ document, trial: PUSHED, fileProblem: async () => 'The file is missing.' });
      expect(unread.provider.status).to.equal('failed');
      expect(unread.client.sentence).to.equal('The file is missing.');
    });
  }

  it('names all demands together, and tries no client for one that only a sign-in could refute', async () => {
    const document = { require_signed_request_object: true, response_modes_supported: ['jwt'] };
    const { provider } = await examine({ document, check: 'console' });
    expect(provider.sentence).to.match(
      /^Operators cannot sign in at the console: .* signed request objects \(.*\), and another response mode than query \(/,
    );
    tried = 0;
    await examine({ document: { require_pushed_authorization_requests: true }, pushedAuthorization: 'never' });
    expect(tried, 'for the other check').to.equal(1);
  });

  it('says what helps if the setting pushes requests, and the provider has no endpoint for them', async () => {
    const unusableEndpoints = () => ['pushed_authorization_request_endpoint'];
    const { provider } = await examine({ unusableEndpoints, pushedAuthorization: 'always' });
    expect(provider.status).to.equal('failed');
    expect(provider.remedy).to.match(/ Without one, set Service:UpstreamIdp:PushedAuthorization to auto\.$/);
    for (const more of [
      { unusableEndpoints, pushedAuthorization: 'auto' },
      { unusableEndpoints: () => ['token_endpoint'], pushedAuthorization: 'always' },
    ] as const) {
      const other = await examine(more);
      expect(other.provider.status).to.equal('failed');
      expect(other.provider.remedy).not.to.include('PushedAuthorization');
    }
  });

  it('keeps what some providers do without listing it a warning', async () => {
    for (const document of [
      { code_challenge_methods_supported: ['plain'] },
      { token_endpoint_auth_signing_alg_values_supported: ['RS256'] },
      { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
    ]) {
      expect((await examine({ document, trial: { kind: 'code_first' } })).provider.status).to.equal('warning');
    }
  });

  it('says which pushed request, or which proof, the provider refuses the client for', async () => {
    const refused = await examine({ trial: { kind: 'request_refused', problem: 'Its error is "invalid_scope".' } });
    expect(refused.client.status).to.equal('failed');
    expect(refused.client.sentence).to.equal(
      'The provider refuses the pushed request of the client mandate-page, so no person can sign in. Its error is "invalid_scope".',
    );
    expect(refused.client.remedy).to.include('that it need not sign its requests (signed request object)');
    const demanded = await examine({ trial: { kind: 'dpop_demanded' } });
    expect(demanded.client.status).to.equal('failed');
    expect(demanded.client.sentence).to.match(
      /^The provider demands a proof of a key \(DPoP\) of the client mandate-page/,
    );
    const endpoint = 'pushed_authorization_request_endpoint';
    const none = await examine({ trial: { kind: 'no_endpoint', endpoint, problem: 'It hangs.', status: undefined } });
    expect(none.client.sentence).to.equal(
      `The ${endpoint} of the provider's metadata does not answer as one. It hangs.`,
    );
  });

  describe('at a provider whose answer to the trial says nothing of the client', () => {
    const trial = { kind: 'code_first' } as const;

    it('is ok once a person has signed in, and until then asks for that', async () => {
      for (const seen of [undefined, {}]) {
        const { client } = await examine({ trial, seen });
        expect([client.status, client.remedy?.startsWith('Sign in once.')]).to.deep.equal(['warning', true]);
      }
      const seen = { lastAt: plusSeconds(clock.now(), -300) };
      const unclear = await examine({ trial: { kind: 'unclear', problem: 'It hangs.' }, seen });
      expect([unclear.client.status, unclear.client.sentence]).to.deep.equal([
        'warning',
        'Whether the provider still accepts the client mandate-page is not known: the last known sign-in was 5 minutes ago. It hangs.',
      ]);
      expect(unclear.client.remedy).to.match(/^Run this again\. At the provider/);
      const { client } = await examine({ trial, seen });
      expect(client.status).to.equal('ok');
      expect(client.sentence).to.match(
        /^The provider accepts the client mandate-page: the last known sign-in was 5 minutes ago\. /,
      );
      expect(asked).to.deep.equal({ issuer: 'https://idp.example', since: plusSeconds(clock.now(), -24 * 60 * 60) });
    });
  });

  describe('at /oauth2/authorize', () => {
    const at = (secondsAgo: number) => plusSeconds(clock.now(), -secondsAgo);
    const door = {
      check: 'authorize',
      signedOutAddress: undefined,
      accessTokenAudience: 'https://mandate.example',
    } as const;
    const needed =
      ' Its access tokens must be JWTs with the aud https://mandate.example and the scopes of the person. ';

    it('says what no trial shows: whether its access tokens have the audience', async () => {
      for (const trial of [ACCEPTED, { kind: 'code_first' }, { kind: 'unclear', problem: 'No.' }] as const) {
        const { client } = await examine({ ...door, trial });
        expect(client.sentence).to.include(`${needed}No trial shows that: start a task once.`);
        expect(client.sentence).not.to.include('after a sign-out');
        const seen = await examine({ ...door, trial, seen: { lastAt: at(300) } });
        expect(seen.client.sentence).to.include(
          `${needed}That of the last person who started a task was accepted 5 minutes ago.`,
        );
      }
      expect((await examine({ trial: ACCEPTED })).client.sentence).not.to.include('access token');
    });

    it('warns of a refused access token until a person has started a task, and puts no failure behind it', async () => {
      const tokenRefused = { at: at(3600), reason: 'subject_audience_mismatch' };
      for (const lastAt of [undefined, at(7200)]) {
        const { client } = await examine({ ...door, seen: { lastAt, tokenRefused } });
        expect(client.status).to.equal('warning');
        expect(client.sentence).to.equal(
          'The access token of the last sign-in with the client mandate-page, 1 hour ago, was refused: subject_audience_mismatch. No person can start a task with such a token.',
        );
        expect(client.remedy).to.include('ProviderParameters:audience');
      }
      const later = await examine({ ...door, seen: { lastAt: at(60), tokenRefused } });
      expect(later.client.status).to.equal('ok');
      const refused = await examine({ ...door, trial: { kind: 'refused', problem: 'No.' }, seen: { tokenRefused } });
      expect(refused.client.status).to.equal('failed');
      expect((await examine({ seen: { tokenRefused } })).client.status, 'no other client has one').to.equal('ok');
    });

    it('names its own settings and places', async () => {
      const unlisted = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
      const lacking = await examine({ ...door, document: unlisted, trial: { kind: 'code_first' } });
      expect(lacking.provider.sentence).to.include('which the sign-in at /oauth2/authorize uses');
      expect(lacking.provider.remedy).to.include('give Service:Authorize:ClientSecret:Path.');
      const { provider } = await examine(door);
      expect(provider.sentence)
        .to.include('a sign-out there ends no tasks here')
        .and.not.include('end_session_endpoint');
      const refused = await examine({ ...door, hasSecret: true, trial: { kind: 'refused', problem: 'No.' } });
      expect(refused.client.remedy).to.include('Service:Authorize:ClientSecret:Path holds its secret');
    });
  });

  it('repeats a demand for a proof until a sign-in has succeeded, and puts no failure behind it', async () => {
    const at = (secondsAgo: number) => plusSeconds(clock.now(), -secondsAgo);
    for (const trial of [ACCEPTED, PUSHED, { kind: 'code_first' }, { kind: 'unclear', problem: 'No.' }] as const) {
      for (const lastAt of [undefined, at(7200), at(3600)]) {
        const { client } = await examine({ trial, seen: { lastAt, dpopDemandedAt: at(3600) } });
        expect(client.status).to.equal('warning');
        expect(client.sentence).to.equal(
          'The provider demanded a proof of a key (DPoP) at the last sign-in with the client mandate-page, 1 hour ago: sign_in_dpop_demanded. This service sends none.',
        );
      }
    }
    const later = await examine({ seen: { lastAt: at(60), dpopDemandedAt: at(3600) } });
    expect(later.client.status).to.equal('ok');
    const refused = await examine({ trial: { kind: 'refused', problem: 'No.' }, seen: { dpopDemandedAt: at(60) } });
    expect(refused.client.sentence).to.match(/^The provider refuses the client/);
  });
});
