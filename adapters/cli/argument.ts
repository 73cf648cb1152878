/**
 * How a command's own arguments are read. What is thrown here is the refusal that is shown, with the exit code of a
 * wrong command line; a sentence without a colon, since what follows one is taken for something that was sent.
 */

/** Refuses an option that is given twice, which yargs would make a list of. */
export function once<Value>(name: string, read: (text: string) => Value): (given: unknown) => Value | undefined {
  return (given) => {
    if (given === undefined) return undefined;
    if (typeof given !== 'string') throw new Error(`${name} can be given once only.`);
    if (given === '') throw new Error(`${name} needs a value.`);
    return read(given);
  };
}
