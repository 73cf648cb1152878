/**
 * The rules between settings (specification "Configuration rules", startup errors). Each rule reports all its errors,
 * so that one start shows all of them.
 */

import { permitsPerSecond } from '../../domain/rate.ts';
import { unusableActiveKid } from './alternatives.ts';
import { isDevelopmentHost } from './defaults.ts';
import type { ListKey, SettingKey, Settings } from './settings.ts';

export interface Findings {
  /** Whether the operator set it, to any value. */
  given(key: SettingKey): boolean;
  /** The numbers of a list's items that have any setting, in ascending order. */
  numbers(list: ListKey): readonly number[];

  /** @param problem completes a sentence that begins with the key; neither it nor `accepted` contains a value */
  wrong(key: SettingKey, problem: string, accepted: string): void;
  /** Reports a missing required setting. @param when as in "while … is …" */
  expect(key: SettingKey, when: string): void;
  /** Reports a setting that must not be set. */
  refuse(key: SettingKey, when: string): void;
}

export interface Rule {
  /** The settings that the rule compares: if one is unreadable, the rule is skipped. */
  readonly about: readonly (keyof Settings)[];
  check(settings: Settings, findings: Findings): void;
}

export function rule<Key extends keyof Settings>(
  about: readonly Key[],
  check: (settings: Pick<Settings, Key>, findings: Findings) => void,
): Rule {
  return { about, check };
}

/**
 * Below these paths an issuer's path could not be distinguished from the service's own, because agents' ids follow
 * them.
 */
const OWN_NAMES = /^\/+(?:admin|agents)(?:\/|$)/;

const issuerPathIsNotOurs = rule(['Service:Issuer'], (settings, findings) => {
  if (OWN_NAMES.test(new URL(settings['Service:Issuer']).pathname)) {
    findings.wrong(
      'Service:Issuer',
      'has a path under /admin or /agents, where the service itself answers',
      'another path, or none',
    );
  }
});

const oneUpstreamSource = rule([], (_settings, findings) => {
  const issuer = findings.given('Service:UpstreamIdp:Issuer');
  const metadataUrl = findings.given('Service:UpstreamIdp:MetadataUrl');
  if (issuer === metadataUrl) {
    findings.wrong(
      'Service:UpstreamIdp:Issuer',
      issuer ? 'is set beside Service:UpstreamIdp:MetadataUrl' : 'is not set, nor is Service:UpstreamIdp:MetadataUrl',
      'exactly one of the two',
    );
  }
});

const sponsorCheckFitsItsMode = rule(['Service:UpstreamIdp:SponsorCheck:Mode'], (settings, findings) => {
  const needs = [
    'Service:UpstreamIdp:SponsorCheck:UsersUrl',
    'Service:UpstreamIdp:SponsorCheck:TokenUrl',
    'Service:UpstreamIdp:SponsorCheck:ClientId',
  ] as const;
  if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'poll') {
    for (const key of needs) findings.expect(key, 'while Service:UpstreamIdp:SponsorCheck:Mode is poll');
    return;
  }
  for (const key of [...needs, 'Service:UpstreamIdp:SponsorCheck:CacheTtl'] as const) {
    findings.refuse(key, 'while Service:UpstreamIdp:SponsorCheck:Mode is signals');
  }
});

const cachedAnswersEndWithTokens = rule(
  [
    'Service:UpstreamIdp:SponsorCheck:Mode',
    'Service:UpstreamIdp:SponsorCheck:CacheTtl',
    'Service:Tokens:DefaultTokenTtl',
  ],
  (settings, findings) => {
    if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'poll') {
      atMost(settings, findings, 'Service:UpstreamIdp:SponsorCheck:CacheTtl', 'Service:Tokens:DefaultTokenTtl');
    }
  },
);

