import { expect } from 'chai';
import { connectionFaults } from '../../../../adapters/storage/postgres/connection-faults.ts';
import { hostsOf, readConnectionString } from '../../../../adapters/storage/postgres/connection-string.ts';

const TARGET = 'target_session_attrs=read-write';

/** What `connectionFaults` finds, as text. */
const faultsOf = (uri: string): readonly string[] =>
  connectionFaults(uri).map((fault) => ('parameter' in fault ? `${fault.problem} ${fault.parameter}` : fault.problem));

describe('the hosts of a connection string', () => {
  for (const uri of [
    'postgresql://u:p%40ss@db.example:5433/mandate?sslmode=verify-full',
    'postgresql://db/mandate?uselibpqcompat=true&sslmode=require',
    'postgres://db/mandate',
    'postgresql:///mandate?host=/run/postgresql&port=5433',
    'postgresql://u:p@localhost/mandate?host=/run/postgresql',
    'postgresql://u:100%@db',
    'postgresql://[::1]:5433/mandate?options=-c%20search_path%3Dmandate&application_name=a&ssl=true&sslnegotiation=direct',
  ]) {
    it(`with one host is the string itself: ${uri}`, () => {
      expect(hostsOf(uri)).to.deep.equal([uri]);
      expect(faultsOf(uri)).to.deep.equal([]);
    });
  }

  for (const [uri, hosts] of [
    [
      `postgresql://u:p%2C%40@h1:5432,h2/db?sslmode=verify-full&${TARGET}`,
      ['postgresql://u:p%2C%40@h1:5432/db?sslmode=verify-full', 'postgresql://u:p%2C%40@h2/db?sslmode=verify-full'],
    ],
    [
      `postgresql://[2001:db8::1]:5432,[::1],10.0.0.7/db?target_session_attrs=primary`,
      ['postgresql://[2001:db8::1]:5432/db', 'postgresql://[::1]/db', 'postgresql://10.0.0.7/db'],
    ],
    [`postgresql://h1,h2/db?port=5433&${TARGET}`, ['postgresql://h1/db?port=5433', 'postgresql://h2/db?port=5433']],
    [`postgresql://h1,h2?port=1,&${TARGET}`, ['postgresql://h1?port=1', 'postgresql://h2']],
    [
      `postgresql://u:p@/db?host=a,%2Frun&port=5432,5433&${TARGET}&sslmode=disable`,
      [
        'postgresql://u:p@/db?sslmode=disable&host=a&port=5432',
        'postgresql://u:p@/db?sslmode=disable&host=%2Frun&port=5433',
      ],
    ],
    [`postgresql://u@h1/db?${TARGET}`, ['postgresql://u@h1/db']],
    ...['prefer', 'require', 'verify-ca'].map(
      (mode) =>
        [`postgresql://u@h1/db?sslmode=${mode}&ssl=1`, ['postgresql://u@h1/db?sslmode=verify-full&ssl=1']] as const,
    ),
    [`postgresql://u@h1/db?target_session_attrs=any&ssl=1`, ['postgresql://u@h1/db?ssl=1']],
  ] as const) {
    it(`are in order, each with its port: ${uri}`, () => {
      expect(hostsOf(uri)).to.deep.equal(hosts);
      expect(faultsOf(uri)).to.deep.equal([]);
    });
  }
});

describe('a connection string', () => {
  for (const uri of [
    'postgresql://u:pa?ss@db/mandate',
    'postgresql://a,:5433/mandate',
    'postgresql://u:1?secret@db/mandate',
    'postgresql://u:1?secret=1&more@db/mandate',
    'postgresql://u:1?secret&sslmode=require',
    'postgresql://u:1?secret=2&x=3@db/mandate',
    'postgresql://db/mandate#secret',
    'postgresql://a,b:port/mandate',
    'postgresql://a:99999,b/mandate',
    'postgresql://[::1,b/mandate',
    'postgresql://u:p%ff@a,b/mandate',
  ]) {
    it(`is malformed with a password that may not be percent-encoded, or an invalid host or port: ${uri}`, () => {
      expect(readConnectionString(uri)).to.equal(undefined);
      expect(faultsOf(uri)).to.deep.equal(['unusable']);
    });
  }

  const onlyFirst = ['missing_target_session_attrs'];
  for (const [uri, faults] of [
    ['postgresql://a,b/db', onlyFirst],
    ['postgresql://a,b/db?target_session_attrs=any', onlyFirst],
    ['postgresql:///db?host=a,b', onlyFirst],
    ...['standby', 'read-only', 'prefer-standby', 'x', ''].flatMap((target) =>
      ['a', 'a,b'].map(
        (hosts) => [`postgresql://${hosts}/db?target_session_attrs=${target}`, ['wrong_target_session_attrs']] as const,
      ),
    ),
    [`postgresql://a,,b/db?${TARGET}`, ['empty_host']],
    [`postgresql:///db?host=a,&${TARGET}`, ['empty_host']],
    [`postgresql://a,b,c/db?port=1,2&${TARGET}`, ['count_of_ports']],
    ['postgresql://a/db?port=1,2', ['count_of_ports']],
    ['postgresql:///db?port=1,2', ['count_of_ports']],
    ...['0', '65536', 'x', '1x', '-1'].map((port) => [`postgresql://a/db?port=${port}`, ['wrong_port']] as const),
    [`postgresql://a/db?host=b,c&${TARGET}`, ['named_twice']],
    [`postgresql://a,b/db?host=c&${TARGET}`, ['named_twice']],
    [`postgresql://a:1,b/db?port=2&${TARGET}`, ['named_twice']],
    // libpq's, but the driver does not read them, or each session is set otherwise.
    ...[
      ...['tcp_user_timeout', 'connect_timeout', 'keepalives', 'channel_binding', 'require_auth', 'hostaddr', 'dbname'],
      ...['client_encoding', 'gssencmode', 'sslcrl', 'sslpassword', 'load_balance_hosts', 'statement_timeout'],
      ...['query_timeout', 'replication', 'fallback_application_name', 'SSLMODE', '__proto__', 'constructor'],
    ].map((name) => [`postgresql://a/db?${name}=1`, [`unknown_parameter ${name}`]] as const),
    ['postgresql://a/db?sslmode=require&sslmode=disable', ['doubled_parameter sslmode']],
    ...['allow', 'verify', 'REQUIRE', ''].map(
      (mode) => [`postgresql://a/db?sslmode=${mode}`, ['wrong_sslmode']] as const,
    ),
    [`postgresql://a,b/db?${TARGET}&target_session_attrs=any`, ['doubled_parameter target_session_attrs']],
    [
      'postgresql://a,,b/db?keepalives=1&port=1,2&sslmode=require&sslmode=require&sslcert=/nowhere.pem',
      [
        'unknown_parameter keepalives',
        'doubled_parameter sslmode',
        'empty_host',
        'count_of_ports',
        'missing_target_session_attrs',
        'unreadable_file',
      ],
    ],
  ] as const) {
    it(`has all faults named, without a value: ${uri}`, () => {
      expect(faultsOf(uri)).to.deep.equal(faults);
    });
  }
});
