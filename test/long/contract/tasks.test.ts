import '../../support/full-length.ts';
import '../../contract/tasks.test.ts';
