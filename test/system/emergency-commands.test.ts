/** `mandate stop`, `block`, `unblock` and `agent disable` against a running service. */

import type { ServerResponse } from 'node:http';
import { PassThrough, Writable } from 'node:stream';
import { expect } from 'chai';
import { confirm } from '../../adapters/cli/confirm.ts';
import { emergencySwitches } from '../../adapters/outbound/emergency-switches.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import type { StopTarget } from '../../application/ports/admin-api.ts';
import { describeTarget } from '../../composition/commands/emergency.ts';
import { runLine } from '../../composition/commands/run-line.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { Secret } from '../../domain/secret.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { startCommand } from '../support/command-process.ts';
import { sqliteFile } from '../support/databases.ts';
import { agentIdOf } from '../support/domain-fixtures.ts';
import { eventually } from '../support/eventually.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, fieldsOf, type Mandate, startMandate } from '../support/mandate.ts';
import { operatorToken, ROLE_VALUES, STOP_EVERYTHING, TWO_PERSONS } from '../support/operators.ts';
import { aRegistrationBody } from '../support/registrations.ts';

const WHY = 'Incident 4711: “é”';
const UNTIL = /The rest accept the last tokens until \d{4}-\d\d-\d\dT[\d:.]+Z at the latest\./;

describe('The emergency commands', function () {
  this.timeout(30_000);
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: { ...TWO_PERSONS, ...STOP_EVERYTHING } });
    await mandate.untilReady();
  });
  after(() => mandate.stop());

  /** Runs the line in this process, whose standard input is no terminal. */
  async function run(line: readonly string[], environment: Readonly<Record<string, string | undefined>>) {
    const { result, out, err } = await capturingOutput(() => withEnvironment(environment, () => runLine(line)));
    for (const secret of Object.values(environment)) if (secret) expect(`${out}${err}`).not.to.contain(secret);
    return { code: result, out, err };
  }
  const byKey = (...line: readonly string[]) =>
    run([...line, '--server', mandate.url, '--yes'], { MANDATE_ADMIN_KEY: ADMIN_KEY });
  const by = (sub: string, role: keyof typeof ROLE_VALUES, ...line: readonly string[]) =>
    run([...line, '--server', mandate.url, '--yes'], {
      MANDATE_OPERATOR_TOKEN: operatorToken(mandate, { sub, roles: [ROLE_VALUES[role]] }),
    });
  const recorded = async (act: () => Promise<unknown>) =>
    fieldsOf(await mandate.recorded(act), 'event', 'task_id', 'reason');
  const acted = (what: string) => [what, null, null];

  it('end a task, an agent’s tasks, a person’s and everything, and say what keeps working until when', async () => {
    const agent = await mandate.agent();
    const targets: readonly (readonly [string, (task: string) => readonly string[]])[] = [
      ['task', (task) => ['--task', task]],
      ['agent', () => ['--agent', agent.id]],
      ['person', () => ['--person', 'ada']],
      ['everything', () => ['--everything']],
    ];
    for (const [what, target] of targets) {
      const { body } = await agent.exchange();
      const task = String(body.task_id);
      const records = await recorded(async () => {
        const { code, out, err } = await byKey('stop', ...target(task));
        expect([code, err], what).to.deep.equal([0, '']);
        expect(out, what)
          .to.match(/^1 task ended\. .*at once/)
          .and.to.match(UNTIL);
      });
      expect(records, what).to.deep.equal([['task.revoked', task, 'operator_kill_switch'], acted('operator.acted')]);
      const again = await byKey('stop', ...target(task));
      expect([again.code, again.out.split('.')[0]], what).to.deep.equal([0, 'No task was live']);
      // A mistyped agent or task is refused.
      expect(again.out.includes('check the spelling of the person'), what).to.equal(what === 'person');
      expect(again.out, what).to.match(
        /If a task ended shortly before, .* accept its tokens until \S+ at the latest\./,
      );
    }
    expect((await agent.exchange()).status).to.equal(200);
  });

  it('say until when a tool server with its default clock skew accepts the last tokens', async () => {
    const agent = await mandate.agent({ max_token_ttl: 'PT4M' });
    await agent.exchange();
    const asked = Date.now();
    const { out } = await byKey('stop', '--agent', agent.id);
    const [, until = ''] =
      /until (\S+) at the latest\. This includes 1 minute for clocks that differ\./.exec(out) ?? [];
    expect((Date.parse(until) - asked) / 1000, out).to.be.within(240 + 60, 240 + 60 + 30);
    expect(out).to.include('A tool server may be set to allow 5 minutes instead.');
  });

  it('name no last tokens where there are none: of a person or an agent without any task', async () => {
    const agent = await mandate.agent();
    for (const line of [
      ['stop', '--person', 'nobody-at-all'],
      ['stop', '--agent', agent.id],
      ['block', 'nobody-at-all'],
    ]) {
      const { code, out } = await byKey(...line);
      expect(code, out).to.equal(0);
      expect(out)
        .to.include('No task was live')
        .and.not.match(/tokens .*until/);
    }
  });

  it('say before the question how many tasks end, and of an unknown person who was probably meant', async () => {
    const agent = await mandate.agent();
    const said = async (target: StopTarget, server = mandate.url) => {
      const access = {
        server,
        credential: new Secret(ADMIN_KEY),
        network: httpNetwork(),
        pause: async () => undefined,
      };
      return describeTarget(emergencySwitches(access, undefined), target);
    };
    const person = (key: string) => ({ kind: 'person', sponsorKey: key as SponsorKey }) as const;
    for (const sub of ['margaret', 'margaret', 'katherine']) await agent.exchangeFor({ sub });
    expect(await said(person('margaret'))).to.deep.equal(['2 live tasks.']);
    expect(await said({ kind: 'agent', agentId: agentIdOf(agent.id) })).to.deep.equal(['3 live tasks.']);
    expect((await said({ kind: 'everything' }))[0]).to.match(/^\d+ live tasks\.$/);
    expect(await said(person('margeret'))).to.deep.equal([
      'No task and no block names margeret: check the spelling. Did you mean margaret?',
    ]);
    expect(await said(person('x\u202ey'))).to.deep.equal([
      'No task and no block names x\\u{202e}y: check the spelling.',
    ]);
    // A block, or a task that has ended, names a person too.
    await mandate.admin('PUT', '/admin/sponsors/dorothy/block');
    expect(await said(person('dorothy'))).to.deep.equal(['0 live tasks.']);
    await mandate.admin('DELETE', '/admin/sponsors/katherine/tasks');
    expect(await said(person('katherine'))).to.deep.equal(['0 live tasks.']);
    // The change does not depend on it.
    const silent = await startLoopback(answering('{}', 404));
    expect(await said(person('margaret'), silent.url)).to.deep.equal([]);
    await silent.close();
    expect(await said(person('margaret'), silent.url)).to.deep.equal([]);
  });

  it('disable an agent, block and unblock a person, each with its record', async () => {
    const agent = await mandate.agent();
    const person = 'grace-hopper@x/é';
    const { body } = await agent.exchangeFor({ sub: person });
    const blocked = await mandate.recorded(async () => {
      const { code, out } = await byKey('block', person);
      expect(code).to.equal(0);
      expect(out).to.include(`${person} is blocked, 1 task ended.`).and.to.match(UNTIL);
    });
    expect(blocked.map(({ event }) => event)).to.include.members(['sponsor.blocked', 'task.revoked']);
    expect(blocked.find(({ event }) => event === 'task.revoked')?.task_id).to.equal(body.task_id);
    expect((await mandate.admin('GET', `/admin/sponsors/${encodeURIComponent(person)}`)).status).to.equal(200);
    const lifted = await mandate.recorded(async () => expect((await byKey('unblock', person)).code).to.equal(0));
    expect(lifted.map(({ event }) => event)).to.include('sponsor.unblocked');
    expect((await byKey('unblock', person)).code).to.equal(3);

    const disabled = await mandate.recorded(async () => {
      const { code, out } = await byKey('agent', 'disable', agent.id);
      expect(code).to.equal(0);
      expect(out).to.include('it gets no token').and.to.match(UNTIL);
    });
    expect(disabled.map(({ event, reason }) => [event, reason])[0]).to.deep.equal(['agent.updated', 'changed:enabled']);
    expect((await agent.exchange()).body.reason).to.equal('agent_disabled');
  });

  it('act under the name of an operator, with their reason, and report which role is missing', async () => {
    const records = await mandate.recorded(async () => {
      expect((await by('olga', 'responder', 'stop', '--everything', '--reason', WHY)).code).to.equal(0);
    });
    const act = records.at(-1);
    expect(new URLSearchParams(String(act?.detail)).get('sub')).to.equal('olga');
    const { body } = await mandate.admin('GET', `/admin/acts?seq=${act?.seq}`);
    expect((body.acts as readonly object[])[0]).to.include({ act: 'DELETE /admin/tasks', reason: WHY });

    const denied = await mandate.recorded(async () => {
      const { code, err } = await by('vera', 'viewer', 'stop', '--everything', '--reason', WHY);
      expect(code).to.equal(1);
      expect(err).to.include('This needs the role responder');
    });
    expect(denied.map(({ event, reason }) => [event, reason])).to.deep.equal([
      ['admin.denied', 'operator_role_missing'],
    ]);
    const missing = await by('olga', 'responder', 'stop', '--everything');
    expect([missing.code, missing.err]).to.deep.equal([
      2,
      "mandate: With an operator's access token --reason is needed. The ledger keeps its hash.\n",
    ]);
  });

  it('exit with 3 and change nothing for a task or an agent that does not exist', async () => {
    for (const line of [
      ['stop', '--task', 'task_01M31S7W68TMK7WDX8YKPSYTEA'],
      ['stop', '--agent', 'nobody'],
      ['agent', 'disable', 'nobody'],
    ]) {
      const { code, out } = await byKey(...line);
      expect([code, /Nothing was changed/.test(out)], line.join(' ')).to.deep.equal([3, true]);
    }
  });

  it('exit with 2 and send nothing without a terminal, a credential or exactly one target, and repeat no value', async () => {
    const server = ['--server', mandate.url];
    const key = { MANDATE_ADMIN_KEY: ADMIN_KEY };
    const cases: readonly (readonly [readonly string[], Readonly<Record<string, string>>, string])[] = [
      [['stop', '--everything', ...server], key, 'There is no terminal to ask at'],
      [['stop', ...server, '--yes'], key, 'exactly one of'],
      [['stop', '--everything', '--agent', 'a', ...server, '--yes'], key, 'exactly one of'],
      [['stop', '--agent', 'SECRET VALUE', ...server, '--yes'], key, 'An agent_id has'],
      [['stop', '--everything', '--reason', 'ab', ...server, '--yes'], key, '--reason is not usable'],
      [['stop', '--everything', '--key', 'SECRET VALUE', ...server, '--yes'], key, 'never an argument'],
      [['stop', '--everything', '--server', 'http://mandate.example', '--yes'], key, '--server takes an https URL'],
      [['block', 'SECRET VALUE', ...server, '--yes'], key, 'A person is named by'],
      [['stop', '--everything', ...server, '--yes', '--key-file', '/nowhere'], {}, 'cannot be read'],
      [['stop', '--everything', ...server, '--yes'], { ...key, MANDATE_OPERATOR_TOKEN: 'x' }, 'unset one of them'],
    ];
    const records = await mandate.recorded(async () => {
      for (const [line, environment, sentence] of cases) {
        const { code, err } = await run(line, environment);
        expect([code, err.includes(sentence)], `${line.join(' ')}: ${err}`).to.deep.equal([2, true]);
        expect(err).not.to.contain('SECRET VALUE');
      }
    });
    expect(records).to.deep.equal([]);
  });
});

