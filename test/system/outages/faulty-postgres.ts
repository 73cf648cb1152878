/** A service on a Postgres with which a test may do anything. */

import { expect } from 'chai';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { type OwnPostgres, ownPostgres } from './own-postgres.ts';

export const HEALTHY = [200, 'Healthy', 'The database answers.'];

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function faultyPostgres() {
  let own: OwnPostgres;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    own = await ownPostgres();
    mandate = await startMandate({ database: own.database });
    agent = await mandate.agent();
  });

  after(async () => {
    await mandate.stop();
    await own.postgres.stop();
  });

  const readiness = async (of = mandate) => {
    const { status: code, body } = await of.get('/readyz', { accept: 'application/json' });
    const { database } = body.checks as Record<string, { readonly status: string; readonly detail: string }>;
    return [code, database?.status, database?.detail];
  };

  const expectUnavailable = (answer: Answer) => {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.headers.get('retry-after')).to.equal('5');
    expect(answer.body.error).to.equal('temporarily_unavailable');
  };

  const records = async () => Number((await own.sql('select count(*) as number from ledger'))[0]?.number);

  /** The log's lines about outages, after a given line. */
  const outages = (since: number) =>
    mandate.log.lines
      .slice(since)
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message.startsWith('the database could not answer'));

  return {
    get own() {
      return own;
    },
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    readiness,
    expectUnavailable,
    records,
    outages,
  };
}

export type FaultyPostgres = ReturnType<typeof faultyPostgres>;
