/** Compares docs/agents.md with the code. test/long/docs/agents.test.ts runs its examples. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Unacceptable } from '../../adapters/sdk/agent/agent.ts';
import type { McpAuthorizationOptions } from '../../adapters/sdk/agent/mcp/mcp.ts';
import { checkAgentOptions } from '../../adapters/sdk/agent/options.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const page = await readFile(at('docs/agents.md'), 'utf8');

describe('docs/agents.md', () => {
  it('lists every option with its default', () => {
    const key = { alg: 'ES256', sign: () => new Uint8Array(64) } as const;
    const given = { issuer: 'https://mandate.example', agentId: 'triage', key, instance: 'pod-7' };
    for (const [name, value] of Object.entries(checkAgentOptions(given))) {
      expect(page).to.include(`| \`${name}\` | ${typeof value === 'number' ? `${value} |` : ''}`);
    }
  });

  it('lists every option of mcpAuthorization', () => {
    const options: Readonly<Record<keyof McpAuthorizationOptions, true>> = {
      agent: true,
      subjectToken: true,
      scope: true,
      resource: true,
      origins: true,
      purpose: true,
    };
    for (const name of Object.keys(options)) expect(page).to.include(`| \`${name}\` | `);
  });

  it('lists every reason of a refused response', () => {
    const reasons: Readonly<Record<Unacceptable, true>> = {
      scope_wider_than_asked: true,
      another_task: true,
      outlives_its_task: true,
    };
    for (const reason of Object.keys(reasons)) expect(page).to.include(`| \`unexpected_answer\` | \`${reason}\` |`);
    expect(page).to.include('| `invalid_scope` | `scope_given_up` |');
  });

  it('shows only lines of the examples', async () => {
    for (const [, name = '', code = ''] of page.matchAll(/^<!-- from (\S+) -->\n```\w+\n(.*?)^```$/gms)) {
      const example = await readFile(at(name), 'utf8');
      for (const line of code.split('\n').filter((text) => text.trim() !== '')) expect(example).to.include(`${line}\n`);
    }
    expect(page.match(/^<!-- from /gm)).to.have.lengthOf(5);
  });
});
