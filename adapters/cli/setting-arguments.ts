/**
 * Takes the settings out of a command line (specification "Configuration rules": command-line arguments override the
 * environment). Every command accepts every setting, so they are not options of any; which of them exist is for the
 * catalogue to say.
 */

export interface SettingArgument {
  /** `Service:Issuer`, as it was written. */
  readonly key: string;
  /** Empty where `--Service:Issuer=` was written. */
  readonly value: string;
}

export type SplitArguments =
  | { readonly kind: 'split'; readonly settings: readonly SettingArgument[]; readonly others: readonly string[] }
  | { readonly kind: 'value_missing'; readonly key: string };

/** Below `Service:` whatever the case, so that the reader can tell what was meant; the others as the environment has them. */
const SETTING = /^--([Ss][Ee][Rr][Vv][Ii][Cc][Ee]:[^=]*|HOST|PORT|NODE_ENV)(=[\s\S]*)?$/;
/** A following option means that the value was forgotten. A PEM text begins with five dashes, and is a value. */
const OPTION = /^--?[a-z]/i;

/** Both `--Service:Key=value` and `--Service:Key value`; after `--` nothing is a setting. */
export function splitSettingArguments(argv: readonly string[]): SplitArguments {
  const settings: SettingArgument[] = [];
  const others: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] ?? '';
    if (argument === '--') {
      others.push(...argv.slice(at));
      break;
    }
    const [matched, key = '', assigned] = SETTING.exec(argument) ?? [];
    if (matched === undefined) {
      others.push(argument);
      continue;
    }
    const value = assigned === undefined ? argv[at + 1] : assigned.slice(1);
    if (value === undefined || (assigned === undefined && OPTION.test(value))) return { kind: 'value_missing', key };
    if (assigned === undefined) at += 1;
    settings.push({ key, value });
  }
  return { kind: 'split', settings, others };
}
