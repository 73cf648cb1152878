import { expect } from 'chai';
import pg from 'pg';
import { isTooManyConnections } from '../../../../adapters/storage/postgres/errors.ts';
import { faultOf, POOLER_FAULTS, STATES } from '../../../../adapters/storage/postgres/faults.ts';

/** As PgBouncer 1.18 to 1.23 words them. They all have the code 08P01. */
const MESSAGES: readonly (readonly string[])[] = [
  ['no more connections allowed (max_client_conn)'],
  ['query_wait_timeout'],
  [
    'server login has been failing, try again later (server_login_retry)',
    'server login has been failing, cached error: role "x" is not permitted to log in (server_login_retry)',
    'client_login_timeout (server down)',
    'server login failed: FATAL the database system is starting up',
  ],
  ['server conn crashed?', 'server connection closed'],
];

describe('The errors of a pooler', () => {
  const fatal = (message: string) =>
    Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code: '08P01', severity: 'FATAL' });

  it('have the meaning of their message, and count as a lack of connections if the message says so', () => {
    expect(MESSAGES.map((messages) => messages.map((message) => faultOf(fatal(message))))).to.deep.equal(
      MESSAGES.map((messages, nth) => messages.map(() => POOLER_FAULTS[nth])),
    );
    const scarce = MESSAGES.flat().filter((message) => isTooManyConnections(fatal(message)));
    expect(scarce).to.deep.equal([MESSAGES[0]?.[0], MESSAGES[1]?.[0]]);
    expect(faultOf(fatal('client_idle_timeout'))).to.deep.equal({ code: '08P01', ...STATES['08P01'] });
  });
});

describe('An internal error of Postgres', () => {
  const internal = (message: string, severity: string) =>
    faultOf(Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code: 'XX000', severity }));

  it('is no damage if a new session cannot write its file: the data disk is full', () => {
    for (const message of ['could not write init file', 'could not write init file: No space left on device']) {
      expect(internal(message, 'FATAL')?.meaning).to.include('the data disk of Postgres: mostly it is full');
    }
    for (const message of ['could not read init file', 'invalid page in block 7', 'cache lookup failed for type 1']) {
      expect(internal(message, 'ERROR')).to.deep.equal({ code: 'XX000', ...STATES.XX });
    }
  });
});
