/** Runs the programs in Python and Go of docs/agents.md, chapter "Any OAuth library", where their libraries are installed. */

import { databases } from '../../support/databases.ts';
import { agentLibraries } from '../../support/other-languages/agent-libraries.ts';
import { languages } from '../../support/other-languages/languages.ts';
import { describePrograms } from '../../support/pages/any-oauth-library.ts';

const programs = [
  { heading: 'authlib', ending: 'py', messageOf503: '503 Server Error' },
  { heading: 'golang.org/x/oauth2', ending: 'go', messageOf503: 'temporarily_unavailable' },
] as const;

for (const { heading, ending, messageOf503 } of programs) {
  const { modules, packages } = agentLibraries[ending];
  const { has, run } = languages[ending];
  if (has(modules)) {
    describePrograms([{ heading, file: `agent.${ending}`, run, messageOf503 }], databases);
  } else {
    it(`the program with ${heading} is skipped: Debian's packages ${packages} are not installed`, function () {
      this.skip();
    });
  }
}
