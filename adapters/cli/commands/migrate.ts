import { type Command, command, exitCode, type Run } from '../command.ts';

/** @param run updates the schema; it is idempotent */
export function migrateCommand(run: Run): Command {
  return command({
    usage: 'migrate',
    summary: 'Create the schema in the database, or bring it up to date',
    examples: [
      {
        line: 'migrate --Service:Database:Provider=sqlite --Service:Database:Path=mandate.db',
        meaning: 'Prepare a database file; reads only the settings Service:Database and Service:Audit:Partitions',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the schema is up to date',
      [exitCode.failed]: 'the database could not be reached or changed, or a setting is wrong',
      [exitCode.usage]: 'the command line is wrong',
    },
    options: (parser) => parser,
    run: (_options, settings) => run(settings),
  });
}
