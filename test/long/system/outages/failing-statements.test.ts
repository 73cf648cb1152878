import '../../../support/full-length.ts';
import '../../../system/outages/failing-statements.test.ts';
