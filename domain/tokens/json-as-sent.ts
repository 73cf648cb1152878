/**
 * JSON with its numbers as they were sent. A double loses the second decimal of `1.10`, and the digits that it rounds. A person
 * who approves an amount must read the number that the next reader reads.
 */

import { endOfString } from './strict-json.ts';

/** A number with its text. `text` is a getter, so that a path through the JSON finds no own member in a number. */
export class SentNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }
}

export type SentJson = null | boolean | string | SentNumber | readonly SentJson[] | SentObject;
interface SentObject {
  readonly [member: string]: SentJson;
}

export function isSentObject(value: SentJson | undefined): value is SentObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof SentNumber);
}

/**
 * Whether some number of the JSON text may be another one as a double, or as a whole number is 2^53 or more. Only then `readAsSent` finds
 * more than `JSON.parse`, which takes a sixth of its time. A text in the JSON can look like such a number, which costs time alone.
 */
export function mayBeRounded(text: string): boolean {
  return LONG.test(text) || EXPONENT.test(text) || (text.includes('-0') && MINUS_ZERO.test(text));
}

/** A double keeps 15 digits. V8 finds three short patterns in half the time of one with all three. */
const LONG = /[\d.]{16}/;
const EXPONENT = /\d[eE](?<=(?:^|[:,[\s])-?[\d.]{1,15}[eE])/;
const MINUS_ZERO = /(?:^|[:,[\s])-0/;

/** @param text JSON that the strict reader has accepted: it is well-formed and not deep */
export function readAsSent(text: string): SentJson {
  let at = 0;
  /** Moves to the next character that is no space (RFC 8259 §2). @returns its code */
  const next = (): number => {
    let found = text.charCodeAt(at);
    while (found === 0x20 || found === 0x09 || found === 0x0a || found === 0x0d) {
      at += 1;
      found = text.charCodeAt(at);
    }
    return found;
  };
  /** The items between the brackets; the cursor is at the opening bracket. */
  const items = <Item>(end: number, item: () => Item): readonly Item[] => {
    const found: Item[] = [];
    at += 1;
    while (next() !== end) {
      found.push(item());
      if (next() === 0x2c) at += 1;
    }
    at += 1;
    return found;
  };
  const string = (): string => {
    const [start, end] = [at + 1, endOfString(text, at) ?? text.length];
    at = end + 1;
    const inner = text.slice(start, end);
    // Most have no escape, and need not be parsed.
    return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner;
  };
  const member = (): readonly [string, SentJson] => {
    const name = string();
    next();
    at += 1;
    return [name, value()];
  };
  const value = (): SentJson => {
    switch (next()) {
      case 0x7b: // {
        return Object.fromEntries(items(0x7d, member));
      case 0x5b: // [
        return items(0x5d, value);
      case 0x22: // "
        return string();
    }
    LITERAL.lastIndex = at;
    const [literal = ''] = LITERAL.exec(text) ?? [];
    at += literal.length;
    return literal in CONSTANTS ? CONSTANTS[literal as keyof typeof CONSTANTS] : new SentNumber(literal);
  };
  return value();
}

const LITERAL = /[\w.+-]+/y;
const CONSTANTS = { null: null, true: true, false: false } as const;

/**
 * The JSON on one line, with its numbers as sent.
 *
 * @param namesOf the members of an object in the order in which they are written. By default they are sorted
 */
export function writeAsSent(
  value: SentJson,
  namesOf: (object: object) => readonly string[] = (object) => Object.keys(object).sort(),
): string {
  if (value instanceof SentNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => writeAsSent(item, namesOf)).join(',')}]`;
  if (!isSentObject(value)) return JSON.stringify(value);
  const members = namesOf(value).map((name) => `${JSON.stringify(name)}:${writeAsSent(value[name] ?? null, namesOf)}`);
  return `{${members.join(',')}}`;
}

/**
 * Whether a double keeps the decimal value of the number, however it is written. `0.1`, `1.10` and `1e2` pass. `-0`, `1e-400` and
 * `0.10000000000000000555` do not: other readers find another value.
 */
export function isHeldByDouble(number: string): boolean {
  if (SHORT.test(number)) return true;
  const double = Number(number);
  if (!Number.isFinite(double) || Object.is(double, -0)) return false;
  const [sent, held] = [decimalOf(number), decimalOf(String(double))];
  return sent.digits === held.digits && sent.exponent === held.exponent;
}

/** A double keeps 15 digits. A list of 100,000 such numbers is compared in a fraction of the time. */
const SHORT = /^(?:0|-?[1-9]\d{0,6})(?:\.\d{1,8})?$/;

interface Decimal {
  /** Without zeros at both ends; empty for zero. With the sign. */
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(number: string): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] = NUMBER.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end -= 1;
  if (end === 0) return { digits: '', exponent: 0 };
  return { digits: `${sign}${digits.slice(0, end)}`, exponent: Number(power) - fraction.length + digits.length - end };
}

/** RFC 8259 §6. */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
