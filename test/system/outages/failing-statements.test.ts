/**
 * Each statement of each decision fails once with each kind of Postgres error. The service retries a decision after a
 * conflict. It answers 503 to any other failure, writes no record, and then accepts the same request.
 */

import { expect } from 'chai';
import { connectOutside, type OutsideConnection, postgres } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { byLength } from '../../support/length.ts';
import { type Answer, type Mandate, startMandate } from '../../support/mandate.ts';
import { scimSettings } from '../../support/scim-client.ts';
import { type Fault, LOST_RESPONSE, type StatementFaults, statementFaults } from '../../support/statement-faults.ts';
import { type Ask, type Decision, decisions, type Fixture, SWITCHES } from './decisions.ts';

/** Every response arrives within this time. */
const IN_TIME_MS = 9000;

/** Serialization failure and deadlock, after which the service retries the decision. */
const DECIDED_AGAIN: readonly Fault[] = [{ sqlState: '40001' }, { sqlState: '40P01' }];

/**
 * Lock timeout, statement timeout, lost session, too many connections, read-only transaction, no transaction number left,
 * and a table and a right that another tool took away.
 */
const REFUSED: readonly Fault[] = [
  { sqlState: '55P03' },
  { sqlState: '57014' },
  { sqlState: '57P01', ends: 'session' },
  { sqlState: '53300' },
  { sqlState: '25006' },
  { sqlState: '54000' },
  { sqlState: '42P01' },
  { sqlState: '42501' },
];

/** Each statement of a longer decision fails with only one of these errors, unless ALL_FAULTS is set. */
const MANY_STATEMENTS = byLength({ short: 0, full: 4 });
/** Both at full length, otherwise in turn. */
const againFor = (nth: number): readonly Fault[] =>
  byLength({ short: DECIDED_AGAIN.filter((_, way) => way === nth % DECIDED_AGAIN.length), full: DECIDED_AGAIN });
/** Every statement at full length, otherwise every third one. */
const STEP = byLength({ short: 3, full: 1 });
const waysFor = (statements: number, nth: number): readonly Fault[] =>
  statements <= MANY_STATEMENTS || process.env.ALL_FAULTS !== undefined
    ? REFUSED
    : REFUSED.filter((_, way) => way === nth % REFUSED.length);

describe('A Postgres statement that fails', () => {
  let faults: StatementFaults;
  let outside: OutsideConnection;
  let fixture: Fixture;
  const undo: (() => Promise<unknown>)[] = [];

  before(async function () {
    this.timeout(60_000);
    const database = await postgres.fresh();
    // It sees what the sessions of the service do.
    outside = await connectOutside(database, 'superuser');
    const uri = new URL(database.settings['Service:Database:ConnectionString'] ?? '');
    faults = await statementFaults(Number(uri.port));
    uri.port = String(faults.port);
    const proxied = { ...database.settings, 'Service:Database:ConnectionString': uri.href };
    const mandate: Mandate = await startMandate({
      database: { ...postgres, fresh: async () => ({ ...database, settings: proxied }) },
      settings: {
        ...scimSettings,
        'Service:Scim:SponsorKeyAttribute': 'externalId',
        'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
      },
    });
    undo.push(outside.close, mandate.stop, faults.close);
    fixture = { mandate, agent: await mandate.agent() };
  });
  after(async () => {
    for (const step of undo) await step();
  });

  const highest = async () =>
    Number((await outside.sql('select coalesce(max(seq), 0)::integer as highest from ledger'))[0]?.highest);
  const recordsSince = async (seq: number) =>
    (await outside.sql(`select event, reason from ledger where seq > ${seq} order by seq`)).map(({ event, reason }) =>
      reason === null ? String(event) : `${event} ${reason}`,
    );

  interface Outcome {
    readonly answer: Answer;
    readonly records: readonly string[];
    readonly took: number;
    /** The number of statements, including those of retries. */
    readonly statements: number;
  }

  /** The server still executes what it has received when the connection of a lost response closes. Then it may commit. */
  const nothingRuns = async () =>
    (
      await outside.sql(
        "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'",
      )
    ).length === 0;

  const asked = async (ask: Ask, nth: number, fault: Fault): Promise<Outcome> => {
    const before = await highest();
    faults.arm(nth, fault);
    const started = performance.now();
    const answer = await ask();
    const took = performance.now() - started;
    const statements = faults.disarm();
    await eventually(nothingRuns);
    return { answer, took, statements, records: await recordsSince(before) };
  };

  const expectUnavailable = ({ answer, took }: Outcome, { surface }: Decision): void => {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.headers.get('retry-after')).to.equal('5');
    expect(took).to.be.below(IN_TIME_MS);
    if (surface === 'scim') expect(answer.body).to.include({ status: '503' }).and.to.have.property('schemas');
    else expect(answer.body).to.have.property('error', 'temporarily_unavailable');
  };

  for (const decision of decisions) {
    it(`is retried or refused, and leaves no part of the decision: ${decision.name}`, async function () {
      this.timeout(60_000);
      // The first request may also open a connection, whose statements would count.
      await (await decision.about(fixture))();
      const whole = await asked(await decision.about(fixture), 0, LOST_RESPONSE);
      expect(whole.answer.status, whole.answer.text).to.equal(decision.status);
      expect(whole.records).to.deep.equal(decision.records);
      expect(whole.statements).to.be.greaterThan(0);

      for (let nth = 1; nth <= whole.statements; nth += STEP) {
        for (const fault of againFor(nth)) {
          const outcome = await asked(await decision.about(fixture), nth, fault);
          expect(outcome.answer.status, `${nth} ${fault.sqlState} ${outcome.answer.text}`).to.equal(decision.status);
          expect(outcome.records, `${nth} ${fault.sqlState}`).to.deep.equal(decision.records);
          expect(outcome.statements).to.be.greaterThan(whole.statements);
        }
        for (const fault of waysFor(whole.statements, nth)) {
          const ask = await decision.about(fixture);
          const refused = await asked(ask, nth, fault);
          const isAskedAgain = SWITCHES.has(decision.name) && fault.sqlState === '53300';
          if (isAskedAgain || (nth === 1 && decision.outlivesFirst === true)) {
            expect(refused.answer.status, `${fault.sqlState} ${refused.answer.text}`).to.equal(decision.status);
            expect(refused.records, fault.sqlState).to.deep.equal(decision.records);
            continue;
          }
          expectUnavailable(refused, decision);
          expect(refused.records, `${nth} ${fault.sqlState}`).to.deep.equal([]);
          const again = await asked(ask, 0, fault);
          expect(again.answer.status, `again after ${nth} ${fault.sqlState}: ${again.answer.text}`).to.equal(
            decision.status,
          );
          expect(again.records, `again after ${nth} ${fault.sqlState}`).to.deep.equal(decision.records);
        }
        const lost = await asked(await decision.about(fixture), nth, LOST_RESPONSE);
        if (nth === 1 && decision.outlivesFirst === true) expect(lost.answer.status).to.equal(decision.status);
        else expectUnavailable(lost, decision);
        // The decision has left all of its records or none.
        if (lost.records.length > 0) expect(lost.records).to.deep.equal(decision.records);
      }
    });
  }
});
