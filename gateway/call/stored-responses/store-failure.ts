// Why the response of a recorded call is not stored, for its client.
import { ResponseStorage } from '#proto/metering/v1/metering.js';
import type { StoreFailure } from '../../formats/format.js';
import type { Recorded } from '../recording/recorder.js';

/** Returns undefined if the response is stored. For a replayed call, `find` looks it up. */
export async function storeFailureOf({ storage }: Recorded, find?: () => Promise<unknown>): Promise<StoreFailure | undefined> {
  switch (storage) {
    case ResponseStorage.RESPONSE_STORAGE_STORED:
      return undefined;
    case ResponseStorage.RESPONSE_STORAGE_NO_ROOM:
      return 'limit_reached';
    case ResponseStorage.RESPONSE_STORAGE_TOO_LARGE:
      return 'too_large';
    case ResponseStorage.RESPONSE_STORAGE_GONE:
      return 'expired';
    default:
  }
  if (find === undefined) return 'unavailable';
  try {
    return (await find()) === undefined ? 'expired' : undefined;
  } catch {
    // The call is paid, and its answer is complete without this.
    return 'unavailable';
  }
}
