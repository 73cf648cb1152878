/** The example answers to the identity provider: logouts, security events and SCIM. */

import { scimClient } from '../../../support/scim-client.ts';
import type { World } from '../world.ts';
import { nothing, type Scenario, type Scenarios, sent, withBody } from './scenario.ts';

export const SESSION_REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const user = ({ userId }: World): Scenario => sent({ path: { id: userId } });

export const ofSignals: Scenarios = {
  'receiveLogout 200': ({ mandate }) =>
    withBody({ logout_token: mandate.provider.signLogoutToken({ sub: 'somebody' }) }),
  'receiveLogout 400 refused': nothing,
  'receiveLogout 400 missing': () => withBody({ logout_token: undefined }),
  'receiveLogout 404 unknown_path': ({ lonely }) => ({ url: lonely.url }),
  'receiveLogout 503 logout_keys_unavailable': ({ deaf, mandate }) => ({
    ...withBody({ logout_token: mandate.provider.signLogoutToken({ sub: 'somebody' }) }),
    url: deaf.url,
  }),
  'receiveEvent 202': ({ transmitter }) => sent({ text: transmitter.event(SESSION_REVOKED, 'somebody') }),
  'receiveEvent 400 ssf_malformed': () => sent({ text: 'nonsense' }),
  'receiveEvent 400 ssf_invalid_signature': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody').replace(/[^.]{4}$/, 'AAAA') }),
  'receiveEvent 400 ssf_untrusted_issuer': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody', { iss: 'https://another.example' }) }),
  'receiveEvent 400 ssf_audience_mismatch': ({ transmitter }) =>
    sent({ text: transmitter.event(SESSION_REVOKED, 'somebody', { aud: 'https://another.example' }) }),
  'receiveEvent 404 unknown_path': ({ lonely }) => ({ url: lonely.url }),
  'receiveEvent 503 ssf_keys_unavailable': ({ deaf, transmitter }) => ({
    ...sent({ text: transmitter.event(SESSION_REVOKED, 'somebody') }),
    url: deaf.url,
  }),

  'createUser 201 user': (world) => ({
    followUp: ({ body }) => {
      world.userId = String(body.id);
    },
  }),
  'createUser 409 scim_uniqueness': nothing,
  'createUser 400 scim_invalid_value': () => withBody({ externalId: undefined }),
  'createUser 400 scim_invalid_syntax': () => sent({ text: '[]' }),
  'createUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'createUser 507 scim_full': ({ deaf }) => ({ ...withBody({ userName: 'another@example.com' }), url: deaf.url }),
  'listUsers 200 found': nothing,
  'listUsers 400 scim_invalid_filter': () => sent({ query: { filter: 'title eq "Countess"' } }),
  'getUser 200 user': user,
  'getUser 404 scim_not_found': nothing,
  'replaceUser 200 deactivate': user,
  'replaceUser 400 scim_invalid_value': (world) => sent({ ...user(world).changes, body: { active: 'perhaps' } }),
  'replaceUser 404 scim_not_found': nothing,
  async 'replaceUser 409 scim_uniqueness'(world) {
    return sent({ path: { id: await anotherUser(world, 'replaced') } });
  },
  'replaceUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  'patchUser 200 deactivate': user,
  'patchUser 200 reactivate': user,
  'patchUser 400 scim_invalid_value': (world) =>
    sent({ ...user(world).changes, body: { Operations: [{ op: 'replace', path: 'active', value: 'perhaps' }] } }),
  'patchUser 404 scim_not_found': nothing,
  async 'patchUser 409 scim_uniqueness'(world) {
    const id = await anotherUser(world, 'patched');
    const Operations = [{ op: 'replace', path: 'userName', value: 'ADA@example.com' }];
    return sent({ path: { id }, body: { Operations } });
  },
  'patchUser 415 unsupported_media_type': () => sent({ headers: { 'content-type': 'text/plain' } }),
  async 'deleteUser 204'(world) {
    return sent({ path: { id: await anotherUser(world, 'deleted') } });
  },
  'deleteUser 404 scim_not_found': nothing,
  'getServiceProviderConfig 200 config': nothing,
  'listResourceTypes 200 document': nothing,
  'getUserResourceType 200 document': nothing,
  'listSchemas 200 document': nothing,
  'getUserSchema 200 document': nothing,
};

async function anotherUser({ mandate }: World, name: string): Promise<string> {
  const { body, status, text } = await scimClient(mandate).send('POST', '/Users', { userName: name, externalId: name });
  if (status !== 201) throw new Error(text);
  return String(body.id);
}
