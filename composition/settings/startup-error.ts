/** Why the service does not start, for the person who starts it. */

/** The fault of one setting, without its value. */
export interface SettingError {
  /** The key as an operator writes it, such as `Service:Signing:Keys:0:Path`. */
  readonly key: string;
  /** Completes a sentence that begins with the key. */
  readonly problem: string;
  /** The accepted values, beginning in lower case. */
  readonly accepted: string;
}

/** The environment variable of a setting. */
export function variableOf(key: string): string {
  return key.replaceAll(':', '__');
}

/** One line, naming key and variable. */
export function describeSettingError(error: SettingError): string {
  const variable = variableOf(error.key);
  const name = variable === error.key ? error.key : `${error.key} (${variable})`;
  return `${name} ${error.problem}. Accepted: ${error.accepted.replaceAll('`', '')}.`;
}

/** The reasons why the service does not start. Each is a sentence that repeats no value. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(reasons.join('\n'));
    this.reasons = reasons;
  }
}
