import '../../../../../support/full-length.ts';
import '../../../../../adapters/sdk/tool-server/core/status-lists.test.ts';
