/** Division of decimal numbers as they are written: as doubles, 19.99 is no multiple of 0.01. */

/** Whether the number is a whole multiple of the other one, which is above 0. */
export function isMultiple(value: number, of: number): boolean {
  const [one, other] = [decimalOf(value), decimalOf(of)];
  const scale = Math.min(one.exponent, other.exponent);
  return scaled(one, scale) % scaled(other, scale) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** The shortest text of the double: that of the number that was sent, or the call is refused. */
function decimalOf(value: number): Decimal {
  const [text = '', power = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = text.split('.');
  return { digits: BigInt(`${whole}${fraction}`), exponent: Number(power) - fraction.length };
}

function scaled({ digits, exponent }: Decimal, scale: number): bigint {
  return digits * 10n ** BigInt(exponent - scale);
}
