import { expect } from 'chai';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { repeatedSecrets } from '../../../composition/settings/rules.ts';
import { type Texts, validWith } from './sources.ts';

const [ONE, OTHER] = ['one-secret-of-32-characters-or-more', 'another-one-of-32-characters-or-more'];

/** Settings with a different value for each secret. */
const distinct: Texts = {
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': undefined,
  'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
  'Service:Admin:ApiKey': `${ONE}-0`,
  'Service:Scim:BearerToken': `${ONE}-1`,
  'Service:Scim:PreviousBearerToken': `${ONE}-2`,
  'Service:Ssf:Issuer': 'https://transmitter.example',
  'Service:Ssf:Audience': 'https://mandate.example/events',
  'Service:Ssf:BearerToken': `${ONE}-3`,
  'Service:Ssf:PreviousBearerToken': `${ONE}-4`,
  'Service:Audit:Sink:Url': 'https://sink.example/records',
  'Service:Audit:Sink:BearerToken': `${ONE}-5`,
  'Service:UpstreamIdp:SponsorCheck:BearerToken': `${ONE}-6`,
  'Service:Approvals:Notify:Url': 'https://chat.example/hook',
  'Service:Approvals:Notify:BearerToken': `${ONE}-7`,
};

const KEYS = Object.keys(distinct).filter((key) => /ApiKey$|BearerToken$/.test(key));

describe('repeatedSecrets', () => {
  it('is tested with every credential of the settings', () => {
    const credentials = Object.entries(catalogue).flatMap(([key, { type }]) =>
      type.secret && !/Pem$|ConnectionString$/.test(key) ? [key] : [],
    );
    expect(KEYS).to.have.members(credentials);
  });

  it('returns nothing if all secrets differ or none is set', () => {
    expect(repeatedSecrets(validWith(distinct))).to.deep.equal([]);
    expect(repeatedSecrets(validWith({}))).to.deep.equal([]);
  });

  for (const [at, first] of KEYS.entries()) {
    for (const second of KEYS.slice(at + 1)) {
      // Two equal credentials of one receiver are a start-up error instead.
      if (first === second.replace('Previous', '')) continue;
      it(`returns the names ${first} and ${second} if both have the same secret`, () => {
        const found = repeatedSecrets(validWith({ ...distinct, [first]: OTHER, [second]: OTHER }));
        expect(found).to.deep.equal([[first, second]]);
      });
    }
  }

  it('returns the names of all settings for each repeated secret', () => {
    const settings = validWith({
      ...distinct,
      'Service:Admin:ApiKey': ONE,
      'Service:Scim:BearerToken': OTHER,
      'Service:Scim:PreviousBearerToken': ONE,
      'Service:Ssf:PreviousBearerToken': OTHER,
      'Service:Audit:Sink:BearerToken': ONE,
    });
    expect(repeatedSecrets(settings)).to.deep.equal([
      ['Service:Admin:ApiKey', 'Service:Scim:PreviousBearerToken', 'Service:Audit:Sink:BearerToken'],
      ['Service:Scim:BearerToken', 'Service:Ssf:PreviousBearerToken'],
    ]);
  });
});
