import '../../../support/full-length.ts';
import '../../../domain/ledger/merkle-tree.test.ts';
