/**
 * Parses the arguments of a command. The message of a thrown error is shown, and the command exits with the code for a
 * wrong command line. A message must not have a colon: text after a colon is taken for user input and not shown.
 */

/** Refuses a repeated option, which yargs would turn into a list. */
export function once<Value>(name: string, read: (text: string) => Value): (given: unknown) => Value | undefined {
  return (given) => {
    if (given === undefined) return undefined;
    if (typeof given !== 'string') throw new Error(`${name} can be given once only.`);
    if (given === '') throw new Error(`${name} needs a value.`);
    return read(given);
  };
}
