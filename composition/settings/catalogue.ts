/**
 * THE catalogue of settings (specification "Configuration rules", "Limits"): what can be set, what is accepted, and
 * what it means. Reading, validation, the start-up errors and the settings table all come from here.
 *
 * To add a setting, add a line. A key with `:N:` in it belongs to a list. What holds between settings is in rules.ts.
 */

import { computed, defaulted, optional, required, type Setting } from './setting.ts';
import {
  bearerToken,
  boolean,
  choice,
  duration,
  integer,
  networkList,
  path,
  pem,
  postgresUri,
  text,
  url,
} from './value-type.ts';

/** Specification "Other limits". */
const MAX_CLAIM_NAME = 64;
/** Specification "Authentication". */
const MIN_CREDENTIAL = 32;
/** A thumbprint has 43 characters; a `kid` travels in the header of every token. */
const MAX_KID = 128;
/** Specification "Other limits". */
const MAX_MONTHS_AHEAD = 12;
/** As long a page as the audit shows: a batch is held in memory, and one that fails is sent whole again. */
const MAX_DRAIN_BATCH = 1000;
/** A batch is one transaction, and whoever renews one of its tasks waits for it. */
const MAX_SWEEP_BATCH = 1000;
const MAX_PORT = 65_535;
/** A million a second: more is no limit. */
const MAX_PERMITS = 60_000_000;
/** Specification "Overload". */
const MAX_CONCURRENCY = 100_000;
const MAX_QUEUE = 1_000_000;
/** Each create counts them all: this many take tenths of a second. */
const MAX_PROVISIONED_USERS = 1_000_000;

const permits = () => integer({ min: 1, max: MAX_PERMITS });

const kid = () =>
  text({ max: MAX_KID, whitespace: false, accepts: `a name of at most ${MAX_KID} characters, no space` });

