/** A person signs in at her identity provider, without Mandate. */

import { ada } from '../authority.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** @returns her access token */
export async function aPersonSignsIn({ provider }: Stage, terminal: Terminal): Promise<string> {
  terminal.chapter('A person signs in');
  terminal.say(
    `${ada.name} signs in at her identity provider, ${provider.issuer}: authorization code with PKCE, login and`,
    'consent pages included. Mandate takes no part in it; it will only see the access token.',
  );
  const signedIn = await provider.signIn(ada.username);
  must(signedIn.scope === ada.scopes.join(' '), `Ada should hold ${ada.scopes.join(' ')}, not ${signedIn.scope}.`);
  terminal.confirm(`Ada is signed in. Her token has the scopes ${signedIn.scope}`);
  return signedIn.accessToken;
}
