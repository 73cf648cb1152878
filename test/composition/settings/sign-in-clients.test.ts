/** What the settings make of the clients with which people sign in. */

import { expect } from 'chai';
import { authorizeChoice } from '../../../composition/settings/alternatives.ts';
import { authorizeClient, consoleClient, meClient } from '../../../composition/settings/sign-in-clients.ts';
import { LONGEST_SIGN_IN_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import { door, validWith } from './sources.ts';

describe('The client of the page /me', () => {
  /** That of the client for tasks that people start is the same. */
  const claimsWith = (changes: Readonly<Record<string, string>>) => {
    const settings = validWith({ ...door, ...changes });
    const claims = meClient(settings)?.moreClaims;
    expect(authorizeClient(settings)?.moreClaims).to.deep.equal(claims);
    return claims;
  };

  it('asks for no claims of a name unless Service:Me:AskForName is true, since some providers refuse a sign-in for them', () => {
    for (const changes of [{}, { 'Service:Me:AskForName': 'false' }]) expect(claimsWith(changes)).to.deep.equal([]);
    const names = ['preferred_username', 'name', 'email'];
    expect(claimsWith({ 'Service:Me:AskForName': 'true' })).to.deep.equal(names);
  });
});

describe('The client for tasks that people start', () => {
  it('has the settings of Service:Authorize, and is the only one that keeps an access token', () => {
    const settings = validWith({
      ...door,
      'Service:Issuer': 'https://mandate.example/tenant',
      'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
      'Service:UpstreamIdp:PushedAuthorization': 'always',
      'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
      'Service:Authorize:ScopePrefix': 'api://mandate/',
      'Service:Authorize:ProviderParameters:audience': 'https://mandate.example',
      'Service:Operators:ClientId': 'console',
      'Service:Operators:Roles:Viewer': 'v',
      'Service:Console:Port': '5200',
      'Service:Console:Origin': 'https://console.example',
    });
    expect(authorizeClient(settings)).to.deep.equal({
      clientId: 'door',
      redirectUri: 'https://mandate.example/tenant/oauth2/authorize/callback',
      signedOutUri: undefined,
      sponsorKeyClaim: 'oid',
      longestSignIn: LONGEST_SIGN_IN_SECONDS,
      moreClaims: [],
      assertionAudience: 'token_endpoint',
      pushedAuthorization: 'always',
      providerParameters: { audience: 'https://mandate.example' },
      scopePrefix: 'api://mandate/',
      keepsAccessToken: true,
    });
    for (const client of [meClient(settings), consoleClient(settings)]) {
      expect(client).not.to.have.any.keys('keepsAccessToken', 'providerParameters', 'scopePrefix');
    }
  });

  it('does not exist without Service:Authorize:ClientId, and neither does a choice of its settings', () => {
    const settings = validWith({ 'Service:Me:ClientId': 'page' });
    expect([authorizeClient(settings), authorizeChoice(settings)]).to.deep.equal([undefined, undefined]);
  });

  it('has the choices of the settings, in seconds', () => {
    const chosen = authorizeChoice(
      validWith({
        ...door,
        'Service:Authorize:PublicClients': 'true',
        'Service:Authorize:Registration': 'known',
        'Service:Authorize:RequestTtl': 'PT2M',
        'Service:Authorize:CodeTtl': 'PT11S',
        'Service:Authorize:MaxAuthAge': 'PT3M',
      }),
    );
    expect(chosen).to.deep.equal({
      clientId: 'door',
      publicClients: true,
      answersRegistration: true,
      requestTtl: 120,
      codeTtl: 11,
      maxAuthAge: 180,
    });
    expect(authorizeChoice(validWith(door))).to.deep.include({ publicClients: false, answersRegistration: false });
  });
});
