/** Agents as files, from `mandate agent init` to a token, with a running service. */

import { createPrivateKey, sign } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runLine } from '../../composition/commands/run-line.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { sqliteFile } from '../support/databases.ts';
import {
  ADMIN_KEY,
  type Answer,
  aRegistration,
  fieldsOf,
  JIRA,
  type Mandate,
  startMandate,
} from '../support/mandate.ts';
import { P256_KEY } from '../support/registrations.ts';

const page = readFileSync(new URL('../../docs/agents-as-files.md', import.meta.url), 'utf8');

/** Runs `mandate agent …` in this process. */
async function agent(args: readonly string[], key: string | undefined = ADMIN_KEY) {
  const { result, out, err } = await capturingOutput(() =>
    withEnvironment({ MANDATE_ADMIN_KEY: key }, () => runLine(['agent', ...args])),
  );
  expect(`${out}${err}`).not.to.contain(ADMIN_KEY);
  return { code: result, out, err };
}

describe('Agent files', () => {
  let folder: string;
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: { 'Service:Delegation:Enabled': 'true' } });
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-agents-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  after(() => mandate.stop());

  const write = (text: string, name = 'agents.yaml'): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const apply = (file: string, ...more: readonly string[]) => agent(['apply', file, '--server', mandate.url, ...more]);
  const registered = async (id: string): Promise<Answer['body']> =>
    (await mandate.admin('GET', `/admin/agents/${id}`)).body;
  /** The event, agent, decision and reason of the records that `act` adds. */
  const recorded = async (act: () => Promise<unknown>) =>
    fieldsOf(await mandate.recorded(act), 'event', 'agent_id', 'decision', 'reason');

  const registration = (id: string, changes: Readonly<Record<string, unknown>> = {}): string =>
    Object.entries(aRegistration({ agent_id: id, jwks: { keys: [P256_KEY] }, ...changes }))
      .flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${JSON.stringify(value)}\n`))
      .join('');

  it('mandate agent init writes a key pair and a registration; after mandate agent apply, the agent exchanges tokens', async () => {
    const args = ['--scope', 'jira:read', '--scope', 'jira:comment', '--audience', JIRA, '--to', folder];
    const made = await agent(['init', 'from-a-file', ...args], undefined);
    expect(made).to.include({ code: 0, err: '' });
    expect(readdirSync(folder).toSorted()).to.deep.equal(['from-a-file.key.pem', 'from-a-file.yaml']);
    const pem = readFileSync(join(folder, 'from-a-file.key.pem'), 'utf8');
    expect(statSync(join(folder, 'from-a-file.key.pem')).mode & 0o777).to.equal(0o600);
    const file = join(folder, 'from-a-file.yaml');
    expect(made.out).to.contain(`mandate agent apply ${file} --server`);
    expect(`${made.out}${readFileSync(file, 'utf8')}`).not.to.contain(pem.split('\n')[1]);

    expect(await apply(file)).to.deep.equal({ code: 0, out: 'from-a-file: created\n1 agent: 1 created.\n', err: '' });
    const stands = await registered('from-a-file');
    expect(stands).to.include({
      display_name: 'from-a-file',
      max_task_ttl: 'PT10M',
      max_token_ttl: 'PT2M',
      max_delegation_depth: 1,
      enabled: true,
    });
    expect(stands.allowed_scopes).to.deep.equal(['jira:read', 'jira:comment']);

    const now = mandate.clock.seconds();
    const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: 'from-a-file', sub: 'from-a-file', aud: mandate.issuer, jti: 'one', iat: now, exp: now + 60 };
    const signed = `${segment({ alg: 'ES256' })}.${segment(claims)}`;
    const key = { key: createPrivateKey(pem), dsaEncoding: 'ieee-p1363' } as const;
    const actor_token = `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
    const exchanged = await (await mandate.agent()).exchange({ actor_token, scope: 'jira:read jira:admin' });
    expect([exchanged.status, exchanged.body.scope]).to.deep.equal([200, 'jira:read']);
  });

  it('mandate agent apply writes nothing in a dry run, then creates the agents, then reports them unchanged', async () => {
    const file = write(`${registration('once')}---\n${registration('off', { enabled: false })}`);
    const dry = await recorded(async () => {
      const { code, out } = await apply(file, '--dry-run');
      expect([code, out]).to.deep.equal([
        0,
        'once: would be created\noff: would be created\n2 agents: 2 would be created. Nothing was written.\n',
      ]);
    });
    expect(dry).to.deep.equal([]);
    const first = await recorded(async () => {
      expect((await apply(file)).out).to.equal('once: created\noff: created\n2 agents: 2 created.\n');
    });
    expect(first).to.deep.equal([
      ['agent.registered', 'once', 'allow', null],
      ['agent.registered', 'off', 'allow', null],
      ['agent.updated', 'off', 'allow', 'changed:enabled'],
    ]);
    const second = await recorded(async () => {
      expect((await apply(file)).out).to.equal('once: unchanged\noff: unchanged\n2 agents: 2 unchanged.\n');
    });
    expect(second).to.deep.equal([]);
  });

  it('mandate agent apply changes only the fields that differ, and keeps fields that the file does not name', async () => {
    await apply(write(registration('changing', { allowed_scopes: ['jira:read'] })));
    await mandate.admin('PATCH', '/admin/agents/changing', { enabled: false, max_token_ttl: 'PT3M' });
    const before = await registered('changing');
    const file = write(
      registration('changing', {
        allowed_scopes: ['jira:read', 'jira:comment'],
        max_task_ttl: 'PT1200S',
        max_token_ttl: undefined,
        high_risk_audiences: undefined,
        jwks: undefined,
        jwks_uri: 'https://keys.example/jwks.json',
      }),
    );
    const records = await recorded(async () => {
      expect((await apply(file, '--dry-run')).out).to.contain('changing: would be changed: allowed_scopes, jwks_uri\n');
      expect((await apply(file)).out).to.contain('changing: changed: allowed_scopes, jwks_uri\n');
      expect((await apply(file)).out).to.contain('changing: unchanged\n');
    });
    expect(records).to.deep.equal([['agent.updated', 'changing', 'allow', 'changed:allowed_scopes,jwks_uri']]);
    expect({ ...(await registered('changing')), updated_at: before.updated_at }).to.deep.equal({
      ...before,
      allowed_scopes: ['jira:read', 'jira:comment'],
      jwks: null,
      jwks_uri: 'https://keys.example/jwks.json',
    });
  });

  it('mandate agent apply reports the errors of a refused registration, and applies the others', async () => {
    const text = [registration('fine'), registration('long', { max_task_ttl: 'P2D' }), registration('good')];
    const file = write(text.join('---\n'));
    const { code, out, err } = await apply(file);
    expect([code, err]).to.deep.equal([1, '']);
    expect(out).to.equal(
      'fine: created\nlong: refused\n  max_task_ttl: Must be from PT1M to P1D.\ngood: created\n3 agents: 2 created, 1 refused.\n',
    );
    const json = await apply(file, '--json');
    expect(json.code).to.equal(1);
    expect(JSON.parse(json.out)).to.deep.equal({
      dry_run: false,
      agents: [
        { agent_id: 'fine', outcome: 'unchanged' },
        {
          agent_id: 'long',
          outcome: 'refused',
          errors: [{ field: 'max_task_ttl', sentence: 'Must be from PT1M to P1D.' }],
        },
        { agent_id: 'good', outcome: 'unchanged' },
      ],
      problems: [],
      failure: null,
    });
  });

  it('mandate agent apply sets delegates_to in any order of the files, also of two agents that name each other', async () => {
    const named = (id: string, ...delegates_to: readonly string[]) => registration(id, { delegates_to });
    const texts = [named('left', 'right', 'left'), named('middle', 'left'), named('right', 'left', 'middle')];
    const files = texts.map((text, nth) => write(text, `${nth}.yaml`));
    const run = (...more: readonly string[]) => agent(['apply', ...files, '--server', mandate.url, ...more]);
    const records = await recorded(async () => {
      expect((await run('--dry-run')).out).to.include('3 agents: 3 would be created.');
      expect((await run()).out).to.equal('middle: created\nright: created\nleft: created\n3 agents: 3 created.\n');
    });
    expect(records).to.deep.equal([
      ['agent.registered', 'left', 'allow', null],
      ['agent.registered', 'middle', 'allow', null],
      ['agent.registered', 'right', 'allow', null],
      ['agent.updated', 'left', 'allow', 'changed:delegates_to'],
    ]);
    expect((await registered('left')).delegates_to).to.deep.equal(['right', 'left']);
    const again = await recorded(async () => {
      expect((await run()).out).to.equal(
        'middle: unchanged\nright: unchanged\nleft: unchanged\n3 agents: 3 unchanged.\n',
      );
    });
    expect(again).to.deep.equal([]);

    const apart = await recorded(async () => {
      const { code, out } = await apply(write(named('left', 'right', 'absent')));
      expect([code, out]).to.deep.equal([
        1,
        'left: refused\n  delegates_to: Item 2 must be the agent_id of a registered agent.\n1 agent: 1 refused.\n',
      ]);
      const cleared = await apply(write(registration('left', { delegates_to: null })));
      expect(cleared.out).to.equal('left: changed: delegates_to\n1 agent: 1 changed.\n');
    });
    expect(apart).to.deep.equal([['agent.updated', 'left', 'allow', 'changed:delegates_to']]);
    expect(await registered('left')).to.not.have.property('delegates_to');
  });

  it('mandate agent apply reports every invalid registration before it sends a request, with or without a key', async () => {
    const file = write(`${registration('sound')}---\n${registration('Wrong', { max_token_ttl: 'PT30M' })}`);
    for (const key of [ADMIN_KEY, undefined]) {
      const records = await recorded(async () => {
        const { code, err, out } = await agent(['apply', file, '--server', mandate.url, '--json'], key);
        expect(code).to.equal(3);
        const lines = err.split('\n').map((line) => line.replace(`mandate: ${file}:`, '').split(': ')[0]);
        expect(lines).to.deep.equal(['12', '18', '']);
        expect(JSON.parse(out)).to.have.nested.property('problems[1].field', 'max_token_ttl');
      });
      expect(records).to.deep.equal([]);
    }
  });

  it('mandate agent apply accepts the admin key only from the environment or standard input, and refuses a wrong key', async () => {
    const file = write(registration('keyed'));
    const records = await recorded(async () => {
      const wrong = await agent(['apply', file, '--server', mandate.url], 'a-wrong-key-0123456789-0123456789');
      expect(wrong).to.deep.equal({
        code: 1,
        out: '0 of 1 agent.\n',
        err: 'mandate: The service does not accept this admin key.\n',
      });
    });
    expect(records).to.deep.equal([['admin.denied', null, 'deny', 'invalid_api_key']]);
    for (const attempt of [`--admin-key=${ADMIN_KEY}`, `--token=${ADMIN_KEY}`, `--Service:Admin:ApiKey=${ADMIN_KEY}`]) {
      const { code, err } = await apply(file, attempt);
      expect([code, err.includes('never an argument')], attempt).to.deep.equal([2, true]);
    }
    const unusable = [
      'http://mandate.example',
      'https://user@mandate.example',
      'mandate.example',
      'https://m.example/?a=1',
    ];
    for (const server of unusable) {
      const { code, err } = await agent(['apply', file, '--server', server]);
      expect([code, err.includes('--server takes an https URL')], server).to.deep.equal([2, true]);
    }
    expect((await mandate.admin('GET', '/admin/agents/keyed')).status).to.equal(404);
  });

  it('mandate agent apply accepts the examples in docs/agents-as-files.md', async () => {
    const [example = ''] = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);
    const { code, out } = await apply(write(example));
    expect([code, out]).to.deep.equal([0, 'jira-triage: created\nwiki-gardener: created\n2 agents: 2 created.\n']);
    expect(await registered('wiki-gardener')).to.include({ enabled: false, max_task_ttl: 'PT30M' });
    const [handing = ''] = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, text = '']) =>
      text.includes('delegates_to') ? [text] : [],
    );
    expect((await apply(write(handing))).out).to.include('2 agents: 2 created.\n');
    expect((await registered('travel-planner')).delegates_to).to.deep.equal(['travel-planner', 'flight-finder']);
    for (const argument of ['init', 'apply']) {
      const help = await agent([argument, '--help']);
      expect(help).to.include({ code: 0, err: '' });
      expect(help.out)
        .to.match(/Examples:\n {2}mandate agent /)
        .and.match(/Exit codes:\n {2}0 {2}\w.+\n {2}1 {2}\w.+\n {2}2 {2}\w/);
    }
    const codes = [...page.matchAll(/^\| (\d) \|/gm)].map(([, code = '']) => code);
    expect(codes).to.deep.equal(['0', '1', '2', '3']);
  });
});
