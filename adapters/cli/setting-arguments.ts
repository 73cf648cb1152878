/**
 * Extracts the settings from a command line (specification "Configuration rules": arguments override the environment).
 * Every command accepts every setting, so settings are not options of a command.
 */

export interface SettingArgument {
  /** The key, for example `Service:Issuer`, as written. */
  readonly key: string;
  /** The value. Empty for `--Service:Issuer=`. */
  readonly value: string;
}

type SplitArguments =
  | { readonly kind: 'split'; readonly settings: readonly SettingArgument[]; readonly others: readonly string[] }
  | { readonly kind: 'value_missing'; readonly key: string };

/**
 * Matches any case below `Service:`, so that the settings reader can suggest the right name. The other names must be in
 * upper case, as in the environment.
 */
const SETTING = /^--([Ss][Ee][Rr][Vv][Ii][Cc][Ee]:[^=]*|HOST|PORT|NODE_ENV)(=[\s\S]*)?$/;
/** If an option follows a setting's name, the value is missing. A PEM text begins with five dashes, but is a value. */
const OPTION = /^--?[a-z]/i;

/** Accepts `--Service:Key=value` and `--Service:Key value`. After `--` nothing is a setting. */
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
