import '../../support/full-length.ts';
import '../../system/audit-archive.test.ts';
