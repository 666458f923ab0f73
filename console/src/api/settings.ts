// The settings of the gateway that pages need.
import type { GatewaySettings } from '../../../gateway/console/schemas/profile.js';
import { api } from './client.js';

export const getSettings = (signal?: AbortSignal): Promise<GatewaySettings> => api.get('/settings', { signal });
