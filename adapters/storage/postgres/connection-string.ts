/**
 * Reads a libpq URI. The driver connects to one host and ignores parameters that it does not know. So several hosts are
 * split here into one URI each, and a parameter without effect is a fault. Imports nothing: settings are read with it.
 */

/** A fault never contains a value: any part of the URI may be a piece of the password. */
export type ConnectionStringFault =
  | { readonly problem: 'unknown_parameter' | 'doubled_parameter'; readonly parameter: string }
  | {
      readonly problem:
        | 'named_twice'
        | 'empty_host'
        | 'count_of_ports'
        | 'wrong_port'
        | 'wrong_target_session_attrs'
        | 'missing_target_session_attrs'
        | 'wrong_sslmode';
    };

export interface ConnectionString {
  /** For each host, in the order of the URI, one that the driver can use. */
  readonly hosts: readonly [string, ...string[]];
  readonly faults: readonly ConnectionStringFault[];
}

const SSLMODE = 'sslmode';

/** The driver checks the certificate in all of these, and warns on standard error at those other than `verify-full`. */
const VERIFIED = 'verify-full';
const LIKE_VERIFIED = ['prefer', 'require', 'verify-ca'];
const MODES = ['disable', 'no-verify', VERIFIED, ...LIKE_VERIFIED];

/** With it the driver reads the modes as libpq does. */
const AS_LIBPQ = 'uselibpqcompat';

