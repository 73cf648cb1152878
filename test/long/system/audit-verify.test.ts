import '../../support/full-length.ts';
import '../../system/audit-verify.test.ts';
