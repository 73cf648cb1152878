import '../../support/full-length.ts';
import '../../contract/exclusion.test.ts';
