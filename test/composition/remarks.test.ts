import { expect } from 'chai';
import { remarkOn } from '../../composition/remarks.ts';
import { capturedLog } from '../support/captured-log.ts';
import { validWith } from './settings/sources.ts';

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
});
