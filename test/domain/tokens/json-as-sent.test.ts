import { expect } from 'chai';
import fc from 'fast-check';
import {
  isHeldByDouble,
  mayBeRounded,
  readAsSent,
  type SentJson,
  SentNumber,
  writeAsSent,
} from '../../../domain/tokens/json-as-sent.ts';

/** The value with doubles in place of the numbers as sent. */
function asDoubles(value: SentJson): unknown {
  if (value instanceof SentNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, asDoubles(each)]));
}

describe('JSON as it was sent', () => {
  it('is the same value as any other reader finds, with the text of each number', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'medium' }), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
        const value: unknown = JSON.parse(json);
        expect(asDoubles(readAsSent(JSON.stringify(value, null, indent)))).to.deep.equal(value);
      }),
    );
    const text =
      ' { "b" : [ 1.10 , -1e2, {"x":0.50}, "a\\"1.0", null ] , "__proto__":1E+2, "": true, "a\\u0041": [] } ';
    expect(writeAsSent(readAsSent(text))).to.equal(
      '{"":true,"__proto__":1E+2,"aA":[],"b":[1.10,-1e2,{"x":0.50},"a\\"1.0",null]}',
    );
    expect(['7', '"1"', 'null', '[]', '{}', ' -0.0 '].map((each) => writeAsSent(readAsSent(each)))).to.deep.equal([
      '7',
      '"1"',
      'null',
      '[]',
      '{}',
      '-0.0',
    ]);
  });

  it('need not be read for numbers unless one may be rounded, wherever it is', () => {
    const digits = (most: number) =>
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most });
    const part = (mark: string, most: number) =>
      fc.option(digits(most), { nil: '' }).map((text) => text && mark + text);
    const number = fc
      .tuple(fc.constantFrom('', '-'), fc.bigInt(0n, 10n ** 18n), part('.', 18), part('e', 3), part('E-', 3))
      .map(([sign, whole, fraction, up, down]) => `${sign}${whole}${fraction}${up === '' ? down : up}`);
    const places: readonly ((text: string) => string)[] = [
      (text) => text,
      (text) => ` \t${text}\n`,
      (text) => `[1,${text}]`,
      (text) => `[${text} ]`,
      (text) => `{"a": {"b":${text}},"c":1}`,
    ];
    let [exact, rounded] = [0, 0];
    fc.assert(
      fc.property(fc.oneof(number, digits(17).map(BigInt).map(String)), (text) => {
        const double = Number(text);
        const isExact = isHeldByDouble(text) && (!Number.isInteger(double) || Number.isSafeInteger(double));
        if (isExact) exact += 1;
        else for (const place of places) expect(mayBeRounded(place(text)), place(text)).to.equal(true);
        if (!isExact) rounded += 1;
      }),
      { numRuns: 500 },
    );
    expect([exact > 50, rounded > 50]).to.deep.equal([true, true]);
    for (const text of ['-0', '-0.0', '9007199254740992', '1e16', '123456789.12345678']) {
      for (const place of places) expect(mayBeRounded(place(text)), place(text)).to.equal(true);
    }
    const exactText =
      '{"a-0":[0,-1.5,1234567890.1234],"b":"2026-07-28T00:00:00Z","c":"550e8400-e29b","d":[true,null,""]}';
    expect(mayBeRounded(exactText)).to.equal(false);
  });

  it('has no member in a number', () => {
    expect(Object.keys(readAsSent('1') as object)).to.deep.equal([]);
    expect(Object.hasOwn(readAsSent('1') as object, 'text')).to.equal(false);
  });

  it('takes time that grows with its length alone', () => {
    const before = process.cpuUsage().user;
    for (const text of [
      `[${'1,'.repeat(200_000)}1]`,
      `"${'a'.repeat(900_000)}"`,
      `${' '.repeat(900_000)}1`,
      `{"a":${'9'.repeat(900_000)}}`,
    ])
      readAsSent(text);
    for (const number of [`1${'0'.repeat(900_000)}`, `0.${'0'.repeat(900_000)}1`, `1.${'01'.repeat(400_000)}`])
      isHeldByDouble(number);
    expect(process.cpuUsage(undefined).user - before).to.be.below(5_000_000);
  });
});

describe('A number of JSON', () => {
  const HELD = [
    '0',
    '0.1',
    '1.10',
    '1e2',
    '100',
    '1E+2',
    '0.50',
    '-1.5',
    '12345678901234.5',
    '9007199254740991',
    '5e-324',
    '0.0',
    '0e5',
    '1e21',
  ];
  const NOT_HELD = [
    '0.10000000000000000555',
    '-0',
    '-0.0',
    '-0e7',
    '9007199254740990.7',
    '123456789012345.678',
    '12345678901234.567',
    '9007199254740993',
    '1.0000000000000000000001',
    '1e-400',
    '1e400',
    '0.1000000000000000000000001',
    '4.9e-325',
    '123456789012345678901234567890',
  ];

  it('is held by a double if the shortest text of the double has its value', () => {
    expect(HELD.filter((each) => !isHeldByDouble(each))).to.deep.equal([]);
    expect(NOT_HELD.filter(isHeldByDouble)).to.deep.equal([]);
    const whole = fc.bigInt({ min: 0n, max: 10n ** 20n });
    const parts = fc.tuple(
      fc.constantFrom('', '-'),
      whole,
      whole,
      fc.integer({ min: -5, max: 5 }),
      fc.integer({ min: 0, max: 20 }),
    );
    fc.assert(
      fc.property(parts, ([sign, one, other, power, length]) => {
        const number = `${sign}${one}.${`${other}`.padStart(length, '0')}e${power}`;
        const double = Number(number);
        expect(isHeldByDouble(number), number).to.equal(
          scaled(number) === scaled(`${double}`) && !Object.is(double, -0),
        );
        expect(isHeldByDouble(`${double}`)).to.equal(true);
      }),
    );
  });
});

/** The number times 10^100, as another way of reading decimals. */
function scaled(number: string): bigint {
  const [mantissa = '', power = '0'] = number.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(100 + Number(power) - fraction.length);
}
