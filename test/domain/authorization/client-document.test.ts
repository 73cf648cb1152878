import { expect } from 'chai';
import { judgeClientDocument } from '../../../domain/authorization/client-document.ts';
import { P256_KEY } from '../../support/registrations.ts';

const URI = 'https://app.example/client.json';
const ISSUER = 'https://mandate.test';
const redirect_uris = ['https://app.example/callback', 'http://127.0.0.1/callback'];
const ofNone = { client_id: URI, client_name: 'App', redirect_uris, token_endpoint_auth_method: 'none' };
const ofKeys = { ...ofNone, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [P256_KEY] } };

describe('The document of a client', () => {
  it('gives its redirect URIs and, with private_key_jwt, its keys', () => {
    const valid = (keys: unknown) => ({ kind: 'valid', document: { redirectUris: redirect_uris, keys } });
    expect(judgeClientDocument(ofNone, URI, ISSUER)).to.deep.equal(valid({ kind: 'none' }));
    // Keys say nothing of a client that sends none.
    expect(judgeClientDocument({ ...ofKeys, ...ofNone }, URI, ISSUER)).to.deep.equal(valid({ kind: 'none' }));
    const inline = { kind: 'inline', jwks: { keys: [P256_KEY] } };
    expect(judgeClientDocument(ofKeys, URI, ISSUER)).to.deep.equal(valid(inline));
    const jwks_uri = 'https://keys.example/jwks.json';
    const remote = { ...ofKeys, jwks: undefined, jwks_uri };
    expect(judgeClientDocument(remote, URI, ISSUER)).to.deep.equal(valid({ kind: 'remote', uri: jwks_uri }));
  });

  const refused: readonly (readonly [string, object | undefined | string, RegExp])[] = [
    ['text that is not JSON, or has a member twice', undefined, /JSON object, without a member twice/],
    ['an array', [ofNone], /JSON object/],
    ['no client_id', { ...ofNone, client_id: undefined }, /client_id must be the URL/],
    ['another client_id', { ...ofNone, client_id: `${URI}?` }, /client_id must be the URL/],
    ['a client_id in capitals', { ...ofNone, client_id: URI.toUpperCase() }, /client_id must be the URL/],
    ['a shared secret', { ...ofNone, client_secret: '53cr3t' }, /no client_secret/],
    ['no redirect URI', { ...ofNone, redirect_uris: undefined }, /redirect_uris must be an array/],
    ['redirect URIs of another type', { ...ofNone, redirect_uris: [1] }, /redirect_uris must be an array/],
    [
      'an empty list of redirect URIs',
      { ...ofNone, redirect_uris: [] },
      /redirect_uris cannot be used\. Must have 1 to 16/,
    ],
    ['a script', { ...ofNone, redirect_uris: ['javascript:53cr3t'] }, /redirect_uris cannot be used\. Item 1 must/],
    ['no way to authenticate', { ...ofNone, token_endpoint_auth_method: undefined }, /must be none or private_key_jwt/],
    ['a secret', { ...ofNone, token_endpoint_auth_method: 'client_secret_basic' }, /must be none or private_key_jwt/],
    ['no keys', { ...ofKeys, jwks: undefined }, /exactly one of jwks_uri and jwks/],
    ['keys twice', { ...ofKeys, jwks_uri: 'https://keys.example/k' }, /exactly one of jwks_uri and jwks/],
    [
      'a private key',
      { ...ofKeys, jwks: { keys: [{ ...P256_KEY, d: '53cr3t' }] } },
      /jwks cannot be used\. keys\[0\] carries/,
    ],
    ['a jwks_uri with http', { ...ofKeys, jwks: undefined, jwks_uri: 'http://k.example/k' }, /jwks_uri cannot be used/],
    ['a jwks_uri on our host', { ...ofKeys, jwks: undefined, jwks_uri: 'https://mandate.test/k' }, /of its own/],
    ['a jwks_uri of another type', { ...ofKeys, jwks: undefined, jwks_uri: 53 }, /jwks_uri cannot be used\. Must be a/],
  ];
  for (const [what, document, problem] of refused) {
    it(`is unusable with ${what}, and the sentence repeats nothing of it`, () => {
      const verdict = judgeClientDocument(document as never, URI, ISSUER);
      expect(verdict.kind === 'invalid' && verdict.problem)
        .to.match(problem)
        .and.not.include('53');
    });
  }
});
