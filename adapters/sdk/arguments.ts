/**
 * Checks the arguments of a public function of a library. All problems come in one TypeError, which names each argument
 * and says what is accepted. Programs in JavaScript need this: no compiler has checked their arguments. A message repeats
 * no value, because it may be a secret. It names an unknown member only if the name is short.
 */

import { isObject } from '../../domain/tokens/strict-json.ts';

/** The problems of a value, each as a clause that begins with the name. Empty if the value is accepted. */
export type Check = (value: unknown, name: string) => readonly string[];

/** A check for each member of `Given`. An option without a check does not compile. */
export type Checks<Given> = { readonly [Name in keyof Given]-?: Check };

/** A list of thousands of wrong entries must not make a message of megabytes. */
const MAX_PROBLEMS = 20;
/** Identifiers, and names of MCP tools and methods. Tokens are longer. */
const SHOWN_NAME = /^[\w$./-]{1,40}$/;

/**
 * @param call the function, as its caller writes it
 * @param given the options, or several arguments as the members of an object
 * @throws TypeError that lists the problems
 */
export function checkArguments(call: string, given: unknown, check: Check): void {
  const problems = check(given, '');
  if (problems.length === 0) return;
  const listed = problems.slice(0, MAX_PROBLEMS);
  if (problems.length > MAX_PROBLEMS) listed.push(`and ${problems.length - MAX_PROBLEMS} more`);
  throw new TypeError(`${call}: ${listed.join('; ')}.`);
}

/** Accepts an object whose members pass these checks. Other members are ignored. */
export function membersOf(checks: Readonly<Record<string, Check>>): Check {
  return (value, name) => {
    const members = isObject(value) ? value : undefined;
    const problems = Object.entries(checks).flatMap(([member, check]) =>
      check(members?.[member], memberName(name, member)),
    );
    return members === undefined ? [`${name || 'the argument'} must be an object`, ...problems] : problems;
  };
}

/** As `membersOf`, and refuses all other members: a misspelled option must not be ignored. */
export function optionsOf(checks: Readonly<Record<string, Check>>): Check {
  const known = membersOf(checks);
  const accepted = `accepted: ${Object.keys(checks).join(', ')}`;
  return (value, name) => {
    const unknown = isObject(value)
      ? Object.keys(value).filter((member) => !Object.hasOwn(checks, member) && value[member] !== undefined)
      : [];
    const problems = unknown.map((member) => `${memberName(name, member)} is not an option (${accepted})`);
    return [...known(value, name), ...problems];
  };
}

/** Accepts an object with members of any name, each of which passes the check. */
export function recordOf(check: Check): Check {
  return (value, name) =>
    isObject(value)
      ? Object.entries(value).flatMap(([member, each]) => check(each, memberName(name, member)))
      : [`${name} must be an object`];
}

export function listOf(check: Check): Check {
  return (value, name) =>
    // Array.from reads the holes of a list as undefined.
    Array.isArray(value)
      ? Array.from(value).flatMap((each, index) => check(each, `${name}[${index}]`))
      : [`${name} must be a list`];
}

export function optional(check: Check): Check {
  return (value, name) => (value === undefined ? [] : check(value, name));
}

/** @param accepted follows the word "must" */
export function must(accepted: string, isAccepted: (value: unknown) => boolean): Check {
  return (value, name) => (isAccepted(value) ? [] : [`${name} must ${accepted}`]);
}

export function oneOf(words: readonly unknown[]): Check {
  return must(`be ${words.join(' or ')}`, (value) => words.includes(value));
}

/**
 * Accepts a text without a problem.
 *
 * @param problemOf the problem of a text, worded to follow the name. The problem of the empty text holds for other values
 */
export function textWithout(problemOf: (text: string) => string | undefined): Check {
  return (value, name) => {
    const problem = problemOf(typeof value === 'string' ? value : '');
    return problem === undefined ? [] : [`${name} ${problem}`];
  };
}

export function wholeNumber(least: number, most: number, range = `from ${least} to ${most}`): Check {
  return must(`be a whole number ${range}`, (value) => {
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
  });
}

export const text = must('be a text that is not empty', (value) => typeof value === 'string' && value !== '');
export const flag = must('be true or false', (value) => typeof value === 'boolean');
export const callable = must('be a function', (value) => typeof value === 'function');
export const anyObject = must('be an object', (value) => typeof value === 'object' && value !== null);
export const anything: Check = () => [];

/** Drops members that are `undefined`, so that their defaults apply. */
export function withoutAbsent<Options extends object>(given: Options): Options {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Options;
}

/** The name of a member in a problem. */
export function memberName(name: string, member: string): string {
  const shown = SHOWN_NAME.test(member) ? member : '(a member with another name)';
  return name === '' ? shown : `${name}.${shown}`;
}