const refusedLogoutsAreReceived = rule(
  ['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
  (settings, findings) => {
    if (settings['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut']) {
      const when = 'while Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut is true';
      findings.expect('Service:UpstreamIdp:BackchannelLogout:Audience', when);
    }
  },
);

const databaseFitsItsProvider = rule(['Service:Database:Provider'], (settings, findings) => {
  if (settings['Service:Database:Provider'] === 'postgres') {
    findings.expect('Service:Database:ConnectionString', 'while Service:Database:Provider is postgres');
    findings.refuse('Service:Database:Path', 'while Service:Database:Provider is postgres');
  } else {
    findings.expect('Service:Database:Path', 'while Service:Database:Provider is sqlite');
    findings.refuse('Service:Database:ConnectionString', 'while Service:Database:Provider is sqlite');
    findings.refuse('Service:Database:MigrationConnectionString', 'while Service:Database:Provider is sqlite');
    findings.refuse('Service:Audit:Partitions:MonthsAhead', 'while Service:Database:Provider is sqlite');
    findings.refuse('Service:Audit:Retention', 'while Service:Database:Provider is sqlite');
  }
});

const sinkTokenTravelsEncrypted = rule(
  ['Service:Audit:Sink:Url', 'Service:Audit:Sink:BearerToken'],
  (settings, findings) => {
    const encrypted = /^https:/i.test(settings['Service:Audit:Sink:Url'] ?? '');
    if (settings['Service:Audit:Sink:BearerToken'] !== undefined && !encrypted) {
      findings.wrong(
        'Service:Audit:Sink:BearerToken',
        'is set while Service:Audit:Sink:Url is not an https URL',
        'an https URL beside it, or leaving it unset',
      );
    }
  },
);

const provisioningHasACredential = rule([], (_settings, findings) => {
  if (findings.given('Service:Scim:BearerToken')) return;
  for (const key of [
    'Service:Scim:PreviousBearerToken',
    'Service:Scim:SponsorKeyAttribute',
    'Service:Scim:MaxUsers',
  ] as const) {
    findings.refuse(key, 'while Service:Scim:BearerToken is not');
  }
});

const provisioningCredentialsDiffer = rule(
  ['Service:Scim:BearerToken', 'Service:Scim:PreviousBearerToken'],
  (settings, findings) => {
    const previous = settings['Service:Scim:PreviousBearerToken'];
    if (previous !== undefined && previous.reveal() === settings['Service:Scim:BearerToken']?.reveal()) {
      findings.wrong(
        'Service:Scim:PreviousBearerToken',
        'is the same as Service:Scim:BearerToken',
        'the credential that was in use before, or leaving it unset',
      );
    }
  },
);

const transmitterIsWhole = rule([], (_settings, findings) => {
  const needs = ['Service:Ssf:Audience', 'Service:Ssf:BearerToken'] as const;
  if (findings.given('Service:Ssf:Issuer')) {
    for (const key of needs) findings.expect(key, 'while Service:Ssf:Issuer is set');
    return;
  }
  for (const key of [...needs, 'Service:Ssf:PreviousBearerToken'] as const) {
    findings.refuse(key, 'while Service:Ssf:Issuer is not');
  }
});

const pushCredentialsDiffer = rule(
  ['Service:Ssf:BearerToken', 'Service:Ssf:PreviousBearerToken'],
  (settings, findings) => {
    const previous = settings['Service:Ssf:PreviousBearerToken'];
    if (previous !== undefined && previous.reveal() === settings['Service:Ssf:BearerToken']?.reveal()) {
      findings.wrong(
        'Service:Ssf:PreviousBearerToken',
        'is the same as Service:Ssf:BearerToken',
        'the credential that was in use before, or leaving it unset',
      );
    }
  },
);

const everyKeyHasOneSource = rule([], (_settings, findings) => {
  for (const number of findings.numbers('Service:Signing:Keys')) {
    const file = findings.given(`Service:Signing:Keys:${number}:Path`);
    const text = findings.given(`Service:Signing:Keys:${number}:Pem`);
    if (file === text) {
      findings.wrong(
        `Service:Signing:Keys:${number}:Path`,
        file
          ? `is set beside Service:Signing:Keys:${number}:Pem`
          : `is not set, nor is Service:Signing:Keys:${number}:Pem`,
        'exactly one of the two',
      );
    }
  }
});

const somethingSigns = rule(['NODE_ENV'], (settings, findings) => {
  if (findings.numbers('Service:Signing:Keys').length === 0 && !isDevelopmentHost(settings)) {
    findings.wrong(
      'Service:Signing:Keys:0:Path',
      'is not set, and neither is any other signing key',
      'a key by Path or by Pem; only a development host (NODE_ENV is development) makes one up',
    );
  }
});

const oneOfSeveralKeysSigns = rule([], (_settings, findings) => {
  if (findings.numbers('Service:Signing:Keys').length > 1) {
    findings.expect('Service:Signing:ActiveKid', 'while there is more than one signing key');
  }
});

const kidsNameOneKeyEach = rule(['Service:Signing:Keys'], (settings, findings) => {
  const kids = settings['Service:Signing:Keys'].map((key) => key.Kid);
  for (const [at, key] of settings['Service:Signing:Keys'].entries()) {
    if (key.Kid !== undefined && kids.indexOf(key.Kid) < at) {
      findings.wrong(`Service:Signing:Keys:${key.index}:Kid`, 'names another signing key as well', 'a name of its own');
    }
  }
});

const activeKidNamesAKey = rule(['Service:Signing:Keys', 'Service:Signing:ActiveKid'], (settings, findings) => {
  const kids = settings['Service:Signing:Keys'].map((key) => key.Kid);
  // The name of a key without a Kid is its thumbprint, which is known only after loading.
  const error = kids.some((kid) => kid === undefined) ? undefined : unusableActiveKid(settings, kids);
  if (error) findings.wrong('Service:Signing:ActiveKid', error.problem, error.accepted);
});

const tokensEndWithTheirTask = rule(
  ['Service:Tokens:DefaultTokenTtl', 'Service:Tokens:DefaultTaskTtl'],
  (settings, findings) => {
    atMost(settings, findings, 'Service:Tokens:DefaultTokenTtl', 'Service:Tokens:DefaultTaskTtl');
  },
);

const taskBoundsAreInOrder = rule(['Service:Agents:MinTaskTtl', 'Service:Agents:MaxTaskTtl'], (settings, findings) => {
  atMost(settings, findings, 'Service:Agents:MinTaskTtl', 'Service:Agents:MaxTaskTtl');
});

const tokenBoundsAreInOrder = rule(
  ['Service:Agents:MinTokenTtl', 'Service:Agents:MaxTokenTtl'],
  (settings, findings) => {
    atMost(settings, findings, 'Service:Agents:MinTokenTtl', 'Service:Agents:MaxTokenTtl');
  },
);

const shortestTokenFitsShortestTask = rule(
  ['Service:Agents:MinTokenTtl', 'Service:Agents:MinTaskTtl'],
  (settings, findings) => {
    atMost(settings, findings, 'Service:Agents:MinTokenTtl', 'Service:Agents:MinTaskTtl');
  },
);

const defaultTaskIsWithinBounds = rule(
  ['Service:Tokens:DefaultTaskTtl', 'Service:Agents:MinTaskTtl', 'Service:Agents:MaxTaskTtl'],
  (settings, findings) => {
    atMost(settings, findings, 'Service:Tokens:DefaultTaskTtl', 'Service:Agents:MaxTaskTtl');
    atLeast(settings, findings, 'Service:Tokens:DefaultTaskTtl', 'Service:Agents:MinTaskTtl');
  },
);

const defaultTokenIsWithinBounds = rule(
  ['Service:Tokens:DefaultTokenTtl', 'Service:Agents:MinTokenTtl', 'Service:Agents:MaxTokenTtl'],
  (settings, findings) => {
    atMost(settings, findings, 'Service:Tokens:DefaultTokenTtl', 'Service:Agents:MaxTokenTtl');
    atLeast(settings, findings, 'Service:Tokens:DefaultTokenTtl', 'Service:Agents:MinTokenTtl');
  },
);

const metricsHaveAPortOfTheirOwn = rule(['PORT', 'Service:Metrics:Port'], (settings, findings) => {
  if (settings['Service:Metrics:Port'] === settings.PORT) {
    findings.wrong('Service:Metrics:Port', 'is the same as PORT', 'another port, or leaving it unset');
  }
});

/** Otherwise the bucket would lose a part of each second's refill, and the rate would never be reached. */
const burstsHoldASecond = [
  burstHoldsASecond('Service:RateLimit'),
  burstHoldsASecond('Service:RateLimit:Introspection'),
  burstHoldsASecond('Service:RateLimit:Signals'),
];

export const rules: readonly Rule[] = [
  issuerPathIsNotOurs,
  oneUpstreamSource,
  sponsorCheckFitsItsMode,
  cachedAnswersEndWithTokens,
  refusedLogoutsAreReceived,
  databaseFitsItsProvider,
  sinkTokenTravelsEncrypted,
  provisioningHasACredential,
  provisioningCredentialsDiffer,
  transmitterIsWhole,
  pushCredentialsDiffer,
  everyKeyHasOneSource,
  somethingSigns,
  oneOfSeveralKeysSigns,
  kidsNameOneKeyEach,
  activeKidNamesAKey,
  tokensEndWithTheirTask,
  taskBoundsAreInOrder,
  tokenBoundsAreInOrder,
  shortestTokenFitsShortestTask,
  defaultTaskIsWithinBounds,
  defaultTokenIsWithinBounds,
  metricsHaveAPortOfTheirOwn,
  ...burstsHoldASecond,
];

type DurationKey =
  | 'Service:UpstreamIdp:SponsorCheck:CacheTtl'
  | `Service:Tokens:${'DefaultTaskTtl' | 'DefaultTokenTtl'}`
  | `Service:Agents:${'Min' | 'Max'}${'Task' | 'Token'}Ttl`;

function burstHoldsASecond(
  bucket: 'Service:RateLimit' | 'Service:RateLimit:Introspection' | 'Service:RateLimit:Signals',
): Rule {
  const [burst, permitsPerMinute] = [`${bucket}:Burst`, `${bucket}:PermitsPerMinute`] as const;
  return rule([burst, permitsPerMinute], (settings, findings) => {
    if (settings[burst] < permitsPerSecond({ permitsPerMinute: settings[permitsPerMinute] })) {
      const least = `at least a sixtieth of ${permitsPerMinute}, rounded up`;
      findings.wrong(burst, `is less than one second's worth of ${permitsPerMinute}`, least);
    }
  });
}

function atMost<Key extends DurationKey>(settings: Pick<Settings, Key>, findings: Findings, key: Key, bound: Key) {
  if (settings[key] > settings[bound]) findings.wrong(key, `is longer than ${bound}`, `at most ${bound}`);
}

function atLeast<Key extends DurationKey>(settings: Pick<Settings, Key>, findings: Findings, key: Key, bound: Key) {
  if (settings[key] < settings[bound]) findings.wrong(key, `is shorter than ${bound}`, `at least ${bound}`);
}
