/** What is wrong with one setting, for the person who starts the service. Never holds a value. */

export interface SettingError {
  /** The key as an operator writes it, such as `Service:Signing:Keys:0:Path`. */
  readonly key: string;
  /** Completes a sentence that begins with the key. */
  readonly problem: string;
  /** What would be accepted, beginning in lower case. */
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
