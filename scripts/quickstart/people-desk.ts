/**
 * The identity provider of the quickstart, alone: `npm run quickstart -- --provider` runs it until Ctrl-C, for
 * docs/getting-started.md, and `npm run quickstart -- --token` prints the access token of a person there.
 */

import {
  APPLICATION_CLIENT_ID,
  DEFAULT_AUDIENCE,
  startIdentityProvider,
} from '../../test/support/identity-provider/identity-provider.ts';
import type { Person } from '../../test/support/identity-provider/people.ts';
import { PAGE_CLIENT_ID } from '../../test/support/identity-provider/provider-configuration.ts';
import { signIn } from '../../test/support/identity-provider/sign-in.ts';
import { ada, edsger, grace } from './authority.ts';
import { terminal } from './terminal.ts';

/** The address in docs/getting-started.md. */
const PORT = 5400;
/** The service of that page, where people may sign in at `/me`. */
const SERVICE = 'http://127.0.0.1:5100';
const PEOPLE = [ada, grace, edsger];

/** @param told resolves when the run is to end @returns the exit code */
export async function runProvider(told: Promise<unknown>, port = PORT, screen = terminal()): Promise<number> {
  const provider = await startIdentityProvider({ port, people: PEOPLE, page: { issuer: SERVICE } }).catch(
    () => undefined,
  );
  if (provider === undefined) {
    screen.fail(`Port ${port} is taken. Another one: npm run quickstart -- --provider --port NUMBER`);
    return 1;
  }
  try {
    screen.say(`An OpenID provider for trials runs at ${provider.issuer} until Ctrl-C. It forgets everything then.`);
    screen.show({
      columns: [
        { title: 'setting', width: 34 },
        { title: 'value', width: 60 },
      ],
      rows: [
        ['Service__UpstreamIdp__Issuer', provider.issuer],
        ['Service__UpstreamIdp__Audience', provider.audience],
        ['Service__Me__ClientId', `${PAGE_CLIENT_ID} (if the issuer is ${SERVICE})`],
      ],
    });
    screen.show({
      columns: [
        { title: 'name', width: 10 },
        { title: 'password', width: 24 },
        { title: 'scopes', width: 60 },
      ],
      rows: PEOPLE.map(({ username, password, scopes }) => [username, password, scopes.join(' ')]),
    });
    screen.say('The access token of a person, valid for an hour:');
    for (const { username } of PEOPLE)
      screen.command(`npm run --silent quickstart -- --token ${username}${port === PORT ? '' : ` --port ${port}`}`);
    await told;
    return 0;
  } finally {
    await provider.stop();
  }
}

/** Prints the access token of a person, and nothing else. @returns the exit code */
export async function printToken(username: string, port = PORT): Promise<number> {
  const person = PEOPLE.find((each) => each.username === username);
  if (person === undefined) {
    console.error(`The provider of the quickstart knows ${PEOPLE.map((each) => each.username).join(', ')}.`);
    return 2;
  }
  try {
    console.log(await tokenOf(person, port));
    return 0;
  } catch {
    console.error(
      `There is no provider at http://127.0.0.1:${port}. Start it in another terminal: npm run quickstart -- --provider`,
    );
    return 1;
  }
}

/** Signs the person in at the provider on this port. @returns the access token */
async function tokenOf(person: Person, port: number): Promise<string> {
  const issuer = `http://127.0.0.1:${port}`;
  const redirectUri = `${issuer}/app/signed-in`;
  const application = { issuer, redirectUri, clientId: APPLICATION_CLIENT_ID, audience: DEFAULT_AUDIENCE };
  return (await signIn(application, person, person.scopes.join(' '))).accessToken;
}
