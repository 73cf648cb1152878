/** Several processes behind one port of one machine: `mandate serve --workers N`. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { variableOf } from '../../composition/settings/setting-error.ts';
import { freePort } from '../../scripts/free-port.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { scrape } from '../support/samples.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const MAIN = fileURLToPath(new URL('../../composition/main.ts', import.meta.url));
/** A worker that hangs is found after ten seconds, and the one in its place has to start. */
const IN_TIME_MS = 60_000;

const settings = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  NODE_ENV: 'development',
};

interface Fleet {
  readonly child: ChildProcess;
  readonly url: string;
  /** Every line of its log so far, each read as JSON. */
  lines(): readonly Readonly<Record<string, unknown>>[];
  complaints(): string;
  /** Resolves once so many lines have this message. */
  said(message: string, times: number): Promise<void>;
  readonly ended: Promise<number | null>;
}

async function startFleet(workers: number, given: Readonly<Record<string, string>>): Promise<Fleet> {
  const port = await freePort();
  const all = { ...settings, PORT: String(port), ...given };
  const environment = Object.fromEntries(Object.entries(all).map(([key, value]) => [variableOf(key), value]));
  const child = spawn(process.execPath, [...asProgram(MAIN), 'serve', '--workers', String(workers)], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  // Behind the last line break there may be a part of a line.
  const whole = () => out.slice(0, out.lastIndexOf('\n') + 1).split('\n');
  const lines = () => whole().flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    lines,
    complaints: () => err,
    said: (message, times) =>
      new Promise((resolve, reject) => {
        const isSaid = () => lines().filter((line) => line.message === message).length >= times;
        const end = () => reject(new Error(`it ended: ${out}${err}`));
        const look = () => {
          if (!isSaid()) return;
          child.stdout.off('data', look);
          child.off('close', end);
          resolve();
        };
        child.stdout.on('data', look);
        child.once('close', end);
        look();
      }),
    ended: once(child, 'close').then(([code]) => code),
  };
}

