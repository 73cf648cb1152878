/**
 * Which test runs the commands of a page: one file for each block, in the order of the page. A test that itself asks for
 * the blocks of a page, and so runs every one, may stand for all of them.
 */

import { type Block, unmarkedCommandsOf } from './page.ts';

const commands = 'test/long/docs/commands.test.ts';
const approvals = 'test/docs/approvals.test.ts';
const relays = 'test/docs/notify-relays.test.ts';

export const RUN_BY: Readonly<Record<string, string | readonly string[]>> = {
  'adapters/sdk/agent/README.md': commands,
  'adapters/sdk/audit/README.md': commands,
  'adapters/sdk/tool-server/README.md': commands,
  'docs/agents-as-files.md': commands,
  'docs/agents.md': [commands, 'test/long/docs/any-oauth-library-commands.test.ts'],
  'docs/approvals.md': [approvals, relays, relays, approvals, approvals],
  'docs/auditing.md': [commands, commands, 'test/long/docs/auditing.test.ts'],
  'docs/deploying.md': commands,
  'docs/examples/README.md': commands,
  'docs/getting-started.md': 'test/long/docs/getting-started.test.ts',
  'docs/guard.md': 'test/docs/guard.test.ts',
  'docs/high-availability.md': 'test/long/docs/high-availability.test.ts',
  'docs/observability.md': [commands, commands, ...Array<string>(2).fill('test/docs/observability.test.ts')],
  'docs/operating.md': commands,
  'docs/providers/entra-id.md': commands,
  'docs/providers/keycloak.md': commands,
  'docs/providers/okta.md': commands,
  'docs/providers/openid.md': commands,
  'docs/releasing.md': [...Array<string>(2).fill('test/docs/releasing.test.ts'), commands],
  'docs/tool-servers.md': commands,
};

/** The blocks of a page that this test has to run. */
export const blocksRunBy = (test: string, page: string): readonly Block[] =>
  unmarkedCommandsOf(page).filter((_, index) => testOf(page, index) === test);

const testOf = (page: string, index: number): string | undefined => {
  const tests = RUN_BY[page];
  return typeof tests === 'string' ? tests : tests?.[index];
};
