/**
 * How a test gets each example answer of the OpenAPI document: it makes the state that the answer needs, and replaces
 * values of the example request. The scenarios run in this order. A key is the operation, the status and the name of
 * the example, if there is one.
 */

import { ofDocuments, ofOperators, ofRegistrations } from './scenarios/of-operators.ts';
import { ofPeople } from './scenarios/of-people.ts';
import { ofSignals } from './scenarios/of-signals.ts';
import { ofTokens } from './scenarios/of-tokens.ts';
import type { Scenarios } from './scenarios/scenario.ts';

export const scenarios: Scenarios = {
  ...ofRegistrations,
  ...ofPeople,
  ...ofTokens,
  ...ofDocuments,
  ...ofOperators,
  ...ofSignals,
};
