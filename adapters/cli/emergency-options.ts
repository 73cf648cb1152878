/** The options of the commands that send an emergency's change to a running service. */

import type { Argv } from 'yargs';
import { parseAgentId, parseSponsorKey, parseTaskId } from '../../domain/identifiers.ts';
import { parseReason, REASON_SENTENCE } from '../../domain/operators/reason.ts';
import { withoutKeyOption } from './admin-key.ts';
import { flag, readAs, SERVER, textValue, value } from './argument.ts';

export interface Emergency {
  /** The address of the service, without a trailing slash. */
  readonly server: string;
  readonly reason: string | undefined;
  readonly keyFile: string | undefined;
  readonly yes: boolean;
}

interface EmergencyOptions {
  readonly server: string | undefined;
  readonly reason: string | undefined;
  readonly 'key-file': string | undefined;
  readonly yes: boolean;
}

/** The options of all of them. */
export function emergencyOptions<Options>(parser: Argv<Options>): Argv<Options & EmergencyOptions> {
  return withoutKeyOption(
    parser
      .option('server', SERVER)
      .option('reason', {
        ...value('--reason', readAs(parseReason, `--reason is not usable. ${REASON_SENTENCE}`)),
        describe: "Why, in 3 to 200 characters; needed with an operator's token, not recorded with the admin key",
      })
      .option('key-file', {
        ...textValue('--key-file'),
        describe:
          "A file with the admin key, or an operator's access token; without it MANDATE_ADMIN_KEY, MANDATE_OPERATOR_TOKEN or standard input",
      })
      .option('yes', { ...flag, describe: 'Do not ask' }),
  ) as unknown as Argv<Options & EmergencyOptions>;
}

export function emergencyOf({ server, reason, 'key-file': keyFile, yes }: EmergencyOptions): Emergency {
  return { server: server ?? '', reason, keyFile, yes };
}

export const readAgentArgument = readAs(
  parseAgentId,
  'An agent_id has 1 to 128 lowercase letters, digits, "-", "_", ".".',
);
export const readTaskArgument = readAs(parseTaskId, 'A task_id is task_ with 26 characters.');
export const readPersonArgument = readAs(
  parseSponsorKey,
  'A person is named by their sponsor key. It has 1 to 256 characters, none of them white space.',
);

/** The positional argument of the commands about one person. */
export const PERSON = {
  ...value('person', readPersonArgument),
  describe: 'The sponsor key of the person',
  demandOption: true,
} as const;
