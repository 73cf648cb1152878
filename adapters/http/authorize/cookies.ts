/**
 * The cookies of requests at the authorization endpoint. Each request has its own, because a person may begin several at once.
 *
 * Until the person is back from the identity provider, the service stores nothing: the cookie holds the whole request. It is
 * encrypted with a secret that only the `state` of the sign-in has. So the request can be read only with both. The browser's owner
 * has both, and can write any request. So all of it is judged again (application/authorization/judge-request.ts).
 * From then on the cookie holds the secret of this browser, which opens the page of the request, and the person's name: the page shows
 * it, and nothing is decided by it.
 */

import type { BegunSignIn } from '../../../application/authorization/begin.ts';
import type { Randomness, Sealing } from '../../../application/ports/runtime.ts';
import type { EndCounts } from '../../../domain/authorization/authorization.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../../domain/instant.ts';
import { isTextList, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { ATTRIBUTES, cookieValues, onlyCookie, SECRET } from '../browser/cookies.ts';
import { derivedFrom } from '../browser/sign-in-cookies.ts';
import type { SentParameter } from './request.ts';

const PREFIX = '__Host-mandate-authorize-';
/** Of a request, between the prefix and the number of a part. */
const NAME = /^[A-Za-z0-9_-]{8}$/;
const NAME_BYTES = 6;
const SECRET_BYTES = 32;

/** Characters of one cookie: browsers keep 4,096 with its name and attributes (RFC 6265bis §5.7). */
const PART_LENGTH = 3700;
const MOST_PARTS = 2;
/** Requests that one browser can begin at once. With one more, the oldest goes. */
const MOST_REQUESTS = 4;
/**
 * Characters of the cookies of all requests. A browser sends them to `/me` too, where the person stops agents. The server accepts
 * a head of 16 KiB, of which an address may take half.
 */
const MOST_CHARACTERS = MOST_PARTS * PART_LENGTH;
/** A request on its way to the identity provider and back. */
export interface Way {
  /** Names its cookie. */
  readonly name: string;
  /** The parameters as the client sent them. */
  readonly parameters: readonly SentParameter[];
  readonly beganAt: Instant;
  readonly ends: EndCounts;
  readonly signIn: BegunSignIn;
}

/** The secrets of one sign-in. */
export interface WaySecrets {
  readonly name: string;
  /** In the `state` only. */
  readonly sealing: string;
  /** In the cookie only. */
  readonly own: string;
}

export function makeWaySecrets({ secret }: Pick<Randomness, 'secret'>, name?: string): WaySecrets {
  return { name: name ?? secret(NAME_BYTES), sealing: secret(SECRET_BYTES), own: secret(SECRET_BYTES) };
}

export function signInOf({ name, sealing, own }: WaySecrets, isSecond: boolean): BegunSignIn {
  return {
    state: `${name}.${sealing}`,
    nonce: derivedFrom(own, 'nonce'),
    codeVerifier: derivedFrom(own, 'code verifier'),
    isSecond,
  };
}

/** The request of a sign-in's `state`. `undefined` if this browser has not begun it, or its cookie was altered. */
export function openWay(sealing: Sealing, cookies: string | undefined, state: string | undefined): Way | undefined {
  const [name = '', secret = '', ...more] = (state ?? '').split('.');
  if (!NAME.test(name) || !SECRET.test(secret) || more.length > 0) return undefined;
  const value = partNames(name)
    .map((part) => onlyCookie(cookies, part) ?? '')
    .join('');
  const sealed = VALUE.exec(value)?.[2];
  const content = sealed === undefined ? undefined : readContent(sealing.open(secret, sealed) ?? '');
  if (content === undefined) return undefined;
  const { own, isSecond, ...rest } = content;
  return { name, ...rest, signIn: signInOf({ name, sealing: secret, own }, isSecond) };
}

interface Content {
  readonly own: string;
  readonly isSecond: boolean;
  readonly beganAt: Instant;
  readonly ends: EndCounts;
  readonly parameters: readonly SentParameter[];
}

function writeContent({ own, isSecond, beganAt, ends, parameters }: Content): string {
  const numbers = [toSeconds(beganAt), ends.everything, ends.agent];
  return JSON.stringify([own, isSecond, numbers, ...parameters.map(({ name, value }) => [name, value])]);
}

/** Only the browser's owner can write a content of another form. */
function readContent(text: string): Content | undefined {
  const content = parseStrictJson(text);
  if (!Array.isArray(content)) return undefined;
  const [own, isSecond, numbers, ...pairs] = content;
  if (typeof own !== 'string' || !SECRET.test(own) || !Array.isArray(numbers)) return undefined;
  const [beganAt = Number.NaN, everything = Number.NaN, agent = Number.NaN] = numbers.map(Number);
  if (![beganAt, everything, agent].every(Number.isSafeInteger)) return undefined;
  const parameters = pairs.map((pair) => (isTextList(pair) ? { name: pair[0], value: pair[1] } : undefined));
  if (!parameters.every((parameter) => parameter !== undefined)) return undefined;
  const ends = { everything, agent };
  return { own, isSecond: isSecond === true, beganAt: instantFromSeconds(beganAt), ends, parameters };
}

/** Seconds since 1970 when the request began, the sealed request or the browser's secret, and beside the secret the name. */
const VALUE = /^(\d{1,12})\.([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_-]+))?$/;

