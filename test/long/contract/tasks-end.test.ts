import '../../support/full-length.ts';
import '../../contract/tasks-end.test.ts';
