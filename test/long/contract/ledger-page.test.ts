import '../../support/full-length.ts';
import '../../contract/ledger-page.test.ts';
