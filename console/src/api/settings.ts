// What the pages must know of how the gateway is set up.
import { api } from './client.js';

export interface GatewaySettings {
  /** An address with {trace_id} in it; null: traces are nowhere to be looked at. */
  readonly trace_url: string | null;
}

export const getSettings = (signal?: AbortSignal): Promise<GatewaySettings> => api.get('/settings', { signal });
