/**
 * Runs the programs in JavaScript and bash of docs/agents.md, chapter "Any OAuth library". At every push
 * `test/system/ordinary-clients.test.ts` holds what these clients send and are answered.
 */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { runner } from '../../support/other-languages/languages.ts';
import { describePrograms, PAGE, programUnder } from '../../support/pages/any-oauth-library.ts';
import { blocksRunBy } from '../../support/pages/run-by.ts';

/** The code of an error that the page names. */
const NOT_CONFORM = 'OAUTH_RESPONSE_IS_NOT_CONFORM';
const node = runner([process.execPath]);
const curl = { heading: 'curl', file: 'agent.sh', run: runner(['bash']), messageOf503: 'temporarily_unavailable' };

describe(`${PAGE}, "Any OAuth library"`, () => {
  it('has the commands that this test runs under curl', () => {
    const commands = blocksRunBy('test/long/docs/any-oauth-library-commands.test.ts', PAGE).map(({ text }) => text);
    expect(commands).to.deep.equal([programUnder(curl.heading).text]);
  });
});

describePrograms(
  [
    { heading: 'openid-client', file: 'openid-client.mjs', run: node, messageOf503: NOT_CONFORM },
    { heading: 'oauth4webapi', file: 'oauth4webapi.mjs', run: node, messageOf503: NOT_CONFORM },
    curl,
  ],
  databasesByLength,
);
