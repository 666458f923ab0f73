// The settings of auth.
import { duration, type Settings, type Values } from '#kit/config/settings.js';

/** Every setting, each with a default that serves. */
export const authSettings = {
  // Half a second at most, since a change must act everywhere within one second.
  heartbeatIntervalMs: duration('TOLLGATE_AUTH_HEARTBEAT_INTERVAL', 'the longest silence between two messages to those who watch keys', {
    minMs: 10,
    maxMs: 500,
    default: 250,
  }),
} satisfies Settings;

/** The parsed settings. */
export type AuthConfig = Values<typeof authSettings>;
