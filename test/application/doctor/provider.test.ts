import { expect } from 'chai';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { providerExaminations, receiverExaminations } from '../../../application/doctor/provider.ts';
import { signerAt } from '../../../composition/doctor/provider-sources.ts';
import { answering, loopbackForSuite } from '../../support/loopback.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

describe('The examination of a transmitter', () => {
  const server = loopbackForSuite();

  it('describes the first address by the status of its own response, also if a later one redirects', async () => {
    const access = { network: httpNetwork(), clock: movedClock() };
    const transmitter = signerAt({ kind: 'transmitter', issuer: server.url }, access);
    server.answer = (request, response) =>
      answering({}, request.path.endsWith('/openid-configuration') ? 302 : 404)(request, response);
    const examinations = receiverExaminations({
      backchannelLogout: false,
      refuseLoggedOut: false,
      scim: false,
      transmitter,
      mode: 'poll',
      sponsorKeyClaim: 'sub',
    });
    const discovery = examinations.find(({ check }) => check === 'transmitter discovery');
    expect(await discovery?.examine()).to.deep.include({
      status: 'failed',
      sentence: "Its metadata could not be read. The answer's status was 404.",
    });
  });
});

describe('The examination of the provider clock', () => {
  it('says that there is no metadata, where there is no response that could have a date', async () => {
    const access = { network: httpNetwork(), clock: movedClock() };
    const provider = signerAt({ kind: 'transmitter', issuer: 'http://127.0.0.1:1' }, access);
    const clock = providerExaminations(provider).find(({ check }) => check === 'provider clock');
    expect(await clock?.examine()).to.deep.equal({ status: 'skipped', sentence: 'Its metadata could not be read.' });
  });
});

describe('The examination of the provider keys', () => {
  const server = loopbackForSuite();

  async function findingAbout(...keys: readonly object[]) {
    server.answer = (request, response) =>
      answering(request.path === '/keys' ? { keys } : { issuer: server.url, jwks_uri: `${server.url}/keys` })(
        request,
        response,
      );
    const access = { network: httpNetwork(), clock: movedClock() };
    const signer = signerAt({ kind: 'issuer', issuer: server.url }, access);
    return providerExaminations(signer)
      .find(({ check }) => check === 'provider keys')
      ?.examine();
  }

  it('names each key that is not used, with the reason', async () => {
    const { publicJwk } = await makeSigningKey('ES256');
    expect(await findingAbout(publicJwk)).to.deep.include({
      status: 'ok',
      sentence: 'Its keys were fetched, and can be used.',
    });
    expect(await findingAbout({ ...publicJwk, use: 'enc' }, publicJwk)).to.deep.include({
      status: 'ok',
      sentence: 'Its keys were fetched, and others than these can be used: keys[0] must have no use but sig.',
    });
    expect(await findingAbout({ ...publicJwk, use: 'enc' })).to.deep.include({
      status: 'failed',
      sentence: 'Its keys could not be fetched. No key of the set can be used. keys[0] must have no use but sig.',
    });
  });
});
