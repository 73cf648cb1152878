import { inspect } from 'node:util';
import { expect } from 'chai';
import { formatVerifierKey } from '../../../domain/log/verifier-key.ts';
import { Secret } from '../../../domain/secret.ts';
import { WITNESS_KEYS } from '../../support/note-vectors.ts';
import { everySetting, TOOL_KEYS } from './every-setting.ts';
import { errorsWith, PEM, validWith } from './sources.ts';

const revealed = (value: unknown) => (value instanceof Secret ? value.reveal() : value);

describe('The settings', () => {
  it('have the defaults of the specification', () => {
    const settings = new Map<string, unknown>(Object.entries(validWith({})));
    for (const [key, row] of Object.entries(everySetting)) {
      if (row.length === 3) expect(settings.get(key), key).to.equal(row[2]);
    }
  });

  it('default HOST to every address, and to loopback on a development host', () => {
    expect(validWith({}).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'production' }).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'Development' }).HOST).to.equal('0.0.0.0');
    expect(validWith({ NODE_ENV: 'development' }).HOST).to.equal('127.0.0.1');
    expect(validWith({ NODE_ENV: 'development', HOST: '::1' }).HOST).to.equal('::1');
  });

  it("default the log's origin to the issuer's host, port and path, then /ledger", () => {
    const originOf = (issuer: string) => validWith({ 'Service:Issuer': issuer })['Service:Audit:Log:Origin'];
    expect(originOf('https://mandate.example:8443/tenant/')).to.equal('mandate.example:8443/tenant/ledger');
    expect(originOf('http://127.0.0.1')).to.equal('127.0.0.1/ledger');
  });

  it('default QueueLimit to four times ConcurrencyLimit', () => {
    expect(validWith({ 'Service:Overload:ConcurrencyLimit': '3' })['Service:Overload:QueueLimit']).to.equal(12);
  });

  it('are all read from the environment', () => {
    const settings = validWith({
      ...Object.fromEntries(Object.entries(everySetting).map(([key, [text]]) => [key, text])),
      'Service:Signing:Keys:0:Path': '/run/secrets/signing.pem',
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:10:Pem': PEM,
      'Service:Signing:Keys:2:Path': '/run/secrets/old.pem',
      'Service:Authorize:ProviderParameters:audience': 'https://mandate.example',
      'Service:Authorize:ProviderParameters:kc_idp_hint': 'staff',
      'Service:Approvals:Resources:0:Audience': 'https://files.example/mcp',
      'Service:Approvals:Resources:0:JwksUri': 'https://files.example/keys',
      'Service:Approvals:Resources:4:Audience': 'http://127.0.0.1:9/tools?a=b',
      'Service:Approvals:Resources:4:Jwks': JSON.stringify(TOOL_KEYS),
      'Service:Audit:Log:Witnesses:0:Url': 'https://w1.example/',
      'Service:Audit:Log:Witnesses:0:VKey': WITNESS_KEYS[0],
      'Service:Audit:Log:Witnesses:3:Url': 'http://127.0.0.1:9/w',
      'Service:Audit:Log:Witnesses:3:VKey': WITNESS_KEYS[1],
    });
    const {
      'Service:Signing:Keys': keys,
      'Service:Audit:Log:Witnesses': witnesses,
      'Service:Approvals:Resources': resources,
      'Service:Authorize:ProviderParameters': parameters,
      ...others
    } = settings;
    expect(resources).to.deep.equal([
      { index: 0, Audience: 'https://files.example/mcp', JwksUri: 'https://files.example/keys', Jwks: undefined },
      { index: 4, Audience: 'http://127.0.0.1:9/tools?a=b', JwksUri: undefined, Jwks: TOOL_KEYS },
    ]);
    expect(parameters).to.deep.equal({ audience: 'https://mandate.example', kc_idp_hint: 'staff' });
    expect(witnesses.map(({ index, Url, VKey }) => [index, Url, VKey && formatVerifierKey(VKey)])).to.deep.equal([
      [0, 'https://w1.example', WITNESS_KEYS[0]],
      [3, 'http://127.0.0.1:9/w', WITNESS_KEYS[1]],
    ]);
    const read = Object.entries(others).map(([key, value]) => [key, revealed(value)]);
    expect(read).to.have.deep.members(Object.entries(everySetting).map(([key, [, value]]) => [key, value]));
    expect(keys.map((key) => [key.index, key.Path, revealed(key.Pem), key.Kid])).to.deep.equal([
      [0, '/run/secrets/signing.pem', undefined, 'spring'],
      [2, '/run/secrets/old.pem', undefined, undefined],
      [10, undefined, PEM, undefined],
    ]);
  });

  it('keep the trailing slash of an upstream issuer, because issuers are compared character by character', () => {
    const settings = validWith({ 'Service:UpstreamIdp:Issuer': 'https://tenant.idp.example/' });
    expect(settings['Service:UpstreamIdp:Issuer']).to.equal('https://tenant.idp.example/');
  });

  it('count as unset if they are empty', () => {
    expect(validWith({ 'Service:Admin:ApiKey': '' })['Service:Admin:ApiKey']).to.equal(undefined);
    expect(validWith({ 'Service:Tokens:DefaultTaskTtl': '', PORT: '' })).to.deep.include({
      'Service:Tokens:DefaultTaskTtl': 1800,
      PORT: 5100,
    });
    expect(errorsWith({ 'Service:Issuer': '' })).to.deep.equal(['Service:Issuer: is required']);
    expect(errorsWith({ 'Service:Signing:Keys:1:Kid': '', 'Service:Audit:Chains': '' })).to.deep.equal([]);
  });

  it('show no secret if they are printed', () => {
    const settings = validWith({
      'Service:Admin:ApiKey': 'sesame'.repeat(6),
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:Keys:0:Pem': PEM,
    });
    const printed = `${inspect(settings, { depth: 9, showHidden: true })}${JSON.stringify(settings)}`;
    expect(printed).to.contain('[redacted]');
    for (const secret of ['sesame', 'hunter2', 'MIGHAgEA']) expect(printed).not.to.contain(secret);
  });
});
