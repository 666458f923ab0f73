import { describe, expect, it } from '@jest/globals';
import { parseGroups } from '#kit/config/settings.js';
import { gatewayCheck, gatewaySettings } from './config.js';

const parse = (env: Record<string, string>) => parseGroups({ gateway: gatewaySettings }, env, [], [gatewayCheck]);

describe('the settings of the gateway', () => {
  it('admit the largest body when no other is being read', () => {
    const env = { TOLLGATE_GATEWAY_BODY_BYTES_MAX: '4194304' };
    for (const name of ['TOLLGATE_GATEWAY_BODIES_BYTES_MAX', 'TOLLGATE_GATEWAY_BODIES_BYTES_PER_ACCOUNT_MAX']) {
      expect(() => parse({ ...env, [name]: '4194303' })).toThrow(
        `has a fault:\n  - ${name} must be at least TOLLGATE_GATEWAY_BODY_BYTES_MAX (4194304)`,
      );
      expect(() => parse({ ...env, [name]: '4194304' })).not.toThrow();
    }
  });

  it('require that holds outlive their calls', () => {
    const env = { TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '10s', TOLLGATE_GATEWAY_HOLD_TTL: '10s' };
    expect(() => parse(env)).toThrow('TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL must be shorter than TOLLGATE_GATEWAY_HOLD_TTL');
  });

  it('have no negative amount above which operators confirm', () => {
    expect(() => parse({ TOLLGATE_GATEWAY_CONFIRM_ABOVE_USD: '-1' })).toThrow('must be an amount in USD such as 100');
    expect(parse({ TOLLGATE_GATEWAY_CONFIRM_ABOVE_USD: '0' }).gateway.confirmAboveNanoUsd).toBe(0n);
  });
});
