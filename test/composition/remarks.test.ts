import { expect } from 'chai';
import { remarkOn } from '../../composition/remarks.ts';
import { capturedLog } from '../support/captured-log.ts';
import { withEnvironment } from '../support/captured-output.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { type Texts, validWith } from './settings/sources.ts';

describe('The warnings at the start', () => {
  for (const [title, changes, ...expected] of [
    [
      'an issuer of plain http',
      { 'Service:Issuer': 'http://mandate.example' },
      'Service:Issuer is plain http: on the network others can read tokens and grants, and replace the published keys',
    ],
    [
      'a loopback issuer of plain http',
      { 'Service:Issuer': 'http://127.0.0.1:5100' },
      'Service:Issuer is a loopback address outside a development host: only this machine reaches it',
    ],
    ['no issuer of https', { 'Service:Issuer': 'https://mandate.example' }],
    [
      'no issuer of plain http on a development host',
      { 'Service:Issuer': 'http://mandate.example', NODE_ENV: 'development' },
    ],
  ] as const) {
    it(`name ${title}`, () => {
      const log = capturedLog();
      remarkOn(validWith(changes), log);
      expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal(
        expected.map((message) => ({ level: 'warn', message })),
      );
    });
  }

  it('name variables of a proxy that cannot be used, if the provider is plain http on a development host', async () => {
    const variables = { HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: '10.0.0.0/99' };
    const plain = { 'Service:UpstreamIdp:Issuer': 'http://idp.example' };
    const log = capturedLog();
    const remark = (changes: Texts) => withEnvironment(variables, async () => remarkOn(validWith(changes), log));
    await remark({ ...plain, NODE_ENV: 'development' });
    const problem =
      'Entry 1 of NO_PROXY can match no host: write a host, .domain, an address, or a range such as 10.0.0.0/8 or 192.168.*.';
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      { level: 'warn', message: 'requests to https addresses will fail', problem },
    ]);
    for (const changes of [plain, { NODE_ENV: 'development' }]) {
      expect(await thrownBy(remark(changes))).to.include({ name: 'StartupError', message: problem });
    }
  });
});