/** The parameters that the driver and the pools honour. `host` and `port` override the address before the path. */
const HONOURED = new Set([
  ...['user', 'password', 'host', 'port', 'application_name', 'options'],
  ...['ssl', SSLMODE, 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', AS_LIBPQ],
]);

/** Read here; the driver ignores it. */
const TARGET = 'target_session_attrs';

/** Both take the primary: Mandate refuses a standby, and a primary that is read-only for all answers as read-only. */
const PRIMARY = ['read-write', 'primary'];

/** Scheme, user and password, hosts with ports, path, parameters. */
const URI = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#@]*))?$/;

const HOST_AND_PORT = /^(?:\[[^[\]]*\]|[^:[\]]*)(?::(\d*))?$/;

interface Parameter {
  readonly name: string;
  readonly value: string;
  /** Name and value as they were written. */
  readonly text: string;
}

/** @returns `undefined` if it is no well-formed URI */
export function readConnectionString(uri: string): ConnectionString | undefined {
  const [matched, scheme = '', user = '', address = '', path = '', query = ''] = URI.exec(uri) ?? [];
  const given = readParameters(query);
  const parameters = given && spellModes(given);
  const addressed = address === '' ? [] : address.split(',');
  if (matched === undefined || parameters === undefined) return undefined;
  if (!addressed.every((host) => HOST_AND_PORT.test(host))) return undefined;

  const listed = (name: string) => parameters.find((given) => given.name === name)?.value.split(',') ?? [];
  const named = listed('host');
  const ports = listed('port');
  const faults = [
    ...faultsOfParameters(parameters),
    ...faultsOfHosts(addressed, named, ports),
    ...faultsOfTarget(parameters, Math.max(addressed.length, named.length) > 1),
    ...faultsOfMode(parameters),
  ];

  const without = (...names: readonly string[]) =>
    parameters.filter(({ name }) => !names.includes(name)).map(({ text }) => text);
  const build = (host: string, given: readonly string[]) =>
    `${scheme}${user}${host}${path === '' && host === '' ? '/' : path}${given.length === 0 ? '' : `?${given.join('&')}`}`;
  const portOf = (index: number) => parameter('port', ports.length > 1 ? ports[index] : ports[0]);
  const hosts = ((): readonly string[] => {
    if (named.length > 1) {
      const others = without('host', 'port', TARGET);
      return named.map((host, index) => build('', [...others, ...parameter('host', host), ...portOf(index)]));
    }
    if (addressed.length > 1) {
      const others = without('port', TARGET);
      return addressed.map((host, index) => build(host, [...others, ...portOf(index)]));
    }
    const isDriversOwn = parameters === given && parameters.every(({ name }) => name !== TARGET);
    return [isDriversOwn ? uri : build(address, without(TARGET))];
  })();
  const [first, ...further] = hosts;
  return first !== undefined && hosts.every(isWellFormed) ? { hosts: [first, ...further], faults } : undefined;
}

/** The URI of each host, in order. @param uri one without faults */
export function hostsOf(uri: string): readonly [string, ...string[]] {
  return readConnectionString(uri)?.hosts ?? [uri];
}

function parameter(name: string, value: string | undefined): readonly string[] {
  return value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`];
}

/** @returns `undefined` if a name is not one word: it may be the rest of a password that is not percent-encoded */
function readParameters(query: string): readonly Parameter[] | undefined {
  const texts = query.split('&').filter((text) => text !== '');
  if (!texts.every((text) => /^\w+=/.test(text))) return undefined;
  return texts.flatMap((text) => [...new URLSearchParams(text)].map(([name, value]) => ({ name, value, text })));
}

/** Writes `verify-full` for each mode that the driver treats like it. @returns the same list if it has no such mode */
function spellModes(parameters: readonly Parameter[]): readonly Parameter[] {
  const isLikeVerified = ({ name, value }: Parameter) => name === SSLMODE && LIKE_VERIFIED.includes(value);
  const isAsLibpq = parameters.some(({ name, value }) => name === AS_LIBPQ && value === 'true');
  if (isAsLibpq || !parameters.some(isLikeVerified)) return parameters;
  return parameters.map((each) =>
    isLikeVerified(each) ? { name: SSLMODE, value: VERIFIED, text: `${SSLMODE}=${VERIFIED}` } : each,
  );
}

function faultsOfParameters(parameters: readonly Parameter[]): readonly ConnectionStringFault[] {
  const names = parameters.map(({ name }) => name);
  return [...new Set(names)].flatMap((name): readonly ConnectionStringFault[] => {
    if (!HONOURED.has(name) && name !== TARGET) return [{ problem: 'unknown_parameter', parameter: name }];
    const isDoubled = names.indexOf(name) !== names.lastIndexOf(name);
    return isDoubled ? [{ problem: 'doubled_parameter', parameter: name }] : [];
  });
}

function faultsOfHosts(
  addressed: readonly string[],
  named: readonly string[],
  ports: readonly string[],
): readonly ConnectionStringFault[] {
  const hosts = named.length > 0 ? named : addressed;
  const hasAddressedPort = addressed.some((host) => HOST_AND_PORT.exec(host)?.[1] !== undefined);
  // With one host the parameter counts, as for libpq: postgresql://localhost/db?host=/run/postgresql is common.
  const areNamedTwice =
    Math.max(addressed.length, named.length) > 1 &&
    ((addressed.length > 0 && named.length > 0) || (hasAddressedPort && ports.length > 0));
  const hasEmptyHost = hosts.length > 1 && hosts.includes('');
  const isWrongCount = ports.length > 1 && ports.length !== hosts.length;
  return [
    ...(areNamedTwice ? [{ problem: 'named_twice' } as const] : []),
    ...(hasEmptyHost ? [{ problem: 'empty_host' } as const] : []),
    ...(isWrongCount ? [{ problem: 'count_of_ports' } as const] : []),
    ...(ports.every(isPort) ? [] : [{ problem: 'wrong_port' } as const]),
  ];
}

/** An empty port is the default one, as for libpq. */
function isPort(text: string): boolean {
  return text === '' || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535);
}

function faultsOfTarget(parameters: readonly Parameter[], hasSeveralHosts: boolean): readonly ConnectionStringFault[] {
  const target = parameters.find(({ name }) => name === TARGET)?.value ?? 'any';
  if (PRIMARY.includes(target)) return [];
  if (target !== 'any') return [{ problem: 'wrong_target_session_attrs' }];
  return hasSeveralHosts ? [{ problem: 'missing_target_session_attrs' }] : [];
}

function faultsOfMode(parameters: readonly Parameter[]): readonly ConnectionStringFault[] {
  const isUnknown = parameters.some(({ name, value }) => name === SSLMODE && !MODES.includes(value));
  return isUnknown ? [{ problem: 'wrong_sslmode' }] : [];
}

function isWellFormed(uri: string): boolean {
  // With `?host=/path/to/socket` the host before the path is empty, which `URL` accepts only without a user.
  const parses = URL.canParse(uri) || URL.canParse(uri.replace('@/', '@socket/'));
  return parses && hasReadableEscapes(uri);
}

/** The driver reads a `%` without an escape literally, and cannot connect if escapes do not decode to text (`%ff`). */
function hasReadableEscapes(uri: string): boolean {
  if (/%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(uri)) return true;
  try {
    decodeURIComponent(uri.split('?', 1)[0] ?? '');
    return true;
  } catch {
    return false;
  }
}
