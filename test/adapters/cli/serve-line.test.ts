import { expect } from 'chai';
import { readServeLine } from '../../../adapters/cli/serve-line.ts';

describe('The line that starts the service', () => {
  const starts: readonly (readonly [readonly string[], ReturnType<typeof readServeLine>])[] = [
    [[], []],
    [['serve'], []],
    [['--PORT=5100'], [{ key: 'PORT', value: '5100' }]],
    [
      ['--Service:Issuer', 'https://a.example', 'serve', '--HOST=::1'],
      [
        { key: 'Service:Issuer', value: 'https://a.example' },
        { key: 'HOST', value: '::1' },
      ],
    ],
  ];
  for (const [argv, settings] of starts) {
    it(`is "mandate ${argv.join(' ')}", with its settings`, () => expect(readServeLine(argv)).to.deep.equal(settings));
  }

  const others = [
    ['migrate'],
    ['serve', '--help'],
    ['serve', 'twice'],
    ['serve', 'serve'],
    ['--version'],
    ['-h'],
    [''],
    ['--'],
    ['--', 'serve'],
    ['Serve'],
    ['serve', '--Service:Issuer'],
  ];
  for (const argv of others) {
    it(`is not "mandate ${argv.join(' ')}", which needs the argument parser`, () =>
      expect(readServeLine(argv)).to.equal(undefined));
  }
});