function partNames(name: string): readonly string[] {
  return Array.from({ length: MOST_PARTS }, (_part, at) => (at === 0 ? `${PREFIX}${name}` : `${PREFIX}${name}.${at}`));
}

/**
 * The `Set-Cookie` values that keep the request, and remove those for which there is no room. `undefined` if the request is too long.
 *
 * @param cookies of the request
 * @param lasts seconds
 */
export function keepWay(
  sealing: Sealing,
  cookies: string | undefined,
  { secrets, ...content }: Omit<Content, 'own'> & { readonly secrets: WaySecrets },
  lasts: number,
): readonly string[] | undefined {
  const sealed = sealing.seal(secrets.sealing, writeContent({ ...content, own: secrets.own }));
  const value = `${toSeconds(content.beganAt)}.${sealed}`;
  if (value.length > MOST_CHARACTERS) return undefined;
  return [...removeOldest(cookies, secrets.name, value.length), ...setValue(cookies, secrets.name, value, lasts)];
}

/** What the browser keeps of a person who has come back. */
interface CameBack {
  readonly secret: string;
  /** By which the page greets the person; `undefined` if the provider gave none. */
  readonly person: string | undefined;
}

/** The `Set-Cookie` values of a browser whose person has come back. @param lasts seconds */
export function keepBrowserSecret(
  cookies: string | undefined,
  { name, beganAt }: Pick<Way, 'name' | 'beganAt'>,
  { secret, person }: CameBack,
  lasts: number,
): readonly string[] {
  const value = `${toSeconds(beganAt)}.${secret}`;
  const shown = person === undefined ? '' : `.${Buffer.from(person).toString('base64url')}`;
  return setValue(cookies, name, `${value}${shown}`, lasts);
}

export function removeWay(cookies: string | undefined, name: string): readonly string[] {
  return partNames(name)
    .filter((part) => cookieValues(cookies, part).length > 0)
    .map((part) => `${part}=; Max-Age=0; ${ATTRIBUTES}`);
}

/** The secrets of this browser. Which request each opens is known to the database only. */
export function browserSecrets(cookies: string | undefined): readonly string[] {
  return cameBack(cookies).map(({ secret }) => secret);
}

/** The name of the person who came back with that secret. */
export function nameKeptWith(secret: string, cookies: string | undefined): string | undefined {
  return cameBack(cookies).find((each) => each.secret === secret)?.person;
}

function cameBack(cookies: string | undefined): readonly CameBack[] {
  return namesIn(cookies).flatMap((name) => {
    const [, , secret = '', person] = VALUE.exec(onlyCookie(cookies, `${PREFIX}${name}`) ?? '') ?? [];
    if (!SECRET.test(secret)) return [];
    return [{ secret, person: person === undefined ? undefined : readUtf8(Buffer.from(person, 'base64url')) }];
  });
}

function setValue(cookies: string | undefined, name: string, value: string, lasts: number): readonly string[] {
  return partNames(name).flatMap((part, at) => {
    const piece = value.slice(at * PART_LENGTH, (at + 1) * PART_LENGTH);
    if (piece !== '') return [`${part}=${piece}; Max-Age=${lasts}; ${ATTRIBUTES}`];
    return cookieValues(cookies, part).length > 0 ? [`${part}=; Max-Age=0; ${ATTRIBUTES}`] : [];
  });
}

/** Removes the oldest requests, until a new one of that length has room. */
function removeOldest(cookies: string | undefined, name: string, length: number): readonly string[] {
  const others = namesIn(cookies)
    .filter((other) => other !== name)
    .map((other) => {
      const values = partNames(other).flatMap((part) => cookieValues(cookies, part));
      return { name: other, length: values.join('').length, began: Number(VALUE.exec(values[0] ?? '')?.[1] ?? 0) };
    })
    .sort((one, another) => another.began - one.began);
  let room = MOST_CHARACTERS - length;
  return others.flatMap((other, at) => {
    room -= other.length;
    return at < MOST_REQUESTS - 1 && room >= 0 ? [] : removeWay(cookies, other.name);
  });
}

/** The requests of which the browser has cookies. */
function namesIn(cookies: string | undefined): readonly string[] {
  const names = [...(cookies ?? '').matchAll(NAMES)].map(([, name = '']) => name);
  return [...new Set(names)];
}

const NAMES = new RegExp(`(?<![^\\t ;])${PREFIX}([A-Za-z0-9_-]{8})(?=[.=])`, 'g');