export const catalogue = {
  'Service:Issuer': required(
    url({ trailingSlash: 'dropped' }),
    'The address under which others reach this service, and the `iss` of every token it issues. A trailing slash is dropped. Where it has a path, the service answers under that path too; it may not be under `/admin` or `/agents`.',
  ),

  'Service:UpstreamIdp:Issuer': optional(
    url({}),
    'The identity provider whose access tokens are accepted, exactly as its `iss` reads. Either this or `MetadataUrl`.',
  ),
  'Service:UpstreamIdp:MetadataUrl': optional(
    url({ query: 'accepted' }),
    "The provider's discovery document, where it is not at the usual place under its issuer.",
  ),
  'Service:UpstreamIdp:Audience': required(text(), 'The `aud` that a subject token must carry.'),
  'Service:UpstreamIdp:SponsorKeyClaim': defaulted(
    'sub',
    text({
      max: MAX_CLAIM_NAME,
      whitespace: false,
      accepts: `a claim name of at most ${MAX_CLAIM_NAME} characters without white space`,
    }),
    'The claim of a subject token that says who the person is for blocks and provisioning.',
  ),
  'Service:UpstreamIdp:SponsorCheck:Mode': defaulted(
    'poll',
    choice('poll', 'signals'),
    'Whether the identity provider is asked about a person (`poll`), or tells this service by itself (`signals`).',
  ),
  'Service:UpstreamIdp:SponsorCheck:UsersUrl': optional(
    url({ trailingSlash: 'dropped' }),
    "The users of the provider's admin API; a person is at `<UsersUrl>/<sub>`, the `sub` percent-encoded as one path segment. Required under `poll`, refused under `signals`.",
  ),
  'Service:UpstreamIdp:SponsorCheck:TokenUrl': optional(
    url({ query: 'accepted' }),
    "The provider's token endpoint, for the token that opens `UsersUrl`. Required under `poll`, refused under `signals`.",
  ),
  'Service:UpstreamIdp:SponsorCheck:ClientId': optional(
    text(),
    'The client that this service is at the provider. Required under `poll`, refused under `signals`.',
  ),
  'Service:UpstreamIdp:SponsorCheck:CacheTtl': defaulted(
    'PT30S',
    duration(),
    'How long an answer about a person may be reused for refreshes; at most `Service:Tokens:DefaultTokenTtl`. Refused under `signals`.',
  ),

  'Service:Scim:BearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Opens `/scim/v2` to the identity provider; without it everything there is 404.',
  ),
  'Service:Scim:PreviousBearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Is accepted as well, while `BearerToken` is being changed. Refused when the two are equal.',
  ),
  'Service:Scim:SponsorKeyAttribute': defaulted(
    'externalId',
    choice('externalId', 'userName'),
    "The attribute of a provisioned user that names the person: its value must be that of `Service:UpstreamIdp:SponsorKeyClaim` in the person's subject tokens.",
  ),
  'Service:Scim:MaxUsers': defaulted(
    '50000',
    integer({ min: 1, max: MAX_PROVISIONED_USERS }),
    'How many provisioned users are held; one more is answered 507.',
  ),
  'Service:UpstreamIdp:BackchannelLogout:Audience': optional(
    text(),
    'The client of the provider that people sign in with, which is the `aud` of its logout tokens. Without it there is no `/backchannel-logout`.',
  ),
  'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': defaulted(
    'false',
    boolean(),
    'Whether a subject token from before a logout starts no task: one of the session that the logout token named, or of the person where it named no session. A logout is remembered for a day. `true` needs `Audience`.',
  ),

  'Service:Database:Provider': defaulted('postgres', choice('postgres', 'sqlite'), 'Which database holds everything.'),
  'Service:Database:ConnectionString': optional(
    postgresUri(),
    'The role that serves. Required on `postgres`, refused on `sqlite`.',
  ),
  'Service:Database:MigrationConnectionString': optional(
    postgresUri(),
    'The role that owns the schema, for `mandate migrate`; without it `ConnectionString` is used. Refused on `sqlite`.',
  ),
  'Service:Database:Path': optional(path(), 'The database file. Required on `sqlite`, refused on `postgres`.'),

  'Service:Signing:Keys:N:Path': optional(
    path(),
    'A PEM file with an EC P-256 private key; N counts from 0. Every key is published. Either this or `Pem`. With no key at all a development host makes one up for as long as it runs; any other does not start.',
  ),
  'Service:Signing:Keys:N:Pem': optional(pem(), 'The same key as text.'),
  'Service:Signing:Keys:N:Kid': optional(
    kid(),
    "The key's name in the published key set; without it, its RFC 7638 thumbprint.",
  ),
  'Service:Signing:ActiveKid': optional(kid(), 'The name of the key that signs. Required when there is more than one.'),

  'Service:Admin:ApiKey': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'Opens `/admin` and `/audit`; without it both answer 503.',
  ),

  'Service:Ssf:Issuer': optional(
    url({}),
    'The transmitter whose security event tokens are accepted, exactly as its `iss` reads; its keys are found from there. Without it there is no `/events`.',
  ),
  'Service:Ssf:Audience': optional(
    text(),
    "The `aud` of the transmitter's stream to this service. Required with `Service:Ssf:Issuer`, refused without.",
  ),
  'Service:Ssf:BearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'What the transmitter presents at `/events`. Required with `Service:Ssf:Issuer`, refused without.',
  ),
  'Service:Ssf:PreviousBearerToken': optional(
    bearerToken({ min: MIN_CREDENTIAL }),
    'The one before, accepted as well while the transmitter is given the new one; another than `BearerToken`. Refused without `Service:Ssf:Issuer`.',
  ),

  'Service:Tokens:DefaultTaskTtl': defaulted(
    'PT30M',
    duration(),
    '`max_task_ttl` of a registration that names no lifetime; within the bounds below.',
  ),
  'Service:Tokens:DefaultTokenTtl': defaulted(
    'PT5M',
    duration(),
    '`max_token_ttl` of a registration that names none; at most `DefaultTaskTtl`, and within the bounds below.',
  ),
  'Service:Agents:MinTaskTtl': defaulted('PT1M', duration(), 'The shortest `max_task_ttl` of a registration.'),
  'Service:Agents:MaxTaskTtl': defaulted('P1D', duration(), 'The longest.'),
  'Service:Agents:MinTokenTtl': defaulted(
    'PT30S',
    duration(),
    'The shortest `max_token_ttl` of a registration; at most `MinTaskTtl`.',
  ),
  'Service:Agents:MaxTokenTtl': defaulted('PT1H', duration(), 'The longest.'),
  'Service:AgentKeys:BlockPrivateNetworks': defaulted(
    'false',
    boolean(),
    "Whether an agent's `jwks_uri` is fetched from public addresses only. A host with a loopback, private, link-local or other special address is refused, also where it has a public one.",
  ),

  'Service:Tasks:SweepInterval': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'P1D' }),
    'How often the expiry of tasks is recorded, and what need not be kept any longer is deleted. A task is over when its time is up, recorded or not.',
  ),
  'Service:Tasks:SweepBatchSize': defaulted(
    '20',
    integer({ min: 1, max: MAX_SWEEP_BATCH }),
    'How many tasks at most expire in one transaction.',
  ),
  'Service:Tasks:Retention': defaulted(
    'P7D',
    duration(),
    'How long a task is kept with its grants after it has ended, whatever its expiry was; until then its agent cannot be deleted.',
  ),

  'Service:Audit:Aggregation:Enabled': defaulted(
    'true',
    boolean(),
    'Whether denials that name nobody, and the renewals of a task, are written once and then counted; without it each is a record of its own, and a flood of refused requests one of records.',
  ),
  'Service:Audit:Aggregation:Window': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'PT15M' }),
    'How long denials that name nobody are counted, by event and reason, before one record says how many more there were.',
  ),
  'Service:Audit:Checkpoint:Interval': defaulted(
    'PT1M',
    duration({ min: 'PT1S', max: 'PT1H' }),
    'How often new records are sealed; until then one can be neither proved nor verified.',
  ),
  'Service:Audit:Retention': optional(
    duration({ min: 'P31D' }),
    'How long a record stays before `mandate audit-archive` without `--before` takes its month; nothing leaves by itself. Refused on `sqlite`.',
  ),
  'Service:Audit:Sink:Url': optional(
    url({ query: 'accepted' }),
    'Where a copy of every record is sent, beginning with the first start that has it. It must hold no credentials.',
  ),
  'Service:Audit:Sink:BearerToken': optional(
    bearerToken({ min: 1 }),
    'Presented to the sink. Refused unless `Service:Audit:Sink:Url` is an https URL.',
  ),
  'Service:Audit:DrainBatchSize': defaulted(
    '100',
    integer({ min: 1, max: MAX_DRAIN_BATCH }),
    'How many records at most are sent to the sink at once.',
  ),
  'Service:Audit:DrainInterval': defaulted(
    'PT5S',
    duration({ min: 'PT1S', max: 'PT1H' }),
    'How often records that wait for the sink are looked for.',
  ),
  'Service:Audit:Partitions:MonthsAhead': defaulted(
    '2',
    integer({ min: 1, max: MAX_MONTHS_AHEAD }),
    "How many months beyond this one the ledger's partitions are created ahead, by `mandate migrate` and every hour. Refused on `sqlite`.",
  ),

  'Service:RateLimit:Enabled': defaulted(
    'true',
    boolean(),
    'Whether one source may send only so many requests. Each instance counts by itself, so n of them let n times as many through.',
  ),
  'Service:RateLimit:PermitsPerMinute': defaulted(
    '600',
    permits(),
    'How many requests a minute one source may send, to everything that has no bucket of its own below. A bucket is refilled every second by a sixtieth, rounded up.',
  ),
  'Service:RateLimit:Burst': defaulted(
    '120',
    permits(),
    'How many it may send at once; at least what a second brings.',
  ),
  'Service:RateLimit:Introspection:PermitsPerMinute': defaulted(
    '6000',
    permits(),
    'The same for `/oauth2/introspect`, which tool servers ask for each call.',
  ),
  'Service:RateLimit:Introspection:Burst': defaulted('1200', permits(), 'The same for its bursts.'),
  'Service:RateLimit:Signals:PermitsPerMinute': defaulted(
    '6000',
    permits(),
    'The same for each of `/backchannel-logout`, `/scim` and `/events`.',
  ),
  'Service:RateLimit:Signals:Burst': defaulted('5000', permits(), 'The same for their bursts.'),
  'Service:RateLimit:TrustedProxies': optional(
    networkList(),
    'The networks of your own proxies: from a peer there, the last address in `X-Forwarded-For` that is none of theirs is the source. From any other peer the header is ignored.',
  ),

  'Service:Overload:Enabled': defaulted(
    'true',
    boolean(),
    'Whether only so many requests are worked on at once, by each instance and for each kind of work by itself: the token endpoint, introspection, whatever revokes (`/oauth2/revoke`, `/backchannel-logout`, `/scim`, `/events`, `/admin`), and everything else, of which proofs have two turns of their own. Without it nothing but the rate limits bounds how many are worked on and how many bodies are held: something before this service has to.',
  ),
  'Service:Overload:ConcurrencyLimit': computed(
    '16 for each core',
    integer({ min: 1, max: MAX_CONCURRENCY }),
    'How many requests of one kind of work are worked on at once.',
  ),
  'Service:Overload:QueueLimit': computed(
    '4 times `ConcurrencyLimit`',
    integer({ min: 0, max: MAX_QUEUE }),
    'How many more wait for their turn; one more is answered 503 at once.',
  ),
  'Service:Overload:QueueTimeout': defaulted(
    'PT1S',
    duration({ max: 'PT30S' }),
    'How long a request waits for its turn before it is answered 503.',
  ),

  'Service:Metrics:Port': optional(
    integer({ min: 1, max: MAX_PORT }),
    'A port of its own, on `HOST`, where `/metrics` tells Prometheus how the service is doing; another than `PORT`. Without it there is none.',
  ),

  HOST: computed(
    '`127.0.0.1` on a development host, else `0.0.0.0`',
    text({ whitespace: false, accepts: 'a host name or address of this machine' }),
    'Where to listen.',
  ),
  PORT: defaulted('5100', integer({ min: 0, max: MAX_PORT }), 'The port to listen on; 0 takes any that is free.'),
  NODE_ENV: defaulted('production', text(), '`development` makes this a development host; any other word does not.'),
} as const satisfies Readonly<Record<string, Setting>>;

/** Settings of former versions: setting one is an error, because what it asked for no longer happens. */
export const removedSettings: Readonly<Record<string, string>> = {
  'Service:Audit:Chains': 'there is one chain of checkpoints, which needs no setting',
};
