import '../../../support/full-length.ts';
import '../../../application/ledger/tampering.test.ts';
