/** Binds the receivers of the identity provider's signals to their ports. Each exists only if it is configured. */

import { type KeyWaits, keyAddress, manyWait, waitWithoutPermit } from '../adapters/jose/key-waits.ts';
import type { HeldPermit } from '../application/ports/keys.ts';
import { acceptLogout, type LogoutClient } from '../application/signals/accept-logout.ts';
import { acceptSecurityEvent } from '../application/signals/accept-security-event.ts';
import { createUser, listUsers, patchUser, removeUser, replaceUser } from '../application/signals/provision-user.ts';
import type { UpstreamIssuers } from '../domain/signals/event-subject.ts';
import type { Trace } from '../domain/trace-context.ts';
import type { Parts } from './parts.ts';
import { operatorsChoice, provisioningChoice, transmitterChoice, upstreamChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';

export function receivers(parts: Parts): Parts['receivers'] {
  return { backchannelLogout: backchannelLogout(parts), events: events(parts), scim: scim(parts) };
}

function backchannelLogout(parts: Parts): Parts['receivers']['backchannelLogout'] {
  const { settings, anonymousDenials: anonymous, providerKeys, clock, clockWatch, log, measurements } = parts;
  const clients = logoutClients(settings);
  const waits = manyWait();
  const operators = operatorsLogout(parts, waits);
  if (clients.length === 0 && operators === undefined) return undefined;
  const refuseLoggedOut = settings['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'];
  const endTasksWithoutSession = settings['Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession'];
  const service = {
    anonymous,
    clock,
    sharedTime: clockWatch,
    log,
    measurements,
    providerKeys: providerKeys.at(waits),
    clients,
    operators,
    refuseLoggedOut,
    endTasksWithoutSession,
  };
  return {
    accept: (logoutToken, trace, permit) =>
      acceptLogout({ ...service, decisions: parts.storage }, logoutToken, trace, permit),
    log,
  };
}

/**
 * Tasks and the page may have one client, tasks and the console too. The page, the console and `/oauth2/authorize` have one
 * each (settings/rules.ts).
 */
function logoutClients(settings: Settings): readonly LogoutClient[] {
  const tasks = settings['Service:UpstreamIdp:BackchannelLogout:Audience'];
  const [page, door] = [settings['Service:Me:ClientId'], settings['Service:Authorize:ClientId']];
  const chosen = operatorsChoice(settings);
  const console = chosen?.issuer === undefined ? settings['Service:Operators:ClientId'] : undefined;
  return [...new Set([tasks, door, page, console])].flatMap((audience): readonly LogoutClient[] =>
    audience === undefined
      ? []
      : [
          {
            audience,
            endsTasks: audience === tasks || audience === door,
            closesSessions: audience === page ? 'me' : audience === console ? 'operator' : undefined,
          },
        ],
  );
}

/** Operators may sign in at another provider than the people whom agents act for. */
function operatorsLogout(parts: Parts, waits: KeyWaits) {
  const { settings, operatorKeys } = parts;
  const issuer = operatorsChoice(settings)?.issuer;
  const audience = settings['Service:Operators:ClientId'];
  if (issuer === undefined || audience === undefined || operatorKeys === undefined) return undefined;
  const client = { audience, endsTasks: false, closesSessions: 'operator' } as const;
  return { issuer, providerKeys: operatorKeys.at(waits), client, upstreamIssuer: upstreamIssuer(parts, waits) };
}

function events(parts: Parts): Parts['receivers']['events'] {
  const { settings, anonymousDenials: anonymous, transmitterKeys, clock, clockWatch, log, measurements } = parts;
  const transmitter = transmitterChoice(settings);
  if (transmitter === undefined || transmitterKeys === undefined) return undefined;
  const { audience, credentials } = transmitter;
  const waits = manyWait();
  const service = {
    anonymous,
    clock,
    sharedTime: clockWatch,
    log,
    measurements,
    transmitterKeys: transmitterKeys.at(waits),
    audience,
    upstreamIssuers: upstreamIssuers(parts, waits),
  };
  return {
    credentials,
    refuse: async (reason, trace) => anonymous.record({ event: 'ssf.denied', reason }, trace),
    accept: (eventToken, trace, permit) =>
      acceptSecurityEvent({ ...service, decisions: parts.storage }, eventToken, trace, permit),
    log,
  };
}

/** With a configured issuer, events that name it are applied even while the identity provider does not answer. */
function upstreamIssuers({ settings, providerMetadata }: Parts, waits: KeyWaits) {
  const upstream = upstreamChoice(settings);
  const configured = upstream.kind === 'issuer' ? [upstream.issuer] : [];
  const read = readMetadata(providerMetadata, waits);
  return async (trace?: Trace, permit?: HeldPermit): Promise<UpstreamIssuers> => {
    const described = await read(trace, permit);
    if (described === undefined) return { known: configured, isComplete: false };
    const { issuer, accessTokenIssuer = issuer } = described;
    return { known: [issuer, accessTokenIssuer], isComplete: true };
  };
}

/** A configured issuer is known even while the identity provider does not answer. */
function upstreamIssuer({ settings, providerMetadata }: Parts, waits: KeyWaits) {
  const upstream = upstreamChoice(settings);
  const read = readMetadata(providerMetadata, waits);
  return async (trace?: Trace, permit?: HeldPermit): Promise<string | undefined> =>
    upstream.kind === 'issuer' ? upstream.issuer : (await read(trace, permit))?.issuer;
}

/** Before the metadata was ever read, a signal waits for it like one whose keys are fetched. */
function readMetadata(metadata: Parts['providerMetadata'], among: KeyWaits) {
  const address = keyAddress();
  return async (trace: Trace | undefined, permit: HeldPermit) => {
    if (metadata.cached() === undefined) await waitWithoutPermit({ among, permit }, address, metadata.current(trace));
    return metadata.cached();
  };
}

function scim(parts: Parts): Parts['receivers']['scim'] {
  const { settings, anonymousDenials: anonymous, clockWatch, randomness } = parts;
  const provisioning = provisioningChoice(settings);
  if (provisioning === undefined) return undefined;
  const { credentials, person, maxUsers } = provisioning;
  const { storage } = parts;
  const users = storage.provisionedUsers;
  const service = { decisions: storage, users, sharedTime: clockWatch, randomness, person, maxUsers };
  return {
    credentials,
    refuse: async (reason, trace) => anonymous.record({ event: 'scim.denied', reason }, trace),
    issuer: settings['Service:Issuer'],
    person,
    create: (body) => createUser(service, body),
    find: (userId) => users.find(userId),
    list: (listing) => listUsers(service, listing),
    replace: (userId, body) => replaceUser(service, userId, body),
    patch: (userId, body) => patchUser(service, userId, body),
    remove: (userId) => removeUser(service, userId),
  };
}
