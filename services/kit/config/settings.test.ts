import { describe, expect, it } from '@jest/globals';
import { checkTogether, ConfigError, duration, integer, nearMatch, parseGroups, parseSettings, text } from './settings.js';

const settings = {
  port: integer('PORT', 'where to listen', { min: 0, max: 65_535, default: 8080 }),
  dataDir: text('TOLLGATE_DATA_DIR', 'where data is kept', { default: './data' }),
  holdTtlMs: duration('TOLLGATE_HOLD_TTL', 'life of a hold', { minMs: 1000, maxMs: 3_600_000, default: 120_000 }),
};

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    parseSettings(settings, env, ['TOLLGATE_']);
    return [];
  } catch (error) {
    return (error as ConfigError).faults;
  }
}

describe('settings', () => {
  it('fall back to their defaults', () => {
    expect(parseSettings(settings, {})).toEqual({ port: 8080, dataDir: './data', holdTtlMs: 120_000 });
  });

  it('are parsed', () => {
    expect(parseSettings(settings, { PORT: '0', TOLLGATE_HOLD_TTL: '5m' })).toMatchObject({ port: 0, holdTtlMs: 300_000 });
  });

  it('list every fault at once', () => {
    expect(faultsOf({ PORT: 'http', TOLLGATE_HOLD_TTL: '5 minutes' })).toEqual([
      'PORT must be a whole number from 0 to 65535 (it is "http")',
      'TOLLGATE_HOLD_TTL must be a duration such as "30s", from 1s to 1h (it is "5 minutes")',
    ]);
  });

  it('name the nearest known setting for an unknown one', () => {
    expect(faultsOf({ TOLLGATE_DATADIR: 'x' })[0]).toContain('did you mean TOLLGATE_DATA_DIR?');
  });

  it('of other processes are ignored, unless the name is a likely typo', () => {
    const parse = (name: string) => () => parseSettings(settings, { [name]: '1' }, ['TOLLGATE_LEDGER_']);
    expect(parse('TOLLGATE_AUTH_LISTEN')).not.toThrow();
    expect(parse('TOLLGATE_DATA_DRI')).toThrow('did you mean TOLLGATE_DATA_DIR?');
    expect(parse('TOLLGATE_LEDGER_ANYTHING')).toThrow('is not a known setting');
  });

  it('that depend on each other are checked when each is valid, and reported with all others', () => {
    const [portName, ttlName] = ['PORT', 'TOLLGATE_HOLD_TTL'];
    const check = checkTogether({ port: settings.port, holdTtlMs: settings.holdTtlMs }, ({ port, holdTtlMs }) => {
      if (port > holdTtlMs) throw new ConfigError([`${portName} must not be above ${ttlName}`]);
    });
    const groups = { one: settings, two: { count: integer('TOLLGATE_COUNT', 'a number', { min: 0, max: 9, default: 0 }) } };
    const parse = (env: Record<string, string>) => () => parseGroups(groups, env, ['TOLLGATE_'], [check]);
    expect(parse({ PORT: '1000', TOLLGATE_HOLD_TTL: '1s' })).not.toThrow();
    expect(parse({ PORT: '1001', TOLLGATE_HOLD_TTL: '1s', TOLLGATE_COUNT: 'x' })).toThrow(
      /TOLLGATE_COUNT must be[^]*PORT must not be above/,
    );
    expect(parse({ PORT: '1001', TOLLGATE_HOLD_TTL: 'x' })).toThrow('has a fault:');
  });

  it('are reported once when several parts of a process have them', () => {
    const groups = { one: settings, two: { port: settings.port } };
    expect(() => parseGroups(groups, { PORT: 'http' })).toThrow('has a fault:');
  });

  it('do not include the variable that clients read their key from', () => {
    expect(faultsOf({ TOLLGATE_API_KEY: 'sk-tg-1' })).toEqual([]);
  });

  it('of the distributed mode are not called unknown', () => {
    expect(faultsOf({ TOLLGATE_AUTH_LISTEN: 'x' })).toEqual(['TOLLGATE_AUTH_LISTEN is read only in distributed mode, by the auth process']);
  });

  it('are suggested only if they are similar to the unknown name', () => {
    expect(faultsOf({ TOLLGATE_FOO: 'x' })).toEqual(['TOLLGATE_FOO is not a known setting']);
    expect(faultsOf({ TOLLGATE_HOLDTTL: 'x' })).toEqual(['TOLLGATE_HOLDTTL is not a known setting; did you mean TOLLGATE_HOLD_TTL?']);
    expect(nearMatch('gift', ['cash', 'promotion'])).toBeUndefined();
    expect(nearMatch('year', ['month', 'week', 'day'])).toBeUndefined();
    expect(nearMatch('alias', ['id', 'aliases'])).toBe('aliases');
    expect(nearMatch('abcdefghi', ['abcdef'], 2)).toBeUndefined();
  });

  it('of several parts are all known, and their faults are listed together', () => {
    const groups = { one: settings, two: { name: text('TOLLGATE_NAME', 'a name') } };
    expect(parseGroups(groups, { TOLLGATE_NAME: 'x', PORT: '1' }, ['TOLLGATE_'])).toMatchObject({ one: { port: 1 }, two: { name: 'x' } });
    expect(() => parseGroups(groups, { PORT: 'http' }, ['TOLLGATE_'])).toThrow(/PORT must be[^]*TOLLGATE_NAME is required/);
  });
});
