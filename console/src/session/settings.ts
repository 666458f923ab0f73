// The settings of the gateway that pages need.
import { useQuery } from '@tanstack/react-query';
import type { GatewaySettings } from '../../../gateway/console/schemas/profile.js';
import { api } from '../api/client.js';

/** Returns the settings, or undefined until they have arrived. */
export function useSettings(): GatewaySettings | undefined {
  const queryFn = ({ signal }: { signal: AbortSignal }) => api.get<GatewaySettings>('/settings', { signal });
  return useQuery({ queryKey: ['settings'], queryFn, staleTime: 60_000 }).data;
}
