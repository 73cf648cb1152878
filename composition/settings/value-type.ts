/**
 * Parses the text of a setting (specification "Configuration rules"). An error never repeats any of the text: it may be
 * a secret, or a secret in the wrong variable.
 */

import { type Network, type NetworkFault, parseNetwork } from '../../adapters/http/admission/request-source.ts';
import { isOnCurve, sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { readConnectionString } from '../../adapters/storage/postgres/connection-string.ts';
import { isWellKnown, OF_METADATA } from '../../domain/address.ts';
import { APPROVAL_KEY_RULES, checkJwkSet } from '../../domain/agents/key-set.ts';
import type { Jwk, JwkSet } from '../../domain/agents/public-key.ts';
import { hasControl } from '../../domain/control-characters.ts';
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import {
  COSIGNATURE,
  holdsFormatCharacter,
  isTrustableName,
  parseVerifierKey,
  type VerifierKey,
} from '../../domain/log/verifier-key.ts';
import { isScopeToken } from '../../domain/scope.ts';
import { Secret } from '../../domain/secret.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';

type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  /** `problem` completes a sentence that begins with the setting's key. */
  | { readonly kind: 'wrong'; readonly problem: string };

export interface ValueType<Value> {
  /** The accepted values in a few words, beginning in lower case; for errors and the settings table. */
  readonly accepts: string;
  /** Whether the value must not be shown. */
  readonly secret: boolean;
  /** @param text never empty: an empty setting counts as unset */
  read(text: string): Reading<Value>;
}

/** Longer than any real name, path or address, but shorter than a file that was pasted into the wrong variable. */
const MAX_TEXT = 2048;

const read = <Value>(value: Value): Reading<Value> => ({ kind: 'read', value });
const wrong = (problem: string): Reading<never> => ({ kind: 'wrong', problem });

function shown<Value>(accepts: string, read: ValueType<Value>['read']): ValueType<Value> {
  return { accepts, secret: false, read };
}

function concealed(accepts: string, read: ValueType<Secret>['read']): ValueType<Secret> {
  return { accepts, secret: true, read };
}

/** Text on one line. */
export function text(
  limits: { readonly max?: number; readonly whitespace?: false; readonly accepts?: string } = {},
): ValueType<string> {
  const max = limits.max ?? MAX_TEXT;
  return shown(limits.accepts ?? `text of at most ${max} characters`, (given) => {
    if (given.length > max) return wrong(`is longer than ${max} characters`);
    if (!given.isWellFormed() || hasControl(given)) return wrong('holds a control character or malformed Unicode');
    if (given !== given.trim()) return wrong('begins or ends with white space');
    if (limits.whitespace === false && /\s/.test(given)) return wrong('holds white space');
    return read(given);
  });
}

export function path(): ValueType<string> {
  return text({ accepts: 'the path of a file' });
}

/** A parameter must leave room for the others in an address. */
const MAX_PARAMETER = 512;

export function parameterValue(): ValueType<string> {
  return text({ max: MAX_PARAMETER });
}

/** A scope may be as long as that. */
const MAX_SCOPE_PREFIX = 200;

/** The beginning of a scope (RFC 6749 §3.3). */
export function scopePrefix(): ValueType<string> {
  const accepts = `the beginning of a scope: at most ${MAX_SCOPE_PREFIX} printable ASCII characters, no space, \`"\` and \`\\\``;
  const line = text({ max: MAX_SCOPE_PREFIX, accepts });
  return {
    ...line,
    read(given) {
      const reading = line.read(given);
      if (reading.kind === 'wrong' || isScopeToken(given)) return reading;
      return wrong('holds a character that no scope may have');
    },
  };
}

/** RFC 3986 §2: the characters of a URL. `new URL` would repair backslashes, white space and line breaks instead. */
const URL_CHARACTERS = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;

/**
 * An absolute URL without user information (a secret that would be shown) and fragment. It is stored as written,
 * because issuers are compared exactly; only a trailing slash can be dropped.
 */
export function url(rules: {
  readonly scheme?: 'https';
  readonly query?: 'accepted';
  readonly trailingSlash?: 'dropped';
  readonly wellKnown?: 'refused';
}): ValueType<string> {
  const schemes = rules.scheme === 'https' ? 'https' : 'http or https';
  const without = rules.query === 'accepted' ? 'user information or fragment' : 'user information, query or fragment';
  const scheme = rules.scheme === 'https' ? /^https:\/\/[^/]/i : /^https?:\/\/[^/]/i;
  return shown(`an absolute ${schemes} URL without ${without}`, (given) => {
    if (given.length > MAX_TEXT) return wrong(`is longer than ${MAX_TEXT} characters`);
    if (!scheme.test(given) || !URL_CHARACTERS.test(given) || !URL.canParse(given)) {
      return wrong(`is not an absolute ${schemes} URL`);
    }
    if (/^[^/]*\/\/[^/?#]*@/.test(given)) return wrong('holds user information');
    if (given.includes('#')) return wrong('has a fragment');
    if (rules.query !== 'accepted' && given.includes('?')) return wrong('has a query');
    if (rules.wellKnown === 'refused' && isWellKnown(given)) return wrong(`holds /.well-known/: ${OF_METADATA}`);
    return read(rules.trailingSlash === 'dropped' ? given.replace(/\/+$/, '') : given);
  });
}

/** Scheme, host and port, as browsers write them. */
export function origin(): ValueType<string> {
  const { read: readUrl } = url({ trailingSlash: 'dropped' });
  return shown('an origin: `https://` or `http://`, a host and perhaps a port, without a path', (given) => {
    const result = readUrl(given);
    if (result.kind === 'wrong') return result;
    const { origin, pathname } = new URL(result.value);
    return pathname === '/' && !/[/?]$/.test(given.replace(/\/$/, '')) ? read(origin) : wrong('has a path');
  });
}

/** @param bounds ISO 8601 durations, both inclusive; the value is in seconds */
export function duration(bounds: { readonly min?: string; readonly max?: string } = {}): ValueType<number> {
  const min = secondsOf(bounds.min) ?? 1;
  const max = secondsOf(bounds.max) ?? Number.POSITIVE_INFINITY;
  return shown(`a duration (\`PT30M\` or \`00:30:00\`) ${range(bounds.min, bounds.max) ?? 'above zero'}`, (given) => {
    const seconds = parseDuration(given);
    if (seconds === undefined) {
      return wrong('is not a duration in whole weeks, days, hours, minutes and seconds above zero');
    }
    if (seconds < min) return wrong(`is shorter than ${formatDuration(min)}`);
    if (seconds > max) return wrong(`is longer than ${formatDuration(max)}`);
    return read(seconds);
  });
}

export function integer(bounds: { readonly min: number; readonly max: number }): ValueType<number> {
  return shown(`a whole number in plain digits ${range(bounds.min, bounds.max)}`, (given) => {
    if (!/^\d+$/.test(given)) return wrong('is not a whole number in plain digits');
    const number = Number(given);
    if (number < bounds.min) return wrong(`is less than ${bounds.min}`);
    if (number > bounds.max) return wrong(`is more than ${bounds.max}`);
    return read(number);
  });
}

export function powerOfTwo(bounds: { readonly min: number; readonly max: number }): ValueType<number> {
  const whole = integer(bounds);
  return {
    ...whole,
    accepts: `a power of two, in plain digits, ${range(bounds.min, bounds.max)}`,
    read(given) {
      const reading = whole.read(given);
      if (reading.kind === 'wrong' || Number.isInteger(Math.log2(reading.value))) return reading;
      return wrong('is not a power of two');
    },
  };
}

export function boolean(): ValueType<boolean> {
  return shown('`true` or `false`', (given) =>
    given === 'true' || given === 'false' ? read(given === 'true') : wrong('is not true or false'),
  );
}

export function choice<const Option extends string>(...options: readonly Option[]): ValueType<Option> {
  return shown(options.map((option) => `\`${option}\``).join(' or '), (given) => {
    const chosen = options.find((option) => option === given);
    return chosen === undefined ? wrong('is not one of the accepted words') : read(chosen);
  });
}

/** RFC 6750 §2.1: the characters that an Authorization header can carry. A client could never present another key. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** A credential that clients present as a bearer token. */
export function bearerToken(limits: { readonly min: number }): ValueType<Secret> {
  const length = limits.min === 1 ? 'one or more' : `at least ${limits.min}`;
  return concealed(
    `${length} characters: letters, digits, \`-\`, \`.\`, \`_\`, \`~\`, \`+\`, \`/\`, then \`=\``,
    (given) => {
      if (given.length > MAX_TEXT) return wrong(`is longer than ${MAX_TEXT} characters`);
      if (!BEARER_TOKEN.test(given)) return wrong('holds a character that a bearer token cannot carry');
      if (given.length < limits.min) return wrong(`is shorter than ${limits.min} characters`);
      return read(new Secret(given));
    },
  );
}

/** Much larger than a key with its certificate chain. */
const MAX_PEM = 65_536;

/** Text of a PEM file. Environment files have one line per variable, so `\n` may stand for a line break. */
export function pem(): ValueType<Secret> {
  return concealed('the text of a PEM file; its line breaks may be written as `\\n`', (given) => {
    if (given.length > MAX_PEM) return wrong(`is longer than ${MAX_PEM} characters`);
    const lines = given.replaceAll('\\n', '\n').trim();
    const framed = /^-----BEGIN [A-Z0-9 ]+-----\n[\s\S]+\n-----END [A-Z0-9 ]+-----$/.test(lines.replaceAll('\r', ''));
    return framed ? read(new Secret(lines)) : wrong('is not the text of a PEM file');
  });
}

/** As of a fetched key set. */
const MAX_KEY_SET = 65_536;

/** Public keys with which tool servers sign (RFC 7517). A request must name its key, so each key has a `kid`. */
export function jwkSet(): ValueType<JwkSet> {
  return shown('the JSON text of a key set (RFC 7517): public EC keys on P-256, each with a `kid`', (given) => {
    if (given.length > MAX_KEY_SET) return wrong(`is longer than ${MAX_KEY_SET} characters`);
    const json = parseStrictJson(given);
    if (json === undefined) return wrong('is not JSON');
    const verdict = checkJwkSet(json, APPROVAL_KEY_RULES);
    const problems = verdict.kind === 'invalid' ? verdict.problems : verdict.jwks.keys.flatMap(keyProblems);
    if (verdict.kind === 'invalid' || problems.length > 0) {
      return wrong(`is no usable key set: ${problems.join(' ').replace(/\.$/, '')}`);
    }
    return read(verdict.jwks);
  });
}

function keyProblems(key: Jwk, index: number): readonly string[] {
  return [
    ...(key.kid === undefined ? [`keys[${index}] has no kid.`] : []),
    ...(isOnCurve(key) ? [] : [`keys[${index}] has a point that is not on its curve.`]),
  ];
}

/** The key of a witness (C2SP signed-note, "Verifier keys"). */
export function witnessKey(): ValueType<VerifierKey> {
  return shown("a witness's verifier key: `name+id+key`, of type 4 (cosignatures)", (given) => {
    const key = parseVerifierKey(sha256Bytes, given);
    if (holdsFormatCharacter(given)) return wrong('holds an invisible character');
    if (key === undefined) return wrong('is not a verifier key');
    return key.type === COSIGNATURE ? read(key) : wrong('is not a key for cosignatures');
  });
}

/** The name of a log. */
export function keyName(limits: { readonly max: number }): ValueType<string> {
  const accepts = `a name of at most ${limits.max} characters without white space, plus and invisible characters`;
  const line = text({ max: limits.max, accepts });
  return {
    ...line,
    read(given) {
      const reading = line.read(given);
      if (reading.kind === 'wrong' || isTrustableName(given)) return reading;
      return wrong('holds white space, a plus or an invisible character');
    },
  };
}

/** A libpq URI. The whole URI is a secret, because it usually has a password. */
export function postgresUri(): ValueType<Secret> {
  return concealed('a libpq URI (`postgresql://user:password@host/database`)', (given) => {
    if (given.length > MAX_TEXT) return wrong(`is longer than ${MAX_TEXT} characters`);
    if (/\s|\p{Cc}/u.test(given)) return wrong('holds white space or a control character');
    if (!/^postgres(ql)?:\/\//.test(given)) return wrong('does not begin with postgresql://');
    const isUsable = readConnectionString(given) !== undefined;
    return isUsable ? read(new Secret(given)) : wrong('is not a well-formed URI (is its password percent-encoded?)');
  });
}

function range(min: string | number | undefined, max: string | number | undefined): string | undefined {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  if (min !== undefined) return `of at least ${min}`;
  return max === undefined ? undefined : `of at most ${max}`;
}

function secondsOf(bound: string | undefined): number | undefined {
  if (bound === undefined) return undefined;
  const seconds = parseDuration(bound);
  if (seconds === undefined) throw new TypeError('A bound of a duration is not a duration.');
  return seconds;
}

/** The source of each request may be compared with every network of the list. */
const MAX_NETWORKS = 100;

const FAULTS: Readonly<Record<NetworkFault, string>> = {
  malformed: 'is not a network in CIDR notation',
  beyond_prefix: 'has bits set beyond its prefix',
  everything: 'includes every address, and not all may be trusted',
};

/**
 * Networks separated by commas: the only list in a single text (specification "Configuration rules"). An error names the
 * position in the list, never the text.
 */
export function networkList(): ValueType<readonly Network[]> {
  return shown(
    `at most ${MAX_NETWORKS} networks in CIDR notation (\`192.0.2.0/24\`, \`2001:db8::/32\`), separated by commas`,
    (given) => {
      const items = given.split(',');
      if (items.length > MAX_NETWORKS) return wrong(`names more than ${MAX_NETWORKS} networks`);
      const networks: Network[] = [];
      for (const [at, item] of items.entries()) {
        const network = parseNetwork(item.trim());
        if (typeof network === 'string') return wrong(`is wrong at ${at + 1}: it ${FAULTS[network]}`);
        networks.push(network);
      }
      return read(networks);
    },
  );
}
