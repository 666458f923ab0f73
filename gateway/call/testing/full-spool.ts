// A spool that accepts nothing, for tests of a full spool.
import { AppError } from '#client/errors/app-error.js';
import type { Spool } from '../recording/spool/spool.js';

/** Always full. */
export const fullSpool: Pick<Spool, 'append'> = {
  async append() {
    throw new AppError('overloaded', 'The spool is full.');
  },
};