describe('several workers behind one port', function () {
  this.timeout(IN_TIME_MS);
  let database: FreshDatabase;
  let fleet: Fleet;
  let metricsPort: number;
  before(async () => {
    database = await freshDatabase('postgres');
    metricsPort = await freePort();
    const metrics = { 'Service:Metrics:Port': String(metricsPort) };
    fleet = await startFleet(2, { ...database.settings, ...sharedSigningKey(), ...metrics });
    await fleet.said('every worker serves', 1);
  });
  after(async () => {
    fleet.child.kill('SIGKILL');
    await fleet.ended;
    await database.drop();
  });

  /** Who says such a line, by the number on it. */
  const sayers = (message: string) =>
    new Set(fleet.lines().flatMap((line) => (line.message === message ? [line.worker] : [])));

  it('all serve, with one published key', async () => {
    await fleet.said('listening', 2);
    expect([...sayers('listening')]).to.have.members([1, 2]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () =>
        (await fetch(`${fleet.url}/.well-known/jwks.json`, { headers: { connection: 'close' } })).text(),
      ),
    );
    expect(new Set(answers)).to.have.property('size', 1);
    await fleet.said('request', 20);
    expect([...sayers('request')]).to.have.members([1, 2]);
  });

  /** What all of them have answered, as the one port for their metrics has it. */
  const served = { surface: 'keys', outcome: 'ok' };
  /** Neither a worker nor its database is waited for for long: who was too slow is asked again. */
  const wholeScrape = async () => {
    for (;;) {
      const scraped = await scrape(metricsPort);
      const answered = scraped.value('mandate_workers', { state: 'answered' });
      if (answered === 2 && scraped.value('mandate_database_up') === 1) return scraped;
      await pause(100);
    }
  };

  it('are measured as one, on a port of the primary', async () => {
    const { value } = await wholeScrape();
    expect(value('mandate_requests_total', served)).to.equal(20);
    expect(value('mandate_request_duration_seconds_count', { surface: 'keys' })).to.equal(20);
    expect(value('mandate_ledger_unsealed_records')).to.equal(0);
    expect(value('mandate_database_connections', { pool: 'serving', state: 'most' })).to.equal(32);
    for (const worker of ['1', '2', 'primary']) {
      expect(value('nodejs_eventloop_lag_p99_seconds', { worker }), worker).to.be.a('number');
    }
  });

  it('replace one that is killed, while the others go on', async () => {
    const children = readFileSync(`/proc/${fleet.child.pid}/task/${fleet.child.pid}/children`, 'utf8');
    process.kill(Number(children.split(' ')[0]), 'SIGKILL');
    await fleet.said('a worker ended, and is replaced', 1);
    expect((await fetch(`${fleet.url}/healthz`)).status).to.equal(200);
    await fleet.said('listening', 3);
    expect([...sayers('listening')]).to.have.members([1, 2, 3]);
    // What the one that is gone had answered still counts.
    const { value } = await wholeScrape();
    expect(value('mandate_requests_total', served)).to.equal(20);
    expect(value('mandate_worker_ends_total')).to.equal(1);
  });

  it('leave nobody waiting who was given to one that hangs, and then is killed', async () => {
    const [victim] = readFileSync(`/proc/${fleet.child.pid}/task/${fleet.child.pid}/children`, 'utf8').split(' ');
    process.kill(Number(victim), 'SIGSTOP');
    // Each on a connection of its own, so that they take turns.
    const asking = Array.from(
      { length: 12 },
      () =>
        new Promise((resolve) => {
          get(`${fleet.url}/healthz`, { agent: false }, (answer) => resolve(answer.resume().statusCode)).on(
            'error',
            () => resolve('closed'),
          );
        }),
    );
    // The other one has answered its half by then, and every one of the rest is in a line.
    const answered = fleet.lines().filter(({ message }) => message === 'request').length;
    await fleet.said('request', answered + 6);
    process.kill(Number(victim), 'SIGKILL');
    const answers = await Promise.all(asking);
    // What had been sent to it is gone with it, which is one at most; nobody had read the others.
    expect(answers.filter((answer) => answer !== 200)).to.have.length.of.at.most(1);
    await fleet.said('a worker ended, and is replaced', 2);
    await fleet.said('listening', 4);
  });

  it('are killed and replaced when they hang, though nobody else sees it', async () => {
    const [victim] = readFileSync(`/proc/${fleet.child.pid}/task/${fleet.child.pid}/children`, 'utf8').split(' ');
    process.kill(Number(victim), 'SIGSTOP');
    await fleet.said('a worker hangs, and is killed', 1);
    await fleet.said('a worker ended, and is replaced', 3);
    await fleet.said('listening', 5);
    const { pid } = fleet.child;
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')).not.to.include(victim);
  });

  it('finish what is under way when they are told to stop, and end with 0', async () => {
    let isStopped = false;
    const answers: number[] = [];
    const faults: unknown[] = [];
    const asking = Array.from({ length: 8 }, async () => {
      while (!isStopped) {
        try {
          const answer = await fetch(`${fleet.url}/.well-known/jwks.json`);
          await answer.text();
          answers.push(answer.status);
          if (answer.headers.get('connection') === 'close') return;
        } catch (error) {
          const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
          // Nobody accepts any more. What was accepted must have been answered.
          if (!(cause !== undefined && 'code' in cause && cause.code === 'ECONNREFUSED')) faults.push(cause ?? error);
          return;
        }
      }
    });
    await fleet.said('request', fleet.lines().filter(({ message }) => message === 'request').length + 50);
    fleet.child.kill('SIGTERM');
    expect(await fleet.ended).to.equal(0);
    isStopped = true;
    await Promise.all(asking);
    expect(answers).to.have.length.greaterThan(50);
    expect(new Set(answers)).to.deep.equal(new Set([200]));
    expect(faults).to.deep.equal([]);
    expect(fleet.lines().filter(({ message }) => message === 'stopped')).to.have.length(2);
    expect(fleet.complaints()).to.equal('');
  });
});

describe('several workers that are told to stop before they serve', () => {
  it('end at once with 0, and nothing comes after them', async function () {
    this.timeout(IN_TIME_MS);
    // They may come to serve before they are told, and it is elapsed time that is guarded.
    this.retries(2);
    const database = await freshDatabase('postgres');
    const fleet = await startFleet(2, { ...database.settings, ...sharedSigningKey() });
    const { pid } = fleet.child;
    const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    while (children().split(' ').length < 3) await pause(5);
    const told = performance.now();
    fleet.child.kill('SIGTERM');
    expect(await fleet.ended).to.equal(0);
    expect(performance.now() - told).to.be.below(5_000);
    expect(fleet.lines().map(({ message }) => message)).to.include('stopping every worker');
    expect(fleet.lines().map(({ message }) => message)).not.to.include('every worker serves');
    expect(fleet.complaints()).to.equal('');
    await database.drop();
  });
});

describe('several workers are refused', () => {
  it('on SQLite, and with a key that each would make up', async function () {
    this.timeout(IN_TIME_MS);
    const database = await freshDatabase('sqlite');
    const fleet = await startFleet(2, database.settings);
    expect(await fleet.ended).to.equal(1);
    expect(fleet.complaints()).to.match(/--workers is for Postgres/);
    expect(fleet.complaints()).to.match(/--workers needs a signing key/);
    await database.drop();
  });

  it('when none can start, which says why and ends with 1', async function () {
    this.timeout(IN_TIME_MS);
    const database = await freshDatabase('postgres', 'absent');
    const fleet = await startFleet(2, { ...database.settings, ...sharedSigningKey() });
    expect(await fleet.ended).to.equal(1);
    expect(fleet.complaints()).to.match(/The database schema is not there: run mandate migrate/);
    expect(fleet.complaints()).to.match(/A worker did not come to serve/);
    await database.drop();
  });
});
