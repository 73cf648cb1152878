import { expect } from 'chai';
import { travelsInTheClear } from '../../domain/address.ts';

describe('a request over the network', () => {
  for (const [address, inTheClear] of [
    ['https://mandate.example', false],
    ['http://mandate.example', true],
    ['http://localhost:5100', false],
    ['http://127.0.0.1:5100', false],
    ['http://127.1.2.3', false],
    ['http://[::1]:5100', false],
    ['http://127.0.0.1.example', true],
    ['http://localhost.example', true],
    ['http://10.0.0.1', true],
    ['http://0.0.0.0', true],
    ['http://[::ffff:10.0.0.1]', true],
  ] as const) {
    it(`to ${address} ${inTheClear ? 'can be read on the network' : 'cannot be read on the network'}`, () => {
      expect(travelsInTheClear(new URL(address))).to.equal(inTheClear);
    });
  }
});
