import '../../support/full-length.ts';
import '../../docs/auditing-table.test.ts';
