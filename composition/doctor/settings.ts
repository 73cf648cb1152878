/** Reads the settings for the doctor. If some are invalid, the sections without errors can still be examined. */

import { failed, type NamedFinding, ok, warning } from '../../application/doctor/examine.ts';
import { ambiguousAudiences } from '../settings/audiences.ts';
import { describeUnknownSetting, givenSettings, type SettingSources } from '../settings/given-settings.ts';
import { readSettings, readSettingsSection } from '../settings/read-settings.ts';
import { plainHttpIssuer, repeatedSecrets } from '../settings/rules.ts';
import { isDevelopmentHost, type SectionName, type Settings, type SettingsSection } from '../settings/settings.ts';
import { describeSettingError } from '../settings/startup-error.ts';

export interface DoctorSettings {
  readonly findings: readonly NamedFinding[];
  /** All settings; `undefined` if any setting is invalid. */
  readonly whole: Settings | undefined;
  /** Returns `undefined` if a setting of the section is invalid. */
  section<Name extends SectionName>(name: Name): SettingsSection<Name> | undefined;
  readonly isDevelopment: boolean;
}

const CHECK = 'settings';

export function doctorSettings(sources: SettingSources): DoctorSettings {
  const read = readSettings(sources);
  const whole = read.kind === 'valid' ? read.settings : undefined;
  const errors = read.kind === 'valid' ? [] : read.errors;
  const findings: readonly NamedFinding[] = [
    ...errors.map((error) => ({ check: CHECK, status: 'failed' as const, sentence: describeSettingError(error) })),
    ...read.unknown.map((unknown) => ({
      check: CHECK,
      ...warning(describeUnknownSetting(unknown), 'Correct its name, or take it away.'),
    })),
    ...(whole === undefined ? [] : doubtfulSettings(whole)),
  ];
  return {
    findings: orFine(findings),
    whole,
    section(name) {
      if (whole !== undefined) return whole;
      const part = readSettingsSection(sources, name);
      return part.kind === 'valid' ? part.settings : undefined;
    },
    isDevelopment: givenSettings(sources).text('NODE_ENV') === 'development',
  };
}

/** The settings of a running service. It has reported unknown ones at its start. */
export function settingsInUse(whole: Settings): DoctorSettings {
  return {
    findings: orFine(doubtfulSettings(whole)),
    whole,
    section: () => whole,
    isDevelopment: isDevelopmentHost(whole),
  };
}

/** Valid settings that are dangerous. */
function doubtfulSettings(settings: Settings): readonly NamedFinding[] {
  const issuer =
    plainHttpIssuer(settings) === 'network'
      ? [
          failed(
            'Service:Issuer is plain http: on the network others can read tokens and grants, and replace the published keys.',
            'Put a proxy with TLS in front, and set Service:Issuer to its https address. Tool servers then need the new issuer.',
          ),
        ]
      : [];
  const secrets = repeatedSecrets(settings).map((keys) =>
    warning(
      `${keys.join(' and ')} hold one and the same secret: whoever is given one opens the other.`,
      'Give each its own value.',
    ),
  );
  const audiences = ambiguousAudiences(settings).map((key) =>
    warning(
      `${key} is the same as Service:UpstreamIdp:Audience: a token of the provider for the one can pass as a person's access token.`,
      'Register the API under another identifier than its client and its stream, if the provider can.',
    ),
  );
  return [...issuer, ...secrets, ...audiences].map((finding) => ({ check: CHECK, ...finding }));
}

function orFine(findings: readonly NamedFinding[]): readonly NamedFinding[] {
  return findings.length === 0 ? [{ check: CHECK, ...ok('Every setting is known and valid.') }] : findings;
}
