import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Capability, Modality, Model, ModelState } from '#proto/catalog/v1/catalog.js';
import {
  ApiFormat,
  CapabilityProbe,
  EjectionCause,
  TargetHealth,
  TargetState,
  TestResult,
  Upstream,
  UpstreamTest,
} from '#proto/inference/v1/inference.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('upstreams', () => {
  it('take the secret of an upstream from standard input, the environment or a prompt, never from an argument', async () => {
    const add = ['upstream', 'add', 'acme', '--format', 'chat-completions', '--base-url', 'https://api.example/v1'];
    expect(await tollgate(gateway, [...add, '--secret-stdin'], { stdin: 'from-stdin\n' })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('tollgate model import --from-upstream acme --input <usd> --output <usd>\n'),
    });
    expect(gateway.state.secrets.get('acme')).toBe('from-stdin');
    expect(await tollgate(gateway, [...add, '--secret-stdin'], { stdin: 'x' })).toMatchObject({
      code: 1,
      stderr: 'error: The upstream "acme" already exists.\nChoose another id, or change it with --replace.\n',
    });
    expect(gateway.state.secrets.get('acme')).toBe('from-stdin');
    await tollgate(gateway, [...add, '--replace', '--secret-env', 'ACME'], { env: { ...gateway.env, ACME: 'from-env' } });
    expect(gateway.state.secrets.get('acme')).toBe('from-env');
    const typed = await tollgate(gateway, [...add, '--replace'], { typed: 'from-typing' });
    expect(gateway.state.secrets.get('acme')).toBe('from-typing');
    expect(typed.stdout + typed.stderr).not.toContain('from-typing');
    expect(await tollgate(gateway, [...add, '--replace'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--secret-stdin') });
    await tollgate(gateway, ['upstream', 'disable', 'acme']);
    expect(gateway.state.upstreams[0]).toMatchObject({ enabled: false, baseUrl: 'https://api.example/v1' });
    expect(gateway.state.secrets.get('acme')).toBe('from-typing');
  });

  it('can be added only with a format that the service accepts, with a hyphen or an underscore', async () => {
    const add = (format: string) =>
      tollgate(gateway, [
        'upstream',
        'add',
        'acme',
        '--format',
        format,
        '--base-url',
        'https://api.example/v1',
        '--no-secret',
        '--replace',
      ]);
    expect((await add('chat-completions')).code).toBe(0);
    expect((await add('chat_completions')).code).toBe(0);
    expect(gateway.state.upstreams[0]!.apiFormat).toBe(ApiFormat.API_FORMAT_CHAT_COMPLETIONS);
    expect(await add('sandbox')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('It must be one of chat-completions, messages, responses.'),
    });
  });

  it('show that a secret is set, even if it is too short to show a part of it', async () => {
    gateway.state.upstreams.push(
      Upstream.fromPartial({ id: 'open' }),
      Upstream.fromPartial({ id: 'short', hasSecret: true }),
      Upstream.fromPartial({ id: 'long', hasSecret: true, secretLastFour: 'wxyz' }),
    );
    const { stdout } = await tollgate(gateway, ['upstream', 'list']);
    const shown = (id: string): string => stdout.split('\n').find((line) => line.startsWith(id))!;
    expect(shown('open')).toMatch(/\bnone\b/);
    expect(shown('short')).toMatch(/\bset\b/);
    expect(shown('long')).toContain('…wxyz');
  });

  it('can be drained, ejected and returned only for a model that is routed to them or, to be returned, out of service', async () => {
    gateway.state.models.push(
      Model.fromPartial({ id: 't/a', targets: [{ upstreamId: 'acme', upstreamModel: 'model-a' }] }),
      Model.fromPartial({ id: 't/old', state: ModelState.MODEL_STATE_RETIRED, targets: [{ upstreamId: 'acme', upstreamModel: 'old' }] }),
    );
    const run = (...words: string[]) => tollgate(gateway, ['upstream', ...words]);
    expect(await run('drain', 'acme', 't/a')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error: No model is routed to "acme" as "t/a".\nDid you mean "model-a"? The names of models at "acme" are: model-a.\n',
    });
    expect((await run('eject', 'acme', 'old', '--for', '1m')).stderr).toBe(
      'error: No model is routed to "acme" as "old".\nThe names of models at "acme" are: model-a.\n',
    );
    expect((await run('drain', 'other', 'model-a')).stderr).toContain('No model is routed to "other"; ');
    expect(await run('drain', 'acme', 'model-a')).toMatchObject({ code: 0, stdout: expect.stringContaining('drain') });
    expect((await run('return', 'acme', 't/a')).stderr).toContain('Did you mean "model-a"?');
    expect(await run('return', 'acme', 'model-a')).toMatchObject({ code: 0, stdout: expect.stringContaining('return') });
    expect(await run('return', 'acme', 'old')).toMatchObject({ code: 1 });
    gateway.state.targetHealth.push(TargetHealth.fromPartial({ upstreamId: 'acme', upstreamModel: 'old' }));
    expect(await run('return', 'acme', 'old')).toMatchObject({ code: 0 });
    gateway.state.targetHealth.length = 0;
  });

  it('show a target whose ejection has ended as due for its trial', async () => {
    const ejected = (upstreamModel: string, untilMs: number): TargetHealth =>
      TargetHealth.fromPartial({
        upstreamId: 'acme',
        upstreamModel,
        state: TargetState.TARGET_STATE_EJECTED,
        cause: EjectionCause.EJECTION_CAUSE_CREDENTIAL_REJECTED,
        untilMs: BigInt(untilMs),
      });
    gateway.state.targetHealth.push(ejected('past', testNowMs), ejected('present', testNowMs + 1000));
    const { stdout } = await tollgate(gateway, ['upstream', 'health']);
    const [, past, present] = stdout.split('\n').map((line) => line.trim().split(/ {2,}/).slice(0, 5));
    expect(past).toEqual(['acme', 'past', 'trial due', 'credential rejected', 'next call']);
    expect(present).toEqual(['acme', 'present', 'ejected', 'credential rejected', '2027-01-15 08:00:01Z']);
  });

  it('cannot be enabled or disabled when they are set by configuration', async () => {
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'sandbox', managed: true, enabled: true }));
    expect(await tollgate(gateway, ['upstream', 'disable', 'sandbox'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('set by configuration'),
    });
    expect(gateway.state.upstreams[0]?.enabled).toBe(true);
  });

  it('have credentials that are added, rotated and removed by name, and whose secrets are not shown', async () => {
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'acme', hasSecret: true, credentials: [{ id: 'default', lastFour: 'wxyz' }] }));
    const run = (...words: string[]) => tollgate(gateway, ['upstream', 'credential', ...words], { stdin: 'sk-of-the-second\n' });
    const added = await run('add', 'acme', 'second', '--secret-stdin');
    expect(added.stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['credential', 'secret', 'set'],
      ['default', '…wxyz', 'by configuration'],
      ['second', '…cond', '2027-01-15 08:00:00Z'],
      [''],
    ]);
    expect(gateway.state.secrets.get('acme second')).toBe('sk-of-the-second');
    expect(await run('add', 'acme', 'second', '--secret-stdin')).toMatchObject({
      code: 1,
      stderr: 'error: The upstream "acme" already has a credential "second".\nChoose another name, or use `rotate`.\n',
    });
    expect(await run('rotate', 'acme', 'third', '--secret-stdin')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no credential'),
    });
    expect((await run('rotate', 'acme', 'second', '--secret-stdin')).code).toBe(0);
    expect((await tollgate(gateway, ['upstream', 'list'])).stdout).toContain('2 credentials');
    const removed = await run('remove', 'acme', 'second', '--json');
    expect(JSON.parse(removed.stdout)).toEqual({ id: 'default', secret_last_four: 'wxyz', set_at: null });
    expect(added.stdout + added.stderr).not.toContain('sk-of');
  });

  it('are tested step by step, and the findings are kept', async () => {
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'acme', enabled: true }));
    expect((await tollgate(gateway, ['upstream', 'list'])).stdout).toContain('never');
    const steps = [
      { name: 'address', result: TestResult.TEST_RESULT_OK, durationMs: 1, detail: 'https://api.example/v1' },
      { name: 'dns', result: TestResult.TEST_RESULT_FAILED, durationMs: 12, detail: 'there is no such name' },
      { name: 'connect', result: TestResult.TEST_RESULT_NOT_RUN, durationMs: 0, detail: '' },
    ];
    gateway.state.upstreamTest = UpstreamTest.fromPartial({ startedAtMs: 1_800_000_000_000n, ok: false, failedStep: 'dns', steps });
    const failed = await tollgate(gateway, ['upstream', 'test', 'acme', '--model', 'one']);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('"dns"') });
    expect(failed.stdout.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
      'step | result | ms | finding',
      'address | ok | 1 | https://api.example/v1',
      'dns | failed | 12 | there is no such name',
      'connect | not run',
      '',
    ]);
    expect(gateway.state.upstreams[0]?.lastTest?.upstreamModel).toBe('one');
    expect((await tollgate(gateway, ['upstream', 'list'])).stdout).toContain('failed: dns, 2027-01-15 08:00:00Z');
    expect((await tollgate(gateway, ['upstream', 'show', 'acme'])).stdout).toMatch(/dns +failed +12 +there is no such name/);
    const [shown] = (await tollgate(gateway, ['upstream', 'show', 'acme', '--json'])).stdout.trim().split('\n');
    expect(JSON.parse(shown!)).toMatchObject({
      id: 'acme',
      last_test: {
        ok: false,
        failed_step: 'dns',
        steps: [{ ok: true }, { ok: false, outcome: 'failed', duration_ms: 12 }, { ok: null, outcome: 'not_run' }],
      },
    });

    gateway.state.upstreamTest = UpstreamTest.fromPartial({ startedAtMs: 1_800_000_000_000n, ok: true, steps: steps.slice(0, 1) });
    const passed = await tollgate(gateway, ['upstream', 'test', 'acme', '--json']);
    expect(passed.code).toBe(0);
    expect(JSON.parse(passed.stdout)).toMatchObject({
      upstream: 'acme',
      ok: true,
      failed_step: null,
      upstream_model: null,
      steps: [{ name: 'address', ok: true }],
    });
    expect(await tollgate(gateway, ['upstream', 'test', 'nobody'])).toMatchObject({ code: 1, stderr: expect.stringContaining('no') });
    expect(await tollgate(gateway, ['upstream', 'show', 'nobody'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no upstream'),
    });
  });

  it('are tested for the capabilities that the catalog lists for the model', async () => {
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'acme', apiFormat: ApiFormat.API_FORMAT_CHAT_COMPLETIONS }));
    gateway.state.upstreamTest = UpstreamTest.fromPartial({ ok: true });
    const entry = { targets: [{ upstreamId: 'acme', upstreamModel: 'one' }], state: ModelState.MODEL_STATE_ACTIVE };
    const probesOf = async (model: string): Promise<string[]> => {
      await tollgate(gateway, ['upstream', 'test', 'acme', '--model', model]);
      return gateway.state.probes.map((probe) => CapabilityProbe[probe].replace('CAPABILITY_PROBE_', ''));
    };
    expect(await probesOf('one')).toEqual([]);
    gateway.state.models.push(Model.fromPartial({ ...entry, id: 'acme/one', capabilities: [Capability.CAPABILITY_TOOLS] }));
    expect(await probesOf('one')).toEqual(['TOOLS', 'ANSWERS']);
    gateway.state.models.push(
      Model.fromPartial({
        ...entry,
        id: 'acme/more',
        capabilities: [Capability.CAPABILITY_STRUCTURED_OUTPUT],
        inputModalities: [Modality.MODALITY_IMAGE],
      }),
    );
    expect(await probesOf('one')).toEqual(['TOOLS', 'STRUCTURED_OUTPUT', 'IMAGES', 'ANSWERS']);
    expect(await probesOf('two')).toEqual([]);
  });
});
