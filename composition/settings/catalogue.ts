/**
 * THE catalogue of settings (specification "Configuration rules", "Limits"): their keys, accepted values and meanings.
 * Parsing, validation, the start-up errors and the settings table all derive from it.
 *
 * To add a setting:
 *
 * 1. Add an entry here. A key with `:N:` in it belongs to a list; one that ends with `:<name>` is given once for each name.
 *    Rules between settings are in rules.ts.
 * 2. A `computed` default needs an entry in `computedDefaults` of settings.ts.
 * 3. Pass the value on where it is used: `../http.ts`, `../jobs.ts`, `../container.ts`, `../receivers.ts` and others
 *    read it from `Settings`. For settings that exclude each other, alternatives.ts returns the configured variant.
 * 4. Write the tables of docs/configuration.md anew; a new area needs a heading there and a line in
 *    test/composition/settings/settings-table.ts:
 *    `npx tsx -e "import('./test/composition/settings/settings-table.ts').then((m) => m.writeTables())"`
 * 5. Add a row to `everySetting` of test/composition/settings/every-setting.ts. A key with `:N:` or `<name>` belongs in the test
 *    "are all read from the environment" of test/composition/settings/read-settings.test.ts instead. A secret also belongs in
 *    the list of test/composition/settings/catalogue.test.ts. A test compares sentences that begin "Refused" or "Required"
 *    with the rules: test/composition/settings/stated-rules.ts.
 * 6. The Helm chart accepts it after
 *    `npx tsx -e "import('./test/support/kubernetes/settings-schema.ts').then((m) => m.writeSettings())"`.
 */

import { MAX_DELEGATION_DEPTH } from '../../domain/agents/agent.ts';
import { MAX_WITNESSES } from '../../domain/log/note.ts';
import { statusListEntries } from '../../domain/tasks/status-list.ts';
import { computed, defaulted, optional, required, type Setting } from './setting.ts';
import {
  bearerToken,
  boolean,
  choice,
  duration,
  integer,
  jwkSet,
  keyName,
  networkList,
  origin,
  parameterValue,
  path,
  pem,
  postgresUri,
  powerOfTwo,
  scopePrefix,
  text,
  url,
  witnessKey,
} from './value-type.ts';

/** Specification "Other limits". */
const MAX_CLAIM_NAME = 64;
/** A namespaced claim is an URL. */
const MAX_CLAIM_PATH = 256;
/** Specification "Authentication". */
const MIN_CREDENTIAL = 32;
/** A thumbprint has 43 characters; a `kid` travels in the header of every token. */
const MAX_KID = 128;
/** Specification "Other limits". */
const MAX_MONTHS_AHEAD = 12;
/** The maximum page size of the audit. A batch is held in memory, and a failed batch is sent again as a whole. */
const MAX_DRAIN_BATCH = 1000;
/** The sweeper expires a batch of tasks in one transaction, and renewals of these tasks wait for it. */
const MAX_SWEEP_BATCH = 1000;
const MAX_PORT = 65_535;
/** Newer signatures of notes give an origin one byte for its length. */
const MAX_ORIGIN = 255;
/** A million a second: a higher value would not limit anything. */
const MAX_PERMITS = 60_000_000;
/** Specification "Overload". */
const MAX_CONCURRENCY = 100_000;
const MAX_QUEUE = 1_000_000;
/** Each of them may be shown on one page. */
const MAX_PENDING = 1000;
/** Each end of a task looks at its children. */
const MAX_CHILDREN = 1000;
/** The depth 1 is a task without a parent; a registration has at most 5 (specification "Agent registration"). */
const MIN_CHAIN = 2;
/** Almost three a second. */
const MAX_QUESTIONS = 10_000;
/** Each creation counts all users: counting this many takes tenths of a second. */
const MAX_PROVISIONED_USERS = 1_000_000;

const permits = () => integer({ min: 1, max: MAX_PERMITS });

const kid = () =>
  text({ max: MAX_KID, whitespace: false, accepts: `a name of at most ${MAX_KID} characters, no space` });

const claim = (what: string, max: number) =>
  text({ max, whitespace: false, accepts: `${what} of at most ${max} characters without white space` });

