// Each variable of the OpenTelemetry specification takes effect or is refused by name.
import { describe, expect, it } from '@jest/globals';
import { parseGroups } from '../settings.js';
import { otelLibrarySettings } from './library-settings.js';
import { checkOtel, otelSettings, otlpTargetOf } from './settings.js';
import { unusedOtelNames } from './unused-names.js';

function parse(env: Record<string, string>) {
  const { otel } = parseGroups({ otel: otelSettings, libraries: otelLibrarySettings }, env);
  checkOtel(otel);
  return otel;
}

function faultOf(env: Record<string, string>): string {
  try {
    parse(env);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the variables of OpenTelemetry', () => {
  it('that are not supported are refused by name, with what to do instead', () => {
    for (const [name, value, advice] of [
      ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be one of http/protobuf, http/json'],
      ['OTEL_PROPAGATORS', 'tracecontext,b3', 'must be none or a list of tracecontext, baggage'],
      ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'must be one of always_on'],
      ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
      ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be one of otlp, none'],
      ['OTEL_LOG_LEVEL', 'debug', 'TOLLGATE_LOG_LEVEL'],
      ['OTEL_EXPORTER_OTLP_INSECURE', 'true', 'http:// or https://'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4317', 'must be an address'],
      ['OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE', '/no/such/file.pem', 'must be the path of a file'],
      ['OTEL_BSP_SCHEDULE_DELAY', '5s', 'must be a whole number'],
      ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', '0', 'must be a whole number from 1'],
      ['OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name', 'must be pairs'],
      ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz', 'must be pairs'],
      ['OTEL_EXPERIMENTAL_CONFIG_FILE', 'otel.yaml', 'set the variables themselves'],
      ['OTEL_EXPORTER_OLTP_ENDPOINT', 'http://localhost', 'did you mean OTEL_EXPORTER_OTLP_ENDPOINT?'],
    ] as const) {
      const fault = faultOf({ [name]: value });
      expect(fault).toContain(`${name} `);
      expect(fault).toContain(advice);
    }
  });

  it('never show secrets in an error', () => {
    const fault = faultOf({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization: Bearer hunter2' });
    expect(fault).toContain('OTEL_EXPORTER_OTLP_HEADERS must be pairs');
    expect(fault).not.toContain('hunter2');
  });

  it('that contradict each other are refused', () => {
    expect(() => parse({ OTEL_TRACES_SAMPLER_ARG: '0.1' })).toThrow('OTEL_TRACES_SAMPLER=parentbased_always_on');
    expect(() => parse({ OTEL_BSP_MAX_QUEUE_SIZE: '511' })).toThrow('OTEL_BSP_MAX_EXPORT_BATCH_SIZE must not exceed');
    expect(parse({ OTEL_BSP_MAX_QUEUE_SIZE: '512' })).toMatchObject({ otelSpanQueueMax: 512 });
    expect(() => parse({ OTEL_BLRP_MAX_QUEUE_SIZE: '10' })).toThrow('OTEL_BLRP_MAX_EXPORT_BATCH_SIZE');
    expect(parse({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' })).toMatchObject({ otelSamplerArg: 0.01 });
  });

  it('of each signal win over those of all', () => {
    const config = parse({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/base/',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://jaeger:4318/v1/traces',
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'none',
    });
    expect(otlpTargetOf('traces', config)).toEqual({ url: 'http://jaeger:4318/v1/traces', protocol: 'http/protobuf' });
    expect(otlpTargetOf('logs', config)).toEqual({ url: 'https://collector/base/v1/logs', protocol: 'http/json' });
    expect(otlpTargetOf('metrics', config)).toBeUndefined();
    expect(otlpTargetOf('traces', { ...config, otelDisabled: true })).toBeUndefined();
  });

  it('of other languages are named, because they have no effect', () => {
    const env = { OTEL_PYTHON_LOG_CORRELATION: 'true', OTEL_SERVICE_NAME: 'x', OTEL_UNSET: '', PATH: '/bin' };
    expect(unusedOtelNames(env)).toEqual(['OTEL_PYTHON_LOG_CORRELATION']);
    expect(() => parse(env)).not.toThrow();
  });

  it('of resources may have percent-encoded values', () => {
    expect(parse({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production, team=a%2Cb' }).otelResourceAttributes).toEqual({
      'deployment.environment.name': 'production',
      team: 'a,b',
    });
  });
});
