/** Compares docs/tool-servers.md with the code. test/long/docs/tool-servers.test.ts runs its examples. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { accessEvent } from '../../adapters/sdk/tool-server/core/access-event.ts';
import { checkOptions } from '../../adapters/sdk/tool-server/core/options.ts';
import { describeRefusal, refusal, refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { createToolServer } from '../../adapters/sdk/tool-server/core/tool-server.ts';
import type { McpToolPolicy } from '../../adapters/sdk/tool-server/mcp/mcp.ts';
import { checkMcpOptions } from '../../adapters/sdk/tool-server/mcp/options.ts';
import { claimsOf } from '../support/claims.ts';

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

  it('says which refusals have a challenge', () => {
    expect(page).to.include('401, 403 and `malformed_request` carry `WWW-Authenticate: Bearer`');
    const challenged = refusalReasons.filter((reason) => 'WWW-Authenticate' in refusal(reason, 'realm').headers);
    const named = refusalReasons.filter((reason) => /^40[13]$/.test(String(describeRefusal(reason).status)));
    expect(challenged).to.deep.equal(['malformed_request', ...named]);
  });

  it('lists every option with its default', () => {
    const checked = checkOptions({ issuer: 'https://mandate.example', audience: 'https://jira.example' });
    const { issuers, areNamed: _, ...common } = checked;
    const said = { issuer: 'required, or `issuers`', issuers: 'none', audience: 'required', realm: 'the audience' };
    for (const [name, value] of Object.entries({ ...common, ...issuers[0], issuers })) {
      const shown = said[name as keyof typeof said] ?? String(value ?? 'none');
      expect(page).to.include(`| \`${name}\` | ${typeof value === 'function' ? '' : `${shown} |`}`);
    }
  });

  it('lists every option of mcpProtection with its default', () => {
    const toolServer = createToolServer({ issuer: 'https://mandate.example', audience: 'https://jira.example' });
    for (const [name, value] of Object.entries(checkMcpOptions(toolServer, { tools: {} }))) {
      const shown = name === 'tools' ? 'required' : ['methods', 'toolNames'].includes(name) ? 'none' : String(value);
      expect(page).to.include(`| \`${name}\` | ${shown} |`);
    }
  });

  it('lists every member of a policy', () => {
    const members: Readonly<Record<keyof McpToolPolicy, true>> = {
      scope: true,
      highRisk: true,
      requireActor: true,
      maxDelegationDepth: true,
      authorize: true,
      approval: true,
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