export const catalogue = {
  'Service:Issuer': required(
    url({ trailingSlash: 'dropped', wellKnown: 'refused' }),
    'The public address of this service, and the `iss` of every token it issues. A trailing slash is dropped. The address of its metadata, with `/.well-known/`, is refused. Outside a development host plain http is a warning at the start, and a failure of `mandate doctor` unless it is a loopback address. If it has a path, the service answers under that path too; the path may not be under `/admin` or `/agents`.',
  ),

  'Service:UpstreamIdp:Issuer': optional(
    url({}),
    'The identity provider whose access tokens are accepted, exactly as its metadata names it: the `iss` of its tokens. If the metadata has an `access_token_issuer` (AD FS), access tokens must have that one, which the metadata alone decides. Either this or `MetadataUrl`.',
  ),
  'Service:UpstreamIdp:MetadataUrl': optional(
    url({ query: 'accepted' }),
    "The provider's discovery document, if it is not at the usual place under its issuer. The document alone then says what the `iss` of tokens is: its `issuer`, and for access tokens its `access_token_issuer` if it has one.",
  ),
  'Service:UpstreamIdp:Audience': required(text(), 'The `aud` that a subject token must carry.'),
  'Service:UpstreamIdp:SponsorKeyClaim': defaulted(
    'sub',
    claim('a claim name', MAX_CLAIM_NAME),
    'The claim of a subject token that identifies the person for blocks and provisioning.',
  ),
  'Service:UpstreamIdp:SponsorCheck:Mode': defaulted(
    'poll',
    choice('poll', 'signals'),
    '`poll`: the service asks the identity provider about each person. `signals`: the identity provider notifies the service.',
  ),
  'Service:UpstreamIdp:SponsorCheck:UsersUrl': optional(
    url({ trailingSlash: 'dropped' }),
    "The users of the provider's admin API; a person's address is `<UsersUrl>/<sub>`, with the `sub` percent-encoded as one path segment. Required under `poll`, refused under `signals`.",
  ),
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': optional(
    url({ query: 'accepted' }),
    "The provider's token endpoint, for the token that gives access to `UsersUrl`. Under `poll`, either this or `BearerToken`; refused under `signals`.",
  ),
  'Service:UpstreamIdp:SponsorCheck:ClientId': optional(
    text(),
    'The client id of this service at the provider. Under `poll`, required without `BearerToken`. Refused with `BearerToken` and under `signals`.',
  ),
  'Service:UpstreamIdp:SponsorCheck:Scope': optional(
    text(),
    'The `scope` of the request to `TokenUrl`, such as `users:read`; scopes are separated by spaces. Unset, the request has no such parameter, which some providers refuse. Refused with `BearerToken` and under `signals`.',
  ),
  'Service:UpstreamIdp:SponsorCheck:BearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'The bearer token that gives access to `UsersUrl`, for a users service without a token endpoint; instead of `TokenUrl` and `ClientId`. Refused under `signals`.',
  ),
  'Service:UpstreamIdp:SponsorCheck:CacheTtl': defaulted(
    'PT30S',
    duration(),
    'How long an answer about a person may be reused for refreshes; at most `Service:Tokens:DefaultTokenTtl`. Refused under `signals`.',
  ),

  'Service:UpstreamIdp:ClientAssertionAudience': defaulted(
    'issuer',
    choice('issuer', 'token_endpoint'),
    "The `aud` of the assertions by which this service authenticates at the provider (`private_key_jwt`), at `TokenUrl` and for the sign-ins of people and operators. `issuer`: the provider's issuer. `token_endpoint`: the address to which the assertion is sent, for providers that accept no other.",
  ),

  'Service:UpstreamIdp:PushedAuthorization': defaulted(
    'auto',
    choice('auto', 'always', 'never'),
    "Whether the sign-ins at `/me` and the console send their request to the provider first, so that the browser carries only a reference to it (RFC 9126). `auto`: if the provider's metadata has `require_pushed_authorization_requests`. `always`: also without, for a provider that demands it of some clients. With `never` no sign-in succeeds at a provider that demands it.",
  ),

  'Service:UpstreamIdp:ScopeClaim': optional(
    claim('a claim name', MAX_CLAIM_NAME),
    "The claim of subject tokens that holds the person's scopes, as text or a list, in place of `scope` and `scp`.",
  ),

  'Service:UpstreamIdp:MayAct': defaulted(
    'ignore',
    choice('ignore', 'honour', 'require'),
    'Whether the `may_act` of a subject token (RFC 8693 section 4.4) decides which agent may act for the person. `honour`: a token that has the claim is for the agents that it names. `require`: a token without it is refused as well. Under both, registrations have `may_act_names`.',
  ),
  'Service:UpstreamIdp:RefuseBoundTokens': defaulted(
    'false',
    boolean(),
    'Whether access tokens that are bound to a key (`cnf`, of DPoP or mutual TLS) are refused: at the exchange, at `/me`, and from operators. The service does not check the key, and a task token is bound to none.',
  ),

  'Service:Scim:BearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Gives the identity provider access to `/scim/v2`; without it every request there gets 404.',
  ),
  'Service:Scim:PreviousBearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Also accepted, while `BearerToken` is being changed. Refused if the two are equal. Refused without `BearerToken`.',
  ),
  'Service:Scim:SponsorKeyAttribute': defaulted(
    'externalId',
    choice('externalId', 'userName'),
    "The attribute of a provisioned user that identifies the person: its value must equal that of `Service:UpstreamIdp:SponsorKeyClaim` in the person's subject tokens. Refused without `BearerToken`.",
  ),
  'Service:Scim:MaxUsers': defaulted(
    '50000',
    integer({ min: 1, max: MAX_PROVISIONED_USERS }),
    'The maximum number of provisioned users; the creation of a further one gets 507. Refused without `BearerToken`.',
  ),
  'Service:UpstreamIdp:BackchannelLogout:Audience': optional(
    text(),
    'The client id with which people sign in at the provider: the `aud` of its logout tokens. Logout tokens for `Service:Authorize:ClientId` end tasks too, and the two may be one client. Without a client that people or operators sign in with there is no `/backchannel-logout`.',
  ),
  'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': defaulted(
    'false',
    boolean(),
    'Whether subject tokens from before a logout are refused. A logout token with a session covers the tokens of that session, another one all tokens of the person. A logout is remembered for a day. `true` needs `Audience`.',
  ),
  'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': defaulted(
    'false',
    boolean(),
    "Whether a logout token with a person and a session also ends the person's tasks that belong to no session: those whose subject token had no `sid`. With `RefuseLoggedOut` it also covers the person's tokens without `sid`. `true` needs `Audience`.",
  ),

  'Service:Database:Provider': defaulted('postgres', choice('postgres', 'sqlite'), 'The database.'),
  'Service:Database:ConnectionString': optional(
    postgresUri(),
    'The connection of the serving role. Required on `postgres`, refused on `sqlite`.',
  ),
  'Service:Database:MigrationConnectionString': optional(
    postgresUri(),
    'The connection of the role that owns the schema, for `mandate migrate`; without it `ConnectionString` is used. Refused on `sqlite`.',
  ),
  'Service:Database:Path': optional(
    path(),
    'The database file. Required on `sqlite`, refused on `postgres`. `:memory:` is refused.',
  ),

  'Service:Signing:Keys:N:Path': optional(
    path(),
    'A PEM file with an EC P-256 private key; N counts from 0. Every key is published. Of a retired key the public half (SPKI, which `mandate keys retire` writes) is enough: it verifies, and cannot be the active one. Either this or `Pem`. No other setting may name the file. Without any key a development host generates one at each start; any other host does not start.',
  ),
  'Service:Signing:Keys:N:Pem': optional(pem(), 'The same key as text.'),
  'Service:Signing:Keys:N:Kid': optional(
    kid(),
    "The key's name in the published key set; without it, its RFC 7638 thumbprint.",
  ),
  'Service:Signing:ActiveKid': optional(kid(), 'The name of the key that signs. Required if there is more than one.'),

  'Service:Admin:ApiKey': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Gives access to `/admin` and `/audit`; without it both answer 503.',
  ),

  'Service:Operators:Audience': optional(
    text(),
    'The `aud` of the access tokens with which operators call `/admin` and `/audit` under their own names. It must differ from `Service:UpstreamIdp:Audience`: an agent holds those tokens.',
  ),
  'Service:Operators:ClientId': optional(
    text(),
    "This service's client at the identity provider, with which operators sign in at the console. It must differ from the audience of every access token.",
  ),
  'Service:Operators:ClientSecret:Path': optional(
    path(),
    'A file with the secret of that client. Without it the service authenticates with `private_key_jwt` and its active signing key. Refused without `ClientId`.',
  ),
  'Service:Operators:Issuer': optional(
    url({}),
    "The identity provider of the operators, exactly as in the `iss` of their tokens; by default `Service:UpstreamIdp`'s. Refused without `Audience` and `ClientId`.",
  ),
  'Service:Operators:RoleClaim': defaulted(
    'roles',
    claim('a claim', MAX_CLAIM_PATH),
    "The claim with an operator's roles: a text or a list of texts. A dot leads into an object, as in `realm_access.roles`. Refused without `Audience` and `ClientId`.",
  ),
  'Service:Operators:Roles:Viewer': optional(
    text(),
    'The value of the claim that gives the role: tasks, agents and blocks may be read. Without a value no operator has the role; at least one of the four is required. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Operators:Roles:Auditor': optional(
    text(),
    'The same, and `/audit` and `/admin/acts` may be read. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Operators:Roles:Registrar': optional(
    text(),
    'The same as `Viewer`, and agents may be registered, changed and deleted. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Operators:Roles:Responder': optional(
    text(),
    'The same as `Viewer`, and tasks may be ended, and people blocked and unblocked. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Operators:StopEverything': defaulted(
    'false',
    boolean(),
    'Whether a responder may end all tasks of all people at once (`DELETE /admin/tasks`). The admin key always may. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Operators:TwoPersonUnblock': defaulted(
    'false',
    boolean(),
    "Whether two different operators must ask within an hour to lift an operator's block. The admin key lifts it alone. Refused without `Audience` and `ClientId`.",
  ),

  'Service:Console:Port': optional(
    integer({ min: 1, max: MAX_PORT }),
    'The port on `HOST` of the console for operators, in plain http behind a proxy with TLS; must differ from `PORT` and `Service:Metrics:Port`. It needs `Service:Operators:ClientId` and `Origin`. Without it there is no console, and its code is not loaded.',
  ),
  'Service:Console:Origin': optional(
    origin(),
    'The address that browsers use for the console, such as `https://console.mandate.example`; the return address of its client at the identity provider is `<Service:Console:Origin>/callback`. On a development host it may be plain http on a loopback address. It must differ from the origin of `Service:Issuer`. Refused without `Port`.',
  ),

  'Service:Ssf:Issuer': optional(
    url({}),
    'The transmitter whose security event tokens are accepted, exactly as in its `iss`; its metadata names its keys. Without it there is no `/events`.',
  ),
  'Service:Ssf:Audience': optional(
    text(),
    "The `aud` of the transmitter's stream to this service. Required with `Service:Ssf:Issuer`, refused without.",
  ),
  'Service:Ssf:BearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'The bearer token of the transmitter at `/events`. Required with `Service:Ssf:Issuer`, refused without.',
  ),
  'Service:Ssf:PreviousBearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'The previous bearer token, also accepted while the transmitter is changed to the new one; must differ from `BearerToken`. Refused without `Service:Ssf:Issuer`.',
  ),

  'Service:Tokens:DefaultTaskTtl': defaulted(
    'PT30M',
    duration(),
    '`max_task_ttl` of a registration without one; within the bounds below.',
  ),
  'Service:Tokens:DefaultTokenTtl': defaulted(
    'PT5M',
    duration(),
    '`max_token_ttl` of a registration without one; at most `DefaultTaskTtl`, and within the bounds below.',
  ),
  'Service:Agents:MinTaskTtl': defaulted('PT1M', duration(), 'The shortest `max_task_ttl` of a registration.'),
  'Service:Agents:MaxTaskTtl': defaulted(
    'P1D',
    duration(),
    'The longest. Compared when an agent is registered or changed: an agent from before keeps its own.',
  ),
  'Service:Agents:MinTokenTtl': defaulted(
    'PT30S',
    duration(),
    'The shortest `max_token_ttl` of a registration; at most `MinTaskTtl`.',
  ),
  'Service:Agents:MaxTokenTtl': defaulted(
    'PT1H',
    duration(),
    'The longest. Compared when an agent is registered or changed: an agent from before keeps its own.',
  ),
  'Service:AgentKeys:BlockPrivateNetworks': defaulted(
    'false',
    boolean(),
    "Whether an agent's `jwks_uri` is fetched from public addresses only. A host with a loopback, private, link-local or other special address is refused, even if it also has a public one.",
  ),
  'Service:Exchange:ClientIsActor': defaulted(
    'false',
    boolean(),
    'Whether an exchange may leave out `actor_token`, as most OAuth libraries do. The actor is then the agent that `client_assertion` authenticates. If both are sent, both must be of one agent. `subject_token_type` and `requested_token_type` may then be `urn:ietf:params:oauth:token-type:jwt`, and `issued_token_type` is what was requested.',
  ),
  'Service:Exchange:AudienceParameter': defaulted(
    'false',
    boolean(),
    'Whether `audience` is accepted in place of `resource`; if both are sent, they must be equal. A refresh may then leave out both, and gets the audience of its task. If false, `audience` is ignored, and a refresh needs `resource`.',
  ),

  'Service:StatusLists:Enabled': defaulted(
    'false',
    boolean(),
    'Whether tokens name an index in a status list (draft-ietf-oauth-status-list), with which tool servers learn of the end of a task within seconds. A task that was opened before has no index.',
  ),
  'Service:StatusLists:Ttl': defaulted(
    'PT5S',
    duration({ min: 'PT1S', max: 'PT1M' }),
    'How old a published list may be: each instance reads the database for a list at most once in this time. A list expires after twelve times as long.',
  ),
  'Service:StatusLists:Entries': defaulted(
    '131072',
    powerOfTwo(statusListEntries),
    'The number of indices of a new list. A list belongs to one audience; once all its indices are taken, another one is opened.',
  ),

  'Service:Me:Audience': optional(
    text(),
    "The `aud` of the identity provider's access tokens with which a person calls `/me`; it opens that API. It must differ from `Service:UpstreamIdp:Audience`: the agent holds those tokens.",
  ),
  'Service:Me:ClientId': optional(
    text(),
    "This service's client at the identity provider, with which people sign in at the page `/me`; its return address is `<Service:Issuer>/me/callback`. It must differ from the audience of every access token, and from `Service:Operators:ClientId` at the same provider.",
  ),
  'Service:Me:ClientSecret:Path': optional(
    path(),
    'A file with the secret of that client. Without it the service authenticates with `private_key_jwt` and its active signing key. Refused without `ClientId`.',
  ),
  'Service:Me:SessionTtl': defaulted(
    'PT15M',
    duration({ min: 'PT1M', max: 'PT8H' }),
    'How long a session of the page lasts without use; eight hours after the sign-in it ends in any case. Refused without `ClientId`.',
  ),
  'Service:Me:Pause': defaulted(
    'true',
    boolean(),
    'Whether a person may pause all agents that act for them. Refused without `Audience` and `ClientId`.',
  ),
  'Service:Me:AskForName': defaulted(
    'false',
    boolean(),
    'Whether the sign-ins at `/me` and `/oauth2/authorize` ask for the scopes `profile` and `email` too, so that the ID token may have a name for the pages to show. A scope that the metadata does not list is left out. Refused without `ClientId`.',
  ),
  'Service:Me:ScopeDescriptions': optional(
    path(),
    'A JSON or YAML file with the words in which the page describes scopes: each scope with a sentence, or with one for each language. Refused without `ClientId`.',
  ),

  'Service:Authorize:ClientId': optional(
    text(),
    "This service's client at the identity provider, with which people sign in to start a task; it opens `/oauth2/authorize`. Its return address is `<Service:Issuer>/oauth2/authorize/callback`, and its access tokens must carry `Service:UpstreamIdp:Audience`. It must differ from the audience of every access token, from `Service:Me:ClientId`, and from `Service:Operators:ClientId` at the same provider. It needs `Service:Me:ClientId`: a person who starts a task must be able to stop it.",
  ),
  'Service:Authorize:ClientSecret:Path': optional(
    path(),
    'A file with the secret of that client. Without it the service authenticates with `private_key_jwt` and its active signing key. Refused without `ClientId`.',
  ),
  'Service:Authorize:ProviderParameters:<name>': optional(
    parameterValue(),
    'A parameter with this name and value in the request to the provider. With `audience` or `resource` some providers learn which API an access token is for; `resource` goes to the token endpoint too (RFC 8707 section 2.2). A parameter that the service sets itself, such as `scope`, is refused. Refused without `ClientId`.',
  ),
  'Service:Authorize:ScopePrefix': optional(
    scopePrefix(),
    'What the provider has before the scopes of an API, such as `api://mandate/` at Entra ID. The request to the provider has it before each scope of the task. The `scp` of its tokens is without it. Refused without `ClientId`.',
  ),
  'Service:Authorize:PublicClients': defaulted(
    'false',
    boolean(),
    'Whether agents registered with `public_client`, and those whose client document has no keys, may redeem a code without a key, by PKCE alone. Such a program cannot prove its name, and the page says so. Refused without `ClientId`.',
  ),
  'Service:Authorize:Registration': defaulted(
    'off',
    choice('off', 'known'),
    '`known`: the registration endpoint (RFC 7591) answers a program with the `client_id` of the registered public agent that its return addresses and its name fit. It registers nothing. `known` is an error unless `PublicClients` is `true`. Refused without `ClientId`.',
  ),
  'Service:Authorize:RequestTtl': defaulted(
    'PT10M',
    duration({ min: 'PT1M', max: 'PT30M' }),
    'How long a person has for the sign-in and the answer, from the request of the program on. Refused without `ClientId`.',
  ),
  'Service:Authorize:CodeTtl': defaulted(
    'PT1M',
    duration({ min: 'PT10S', max: 'PT5M' }),
    "How long the program may redeem the code of a person's yes. Refused without `ClientId`.",
  ),
  'Service:Authorize:MaxAuthAge': optional(
    duration({ min: 'PT1M', max: 'P1D' }),
    'How old the sign-in of a person who starts a task may be. An older one, or one without a date, is asked for again once. Unset, any age is accepted. Refused without `ClientId`.',
  ),

  'Service:Approvals:Enabled': defaulted(
    'false',
    boolean(),
    'Whether tool servers may ask a person to approve one action (`POST /oauth2/approval`). The person answers at `/me`. `true` needs `Service:Me:ClientId`, and at least one resource.',
  ),
  'Service:Approvals:Resources:N:Audience': optional(
    url({ query: 'accepted' }),
    "The audience of a tool server that may ask, exactly as in its tasks; N counts from 0. It is the `iss` of the tool server's requests. No other resource may have it. Required with `JwksUri` and `Jwks`.",
  ),
  'Service:Approvals:Resources:N:JwksUri': optional(
    url({ scheme: 'https', query: 'accepted' }),
    "The address of the tool server's public keys (ES256), fetched as those of an agent are, and on another host than the control plane. `Jwks` has them as text instead.",
  ),
  'Service:Approvals:Resources:N:Jwks': optional(
    jwkSet(),
    "The tool server's public keys as JSON text, each with a `kid`. Refused with `JwksUri`.",
  ),
  'Service:Approvals:Lifetime': defaulted(
    'PT10M',
    duration({ min: 'PT1M', max: 'P1D' }),
    'How long an approval waits for the person; at most until its task ends.',
  ),
  'Service:Approvals:Spend': defaulted(
    'PT10M',
    duration({ min: 'PT1M', max: 'P1D' }),
    "How long the agent may use a person's yes; at most until its task ends. A yes that is not used by then is over.",
  ),
  'Service:Approvals:RefusedFor': defaulted(
    'PT1H',
    duration({ min: 'PT1M', max: 'P1D' }),
    "How long a person's no answers the same action of the task. After that it is asked again.",
  ),
  'Service:Approvals:MaxPendingPerTask': defaulted(
    '3',
    integer({ min: 1, max: MAX_PENDING }),
    'How many approvals of one task may wait for the person at once.',
  ),
  'Service:Approvals:MaxPendingPerPerson': defaulted(
    '20',
    integer({ min: 1, max: MAX_PENDING }),
    'How many approvals may wait for one person at once. Those of one agent take at most a third of them, and at least one.',
  ),
  'Service:Approvals:MaxQuestionsPerHour': defaulted(
    '60',
    integer({ min: 1, max: MAX_QUESTIONS }),
    'How many new approvals an agent may ask one person for, in an hour that begins with the first. A further one gets 429 `too_many_questions`.',
  ),
  'Service:Approvals:MaxAuthAge': defaulted(
    'PT5M',
    duration({ min: 'PT1M', max: 'PT1H' }),
    'How old the sign-in of a person who says yes may be. A no needs no recent sign-in.',
  ),
  'Service:Approvals:Notify:Url': optional(
    url({ scheme: 'https', query: 'accepted' }),
    'The address to which `{"approval_id", "sponsor_key"}` is sent when approvals begin to wait, at least once; a person gets one such notice a minute. It must not contain credentials.',
  ),
  'Service:Approvals:Notify:BearerToken': optional(
    bearerToken({ min: 1 }),
    'The bearer token for that address. Refused without `Url`.',
  ),

  'Service:Delegation:Enabled': defaulted(
    'false',
    boolean(),
    'Whether an agent may hand part of its task to another agent (a child task), which the registration of both must allow. Offers and take-ups are exchanges at the token endpoint. If it becomes `false`, running child tasks are not renewed, and still end with their parent.',
  ),
  'Service:Delegation:MaxDepth': defaulted(
    '2',
    integer({ min: MIN_CHAIN, max: MAX_DELEGATION_DEPTH }),
    'The maximum number of agents in a chain, with the agent of the first task. At every agent of the chain `max_delegation_depth` must allow its length too.',
  ),
  'Service:Delegation:MaxChildrenPerTask': defaulted(
    '20',
    integer({ min: 1, max: MAX_CHILDREN }),
    'How many running child tasks one task may have directly below it. An offer that was not taken up does not count.',
  ),
  'Service:Delegation:OfferTtl': defaulted(
    'PT1M',
    duration({ min: 'PT10S', max: 'PT5M' }),
    'How long the other agent may take up an offer; at most until the task ends.',
  ),

  'Service:Tasks:SweepInterval': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'P1D' }),
    'How often the sweeper records expired tasks and deletes data that has passed its retention. A task ends at its expiry, recorded or not.',
  ),
  'Service:Tasks:SweepBatchSize': defaulted(
    '20',
    integer({ min: 1, max: MAX_SWEEP_BATCH }),
    'The maximum number of tasks that the sweeper expires in one transaction.',
  ),
  'Service:Tasks:Retention': defaulted(
    'P7D',
    duration(),
    'How long a task and its grants are kept after its end, whatever its expiry; until then its agent cannot be deleted. With an index in a status list a task is kept at least until a minute after its expiry.',
  ),
  'Service:Tasks:Purpose': defaulted(
    'off',
    choice('off', 'accept', 'require'),
    "Whether an agent may (`accept`) or must (`require`) state the purpose of a task at the exchange: `purpose`, 1 to 300 characters. A blank one counts as absent. `/me` and the console show it as the agent's words, and the ledger has a hash of it: `purpose.stated`. It is deleted with the task. With `off` the parameter is ignored.",
  ),

  'Service:Audit:Aggregation:Enabled': defaulted(
    'true',
    boolean(),
    'Whether anonymous denials, and the renewals of a task, are recorded once and then counted. If false, each is a separate record, and a flood of refused requests fills the ledger.',
  ),
  'Service:Audit:Aggregation:Renewals': defaulted(
    'true',
    boolean(),
    'Whether the renewals of a task after its first are only counted. Then the `jti` of a counted renewal is in no record. If false, each renewal is a `token.refreshed` record with its `jti`. If `Enabled` is false, each renewal is a record in any case.',
  ),
  'Service:Audit:Aggregation:Window': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'PT15M' }),
    'How long anonymous denials are counted, by event and reason, before one record has the number of the further ones.',
  ),
  'Service:Audit:Checkpoint:Interval': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'PT1H' }),
    'How often new records are sealed; an unsealed record can be neither proved nor verified.',
  ),
  'Service:Audit:Retention': optional(
    duration({ min: 'P31D' }),
    'How long a record stays before `mandate audit-archive` without `--before` archives its month; nothing is archived automatically. Refused on `sqlite`.',
  ),
  'Service:Audit:Sink:Url': optional(
    url({ query: 'accepted' }),
    'The address to which a copy of every record is sent, from the first start with this setting. It must not contain credentials.',
  ),
  'Service:Audit:Sink:BearerToken': optional(
    bearerToken({ min: 1 }),
    'The bearer token for the sink. Refused unless `Service:Audit:Sink:Url` is an https URL.',
  ),
  'Service:Audit:DrainBatchSize': defaulted(
    '100',
    integer({ min: 1, max: MAX_DRAIN_BATCH }),
    'The maximum number of records in one request to the sink.',
  ),
  'Service:Audit:DrainInterval': defaulted(
    'PT5S',
    duration({ min: 'PT1S', max: 'PT1H' }),
    'How often the service looks for records that wait for the sink.',
  ),
  'Service:Audit:Partitions:MonthsAhead': defaulted(
    '2',
    integer({ min: 1, max: MAX_MONTHS_AHEAD }),
    'For how many months after the current one the partitions of the ledger are created, by `mandate migrate` and every hour. Refused on `sqlite`.',
  ),

  'Service:Audit:Log:Key:Path': optional(
    path(),
    'A PEM file with an Ed25519 private key, which no other setting names. It turns on the transparency log: one Merkle tree over all checkpoints, with signed notes at `/log/checkpoint`. `Pem` has it as text instead.',
  ),
  'Service:Audit:Log:Key:Pem': optional(pem(), 'The same key as text. Refused with `Path`.'),
  'Service:Audit:Log:Origin': computed(
    'host and path of `Service:Issuer`, then `/ledger`',
    keyName({ max: MAX_ORIGIN }),
    "The log's name in its notes. The service does not start with another name than the stored one; `mandate log adopt-origin` stores a new name. Refused without `Key:Path` and `Key:Pem`.",
  ),
  'Service:Audit:Log:Public': defaulted(
    'false',
    boolean(),
    'Whether anybody may read `/log`. If false, readers need the admin API key. Refused without `Key:Path` and `Key:Pem`.',
  ),
  'Service:Audit:Log:Witnesses:N:Url': optional(
    url({ trailingSlash: 'dropped' }),
    'The address of a witness, to which `/add-checkpoint` is appended; N counts from 0. Required with `VKey`. Refused without `Key:Path` and `Key:Pem`.',
  ),
  'Service:Audit:Log:Witnesses:N:VKey': optional(
    witnessKey(),
    'The verifier key of that witness, with a name that no other witness has. Required with `Url`. Refused without `Key:Path` and `Key:Pem`.',
  ),
  'Service:Audit:Log:Quorum': defaulted(
    '0',
    integer({ min: 0, max: MAX_WITNESSES }),
    'How many witnesses must have cosigned a note before `/log/checkpoint` shows it; at most the number of witnesses. Refused without `Key:Path` and `Key:Pem`.',
  ),
  'Service:Audit:Log:WitnessTimeout': defaulted(
    'PT5S',
    duration({ min: 'PT1S', max: 'PT1M' }),
    'How long the service waits for the answer of a witness, and at a start for all of them, before it signs a tree. Refused without `Key:Path` and `Key:Pem`.',
  ),

  'Service:RateLimit:Enabled': defaulted(
    'true',
    boolean(),
    'Whether the rate of requests of one source is limited. Each instance counts separately, so n instances admit n times the rate.',
  ),
  'Service:RateLimit:PermitsPerMinute': defaulted(
    '600',
    permits(),
    'How many requests a minute one source may send, to all endpoints without a separate bucket below. A bucket is refilled every second by a sixtieth, rounded up.',
  ),
  'Service:RateLimit:Burst': defaulted(
    '120',
    permits(),
    'How many requests one source may send at once; at least the refill of one second.',
  ),
  'Service:RateLimit:Introspection:PermitsPerMinute': defaulted(
    '6000',
    permits(),
    'The same for `/oauth2/introspect` and `/oauth2/approval`, to which a tool server may send a request for each call.',
  ),
  'Service:RateLimit:Introspection:Burst': defaulted('1200', permits(), 'The burst for these two.'),
  'Service:RateLimit:Signals:PermitsPerMinute': defaulted(
    '6000',
    permits(),
    'The same for each of `/backchannel-logout`, `/scim` and `/events`.',
  ),
  'Service:RateLimit:Signals:Burst': defaulted('5000', permits(), 'The burst for each of these.'),
  'Service:RateLimit:TrustedProxies': optional(
    networkList(),
    'The networks of your own proxies. For a peer in one of them, the source is the last address in `X-Forwarded-For` outside these networks. From any other peer the header is ignored.',
  ),

  'Service:Overload:Enabled': defaulted(
    'true',
    boolean(),
    'Whether each instance limits its concurrent requests, separately for each kind of work: the token endpoint, introspection, revocations (`/oauth2/revoke`, `/backchannel-logout`, `/scim`, `/events`, `/admin`, and `/me` but for its sign-ins and records), and all others, of which proofs have two separate permits, sign-ins of people eight, and sign-ins of operators eight. If false, only the rate limits bound the concurrent requests and the bodies in memory: then a proxy in front has to.',
  ),
  'Service:Overload:ConcurrencyLimit': computed(
    '16 for each core',
    integer({ min: 1, max: MAX_CONCURRENCY }),
    'The permits of each kind of work: the maximum number of its concurrent requests.',
  ),
  'Service:Overload:QueueLimit': computed(
    '4 times `ConcurrencyLimit`',
    integer({ min: 0, max: MAX_QUEUE }),
    'How many further requests may wait for a permit; one more gets 503 at once.',
  ),
  'Service:Overload:QueueTimeout': defaulted(
    'PT1S',
    duration({ max: 'PT30S' }),
    'How long a request waits for a permit before it gets 503.',
  ),

  'Service:Metrics:Port': optional(
    integer({ min: 1, max: MAX_PORT }),
    'The port on `HOST` of `/metrics` for Prometheus; must differ from `PORT`. Without it there is no such endpoint.',
  ),

  'Service:Secrets:Path': optional(
    text({ accepts: 'the path of a folder' }),
    'A folder whose files are settings: the name of a file is that of the variable, such as `Service__Admin__ApiKey`, and its content is the value. A file is UTF-8, of at most 128 KiB. A last line break and hidden files are ignored. A setting that is also given as a variable is refused.',
  ),

  'Service:Traces:Enabled': defaulted(
    'false',
    boolean(),
    'Whether requests and jobs are OpenTelemetry spans. They need an SDK, loaded with `node --import`.',
  ),

  HOST: computed(
    '`127.0.0.1` on a development host, else `0.0.0.0`',
    text({ whitespace: false, accepts: 'a host name or address of this machine' }),
    'The address to listen on. `::` is every address, of IPv6 and of IPv4; where the machine has no IPv6 it is `0.0.0.0`.',
  ),
  PORT: defaulted('5100', integer({ min: 0, max: MAX_PORT }), 'The port to listen on; 0 selects any free port.'),
  NODE_ENV: defaulted('production', text(), '`development` makes this a development host; no other value does.'),
} as const satisfies Readonly<Record<string, Setting>>;

/** Settings of former versions. Setting one is an error, because it would have no effect. */
export const removedSettings: Readonly<Record<string, string>> = {
  'Service:Audit:Chains': 'there is one chain of checkpoints, which needs no setting',
};
