/** Compares docs/tool-servers.md with the code, and runs its examples. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { accessEvent } from '../../adapters/sdk/tool-server/core/access-event.ts';
import { checkOptions } from '../../adapters/sdk/tool-server/core/options.ts';
import { describeRefusal, refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { checkMcpOptions, type McpToolPolicy } from '../../adapters/sdk/tool-server/mcp/mcp.ts';
import { claimsOf } from '../support/claims.ts';
import { databases } from '../support/databases.ts';
import { startExample } from '../support/example-process.ts';
import { JIRA, type Mandate, sharedMandate } from '../support/mandate.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const page = await readFile(at('docs/tool-servers.md'), 'utf8');

describe('docs/tool-servers.md', () => {
  it('lists every refusal in the order of the specification', () => {
    const rows = refusalReasons.map((reason) => {
      const { status, error, sentence } = describeRefusal(reason);
      return `| \`${reason}\` | ${status} | \`${error}\` | ${sentence} |`;
    });
    expect(page).to.include(rows.join('\n'));
  });

  it('lists every option with its default', () => {
    const options = checkOptions({ issuer: 'https://mandate.example', audience: 'https://jira.example' });
    for (const [name, value] of Object.entries(options)) {
      const shown = /^(issuer|audience)$/.test(name)
        ? 'required'
        : name === 'realm'
          ? 'the audience'
          : String(value ?? 'none');
      expect(page).to.include(`| \`${name}\` | ${typeof value === 'function' ? '' : `${shown} |`}`);
    }
  });

  it('lists every option of statusList with its default', () => {
    const { statusList } = checkOptions({
      issuer: 'https://mandate.example',
      audience: 'https://jira.example',
      statusList: {},
    });
    for (const [name, value] of Object.entries(statusList ?? {})) expect(page).to.include(`| \`${name}\` | ${value} |`);
  });

  it('has the promise of status lists, and the sizes that its script prints, up to the version of zlib', async function () {
    this.timeout(60_000);
    expect(page).to.include(
      'A kill is refused by every polling tool server within Ttl + maxAgeMs at worst, with one request per list and interval.',
    );
    const script = ['--import', './scripts/typescript-loader.mjs', 'scripts/bench/status-list-sizes.ts'];
    const { stdout } = await promisify(execFile)(process.execPath, script, { cwd: at('.') });
    const [head = '', rule = '', ...sizes] = stdout.trim().split('\n');
    const [, shown = ''] = page.split(`${head}\n${rule}\n`);
    const cells = (row = '') => [...row.replaceAll(',', '').matchAll(/\d+/g)].map(Number);
    const rows = shown.split('\n');
    for (const [nth, row] of sizes.entries()) {
      for (const [column, size] of cells(row).entries())
        expect(cells(rows[nth])[column]).to.be.closeTo(size, size / 50);
    }
    expect(sizes).to.have.length(3);
  });

  it('lists every option of mcpProtection with its default', () => {
    for (const [name, value] of Object.entries(checkMcpOptions({ tools: {} }))) {
      const shown = name === 'tools' ? 'required' : name === 'methods' ? 'none' : String(value);
      expect(page).to.include(`| \`${name}\` | ${shown} |`);
    }
  });

  it('lists every member of a policy', () => {
    const members: Readonly<Record<keyof McpToolPolicy, true>> = {
      ...{ scope: true, highRisk: true, requireActor: true, maxDelegationDepth: true, authorize: true },
    };
    for (const name of Object.keys(members)) expect(page).to.include(`\n| \`${name}\` | `);
  });

  it('lists the fields of an access event in their order', () => {
    const act = { sub: 'agent:a', instance: 'b', depth: 1 };
    const event = accessEvent({ at: 0, route: 'x', reason: null, signed: claimsOf({ act }) });
    const fields = Object.keys(event).map((field) => `\`${field}\``);
    expect(page.replaceAll(/\s+/g, ' ')).to.include(fields.join(', '));
  });

  it('shows only lines of the examples', async () => {
    for (const [, name = '', code = ''] of page.matchAll(/^<!-- from (\S+) -->\n```\w+\n(.*?)^```$/gms)) {
      const example = await readFile(at(name), 'utf8');
      for (const line of code.split('\n').filter((text) => text.trim() !== '')) expect(example).to.include(`${line}\n`);
    }
    expect(page.match(/^<!-- from /gm)).to.have.lengthOf(14);
  });
});

describe('the examples of docs/tool-servers.md', () => {
  let mandate: Mandate;
  before(async () => {
    const [database] = databases;
    if (database === undefined) throw new Error('the tests have no database');
    mandate = await sharedMandate(database);
  });

  for (const name of ['express-tool-server.ts', 'fastify-tool-server.ts']) {
    it(`${name} allows and refuses requests, and logs each decision`, async function () {
      this.timeout(60_000);
      const environment = { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA };
      const { url, child, lines, stop } = await startExample(name, environment);
      try {
        const agent = await mandate.agent();
        const scope = 'jira:read jira:admin';
        const subject = mandate.provider.mintAccessToken({ scope });
        const { body } = await agent.exchange({ subject_token: subject, scope });
        const call = (method: string, token = String(body.access_token)) =>
          fetch(`${url}/issues/OPS-7`, { method, headers: { authorization: `Bearer ${token}` } });

        const read = await call('GET');
        expect(await read.json()).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: `agent:${agent.id}` });
        expect(await (await call('DELETE')).json()).to.deep.equal({ deletedFor: 'ada' });
        await mandate.admin('DELETE', `/admin/tasks/${String(body.task_id)}`);
        expect((await call('GET')).status).to.equal(200);
        expect((await call('DELETE')).status).to.equal(401);
        expect((await call('POST')).status).to.equal(403);
        expect((await call('GET', 'stolen')).status).to.equal(401);

        while (lines.length < 6) await once(child.stdout ?? child, 'data');
        const decisions = lines.map((line) => (JSON.parse(line) as Record<string, unknown>).reason);
        expect(decisions).to.deep.equal([null, null, null, 'not_active', 'unknown_route', 'malformed_token']);
      } finally {
        await stop();
      }
    });
  }
});
