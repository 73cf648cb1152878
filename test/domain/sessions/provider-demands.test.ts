import { expect } from 'chai';
import { pushesRequest, unmetDemands } from '../../../domain/sessions/provider-demands.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

const REQUIRES = { require_pushed_authorization_requests: true } as const;

describe('The demands of a provider', () => {
  it('decide with auto whether the request is pushed: only the value true does', () => {
    expect(pushesRequest(REQUIRES, 'auto')).to.equal(true);
    const endpoint = 'https://idp.example/par';
    for (const document of [
      {},
      { pushed_authorization_request_endpoint: endpoint },
      { require_pushed_authorization_requests: false },
      { require_pushed_authorization_requests: null },
      { require_pushed_authorization_requests: 'true' },
      { require_pushed_authorization_requests: 1 },
    ]) {
      expect(pushesRequest(document, 'auto'), JSON.stringify(document)).to.equal(false);
      expect(pushesRequest(document, 'always')).to.equal(true);
    }
    expect(pushesRequest(REQUIRES, 'never')).to.equal(false);
  });

  const unmet = (document: JsonObject, choice: 'auto' | 'always' | 'never' = 'auto') =>
    unmetDemands(document, choice).map(({ member }) => member);

  it('are met where the metadata leaves its lists out, has them empty or malformed, or names one of our values', () => {
    for (const document of [
      {},
      {
        require_signed_request_object: false,
        token_endpoint_auth_methods_supported: [],
        response_modes_supported: 'form_post',
        id_token_signing_alg_values_supported: [1, 'none'],
      },
      {
        token_endpoint_auth_methods_supported: ['tls_client_auth', 'private_key_jwt'],
        response_modes_supported: ['jwt', 'query'],
        id_token_signing_alg_values_supported: ['none', 'RS256'],
      },
      { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
      { token_endpoint_auth_methods_supported: ['self_signed_tls_client_auth', 'client_secret_post'] },
      // RFC 9864 §2.2.
      { id_token_signing_alg_values_supported: ['Ed25519'] },
    ] as const) {
      expect(unmet(document), JSON.stringify(document)).to.deep.equal([]);
    }
    expect(unmet(REQUIRES)).to.deep.equal([]);
    expect(unmet(REQUIRES, 'always')).to.deep.equal([]);
  });

  it('are unmet if a sign-in cannot do what they name', () => {
    const cases: readonly (readonly [JsonObject, string])[] = [
      [{ require_signed_request_object: true }, 'require_signed_request_object'],
      [{ token_endpoint_auth_methods_supported: ['tls_client_auth'] }, 'token_endpoint_auth_methods_supported'],
      [
        { token_endpoint_auth_methods_supported: ['tls_client_auth', 'self_signed_tls_client_auth'] },
        'token_endpoint_auth_methods_supported',
      ],
      [{ token_endpoint_auth_methods_supported: ['client_secret_jwt'] }, 'token_endpoint_auth_methods_supported'],
      [{ response_modes_supported: ['form_post'] }, 'response_modes_supported'],
      [{ response_modes_supported: ['jwt', 'query.jwt', 'fragment'] }, 'response_modes_supported'],
      [{ id_token_signing_alg_values_supported: ['HS256', 'none'] }, 'id_token_signing_alg_values_supported'],
    ];
    for (const [document, member] of cases) expect(unmet(document), JSON.stringify(document)).to.deep.equal([member]);
    expect(unmet(REQUIRES, 'never')).to.deep.equal(['require_pushed_authorization_requests']);
  });
});
