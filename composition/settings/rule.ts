/** A rule between settings: what a rule is told, and how it says what is wrong. The rules are in rules.ts. */

import type { ListKey, SettingKey, Settings } from './settings.ts';

export interface Findings {
  /** Whether the operator set it, to anything. */
  given(key: SettingKey): boolean;
  /** The numbers under which anything of a list was set, in ascending order. */
  numbers(list: ListKey): readonly number[];

  /** @param problem completes a sentence that begins with the key; neither it nor `accepted` holds a value */
  wrong(key: SettingKey, problem: string, accepted: string): void;
  /** Says that the setting is required, if it was not given. @param when as in "while … is …" */
  expect(key: SettingKey, when: string): void;
  /** Says that the setting is unwanted, if it was given. */
  refuse(key: SettingKey, when: string): void;
}

export interface Rule {
  /** The settings whose values are compared: while one of them cannot be read, the rule is not asked. */
  readonly about: readonly (keyof Settings)[];
  check(settings: Settings, findings: Findings): void;
}

export function rule<Key extends keyof Settings>(
  about: readonly Key[],
  check: (settings: Pick<Settings, Key>, findings: Findings) => void,
): Rule {
  return { about, check };
}
