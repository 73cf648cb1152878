import { expect } from 'chai';
import { splitSettingArguments } from '../../../adapters/cli/setting-arguments.ts';

describe('Settings on the command line', () => {
  it('are read as --key=value and as --key value, at any position, in order', () => {
    const argv = ['--Service:Issuer=https://a.example', 'migrate', '--Service:Database:Path', 'a b.db', '--verbose'];
    expect(splitSettingArguments(argv)).to.deep.equal({
      kind: 'split',
      settings: [
        { key: 'Service:Issuer', value: 'https://a.example' },
        { key: 'Service:Database:Path', value: 'a b.db' },
      ],
      others: ['migrate', '--verbose'],
    });
  });

  const values: readonly (readonly [readonly string[], string])[] = [
    [['--Service:Key='], ''],
    [['--Service:Key', ''], ''],
    [['--Service:Key=a=b=c'], 'a=b=c'],
    [['--Service:Key', '-----BEGIN PRIVATE KEY-----\nMIG='], '-----BEGIN PRIVATE KEY-----\nMIG='],
    [['--Service:Key=two\nlines'], 'two\nlines'],
    [['--Service:Key', '-1'], '-1'],
    [['--Service:Key=--Service:Other=x'], '--Service:Other=x'],
  ];
  for (const [argv, value] of values) {
    it(`have the value ${JSON.stringify(value)} for ${JSON.stringify(argv)}`, () => {
      expect(splitSettingArguments(argv)).to.deep.equal({
        kind: 'split',
        settings: [{ key: 'Service:Key', value }],
        others: [],
      });
    });
  }

  for (const argv of [
    ['--Service:Key'],
    ['--Service:Key', '--help'],
    ['--Service:Key', '-h'],
    ['--Service:Key', '--Service:Other=1'],
  ]) {
    it(`are refused without a value: ${argv.join(' ')}`, () => {
      expect(splitSettingArguments(argv)).to.deep.equal({ kind: 'value_missing', key: 'Service:Key' });
    });
  }

  it('keep the letter case of their key, so that the settings can suggest the right key', () => {
    expect(splitSettingArguments(['--service:issuer=x'])).to.deep.include({
      settings: [{ key: 'service:issuer', value: 'x' }],
    });
  });

  it('include HOST, PORT and NODE_ENV', () => {
    expect(splitSettingArguments(['serve', '--PORT=5101', '--HOST', '::1', '--NODE_ENV=development'])).to.deep.equal({
      kind: 'split',
      settings: [
        { key: 'PORT', value: '5101' },
        { key: 'HOST', value: '::1' },
        { key: 'NODE_ENV', value: 'development' },
      ],
      others: ['serve'],
    });
  });

  it('end at a double dash', () => {
    expect(splitSettingArguments(['--Service:A=1', '--', '--Service:B=2'])).to.deep.equal({
      kind: 'split',
      settings: [{ key: 'Service:A', value: '1' }],
      others: ['--', '--Service:B=2'],
    });
  });

  it('do not include arguments of a similar form', () => {
    const argv = ['-Service:A=1', 'Service:A=1', '--Services:A=1', '--Service__A=1', '--port=1', '--PORTS=1'];
    expect(splitSettingArguments(argv)).to.deep.equal({ kind: 'split', settings: [], others: argv });
  });
});
