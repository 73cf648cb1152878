import { expect } from 'chai';
import { formatAddCheckpoint, parseAddCheckpoint } from '../../../domain/log/add-checkpoint.ts';

/** The example of C2SP tlog-witness v1.0.0. */
const PROOF = [
  'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=',
  'jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=',
  '5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=',
  '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
];
const NOTE = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
`;
const body = (lines: readonly string[]) => `${lines.join('\n')}\n\n${NOTE}`;

describe('the body of add-checkpoint', () => {
  it('is that of the specification’s example', () => {
    const parsed = parseAddCheckpoint(body(['old 20852014', ...PROOF]));
    expect(parsed?.proof.map((hash) => Buffer.from(hash).toString('base64'))).to.deep.equal(PROOF);
    expect(parsed).to.include({ oldSize: 20_852_014, note: NOTE });
    expect(parsed && formatAddCheckpoint(parsed)).to.equal(body(['old 20852014', ...PROOF]));
  });

  it('has no proof for a first checkpoint, and at most 63 hashes', () => {
    expect(parseAddCheckpoint(body(['old 0']))).to.deep.equal({ oldSize: 0, proof: [], note: NOTE });
    const hashes = Array<string>(63).fill(PROOF[0] ?? '');
    expect(parseAddCheckpoint(body(['old 1', ...hashes]))?.proof).to.have.length(63);
    expect(parseAddCheckpoint(body(['old 1', ...hashes, ...hashes.slice(0, 1)]))).to.equal(undefined);
  });

  const [hash = ''] = PROOF;
  for (const [what, text] of [
    ['nothing', ''],
    ['only a note', NOTE],
    ['no empty line', `old 1\n${NOTE.replace('\n\n', '\n')}`],
    ['no old size', body([hash])],
    ['an old size without a number', body(['old '])],
    ['a leading zero', body(['old 01'])],
    ['a negative size', body(['old -1'])],
    ['a sign', body(['old +1'])],
    ['hexadecimal digits', body(['old 0x1'])],
    ['two spaces', body(['old  1'])],
    ['another word', body(['size 1'])],
    ['an unsafe integer', body(['old 9007199254740992'])],
    ['lines that end in CRLF', body(['old 1\r', `${hash}\r`])],
    ['a hash of 31 bytes', body(['old 1', 'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkQ=='])],
    ['a hash with flipped padding bits', body(['old 1', hash.replace('w=', 'x=')])],
    ['a hash in base64url', body(['old 1', (PROOF[2] ?? '').replaceAll('+', '-')])],
    ['a hash with a space behind', body(['old 1', `${hash} `])],
  ] as const) {
    it(`is refused with ${what}`, () => expect(parseAddCheckpoint(text)).to.equal(undefined));
  }
});
