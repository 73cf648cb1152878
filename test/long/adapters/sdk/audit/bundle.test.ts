import '../../../../support/full-length.ts';
import '../../../../adapters/sdk/audit/bundle.test.ts';
