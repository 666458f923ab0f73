// The setting for prompt logging, which every process that handles logged prompts and answers reads.
import { flag } from './settings.js';

/** Whether the installation lets projects log prompts and answers. */
export const promptLogging = flag(
  'TOLLGATE_PROMPT_LOGGING',
  'whether projects may log prompts and answers, which is off in each until an admin of its account turns it on; false: nothing is logged, and metering deletes existing logs',
  { default: true },
);