describe('An emergency command at a slow service', () => {
  it('says at once what has ended, and then waits for how long tokens work', async () => {
    let late: ServerResponse | undefined;
    const server = await startLoopback((request, response) => {
      if (request.method === 'DELETE') answering('{"revoked_tasks":7}')(request, response);
      else late = response;
    });
    try {
      const line = ['stop', '--everything', '--yes', '--server', server.url];
      const command = startCommand(line, { MANDATE_ADMIN_KEY: ADMIN_KEY });
      await command.said('7 tasks ended.');
      await eventually(() => late !== undefined);
      const agent = { ...aRegistrationBody(), jwks_uri: null, enabled: true, max_token_ttl: 'PT4M' };
      late?.end(JSON.stringify({ agents: [agent], next_after: null }));
      const { code, out } = await command.ended;
      expect(code).to.equal(0);
      // It would be missing if the command had given up.
      expect(out).to.match(UNTIL);
    } finally {
      await server.close();
    }
  });
});

describe('The question of an emergency command', () => {
  const asked = (answer: string | undefined, isTTY = true) => {
    const stdin = Object.assign(new PassThrough(), { isTTY });
    let shown = '';
    const stderr = new Writable({
      write(chunk, _encoding, done) {
        shown += String(chunk);
        done();
      },
    });
    const verdict = confirm('End everything?', { stdin, stderr });
    if (answer === undefined) stdin.end();
    else stdin.write(`${answer}\n`);
    return verdict.then((given) => [given, shown] as const);
  };

  it('is asked once, and only yes means yes', async () => {
    for (const answer of ['yes', 'YES', ' yes ']) expect((await asked(answer))[0], answer).to.equal('yes');
    for (const answer of ['', 'no', 'y', 'ye', 'yes please', undefined])
      expect((await asked(answer))[0], answer).to.equal('no');
    expect((await asked('no'))[1]).to.equal('End everything? Type yes to go on: ');
  });
});
