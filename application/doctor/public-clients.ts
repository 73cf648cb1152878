/** Examines whether programs without a key may start tasks (`Service:Authorize:PublicClients`). */

import { type Examination, ok, warning } from './examine.ts';

export function publicClientsExamination(areAccepted: boolean): Examination {
  return {
    check: 'public clients',
    examine: async () =>
      areAccepted
        ? warning(
            'Service:Authorize:PublicClients is true: a program can start a task under the name of a public agent without a key. The page tells the person that the program cannot prove its name.',
            'Register a key or a client document with private_key_jwt for each program that can hold a key. If no program without a key is left, set Service:Authorize:PublicClients to false.',
          )
        : ok('Only programs with a key can start a task: Service:Authorize:PublicClients is false.'),
  };
}
