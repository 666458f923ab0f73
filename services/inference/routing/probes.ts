// Probes upstreams that have ejected targets and a probe interval. Costs nothing while all targets are in service.
import type { Clock } from '#kit/clock.js';
import { afterAbout } from '#kit/scheduling/shared-timers.js';
import type { Upstream } from '../upstreams/upstream.js';
import type { Router } from './router.js';
import type { TargetHealth } from './target-health.js';

/** Time limit of one probe. */
const probeTimeoutMs = 5000;
/** How often to look for probes that are due. */
const checkMs = 500;

/** Sends the probes of one process. */
export class Probes {
  /** When each upstream with ejected targets is probed next, on the monotonic clock. */
  readonly #dueAtMs = new Map<string, number>();
  readonly #over = new AbortController();
  #cancel: (() => void) | undefined;

  constructor(
    private readonly router: Router,
    private readonly upstream: (id: string) => Upstream | undefined,
    private readonly clock: Clock,
  ) {
    router.onChange(() => this.#plan());
  }

  /** Cancels running probes and sends no more. */
  stop(): void {
    this.#cancel?.();
    this.#over.abort();
  }

  #plan(): void {
    if (this.#cancel !== undefined || this.#over.signal.aborted) return;
    this.#cancel = afterAbout(checkMs, () => {
      this.#cancel = undefined;
      if (this.#check()) this.#plan();
    });
  }

  /** Sends the probes that are due. Returns whether any upstream has to be probed. */
  #check(): boolean {
    const ejected = new Map<string, TargetHealth[]>();
    for (const { upstreamId, credentialId, health } of this.router.all())
      if (credentialId === '' && health.isProbed && this.upstream(upstreamId)?.probeIntervalMs !== undefined)
        ejected.set(upstreamId, [...(ejected.get(upstreamId) ?? []), health]);
    for (const id of this.#dueAtMs.keys()) if (!ejected.has(id)) this.#dueAtMs.delete(id);
    const nowMs = this.clock.monotonicMs();
    for (const [id, targets] of ejected) {
      const upstream = this.upstream(id)!;
      const intervalMs = upstream.probeIntervalMs!;
      const isDue = nowMs >= (this.#dueAtMs.get(id) ?? 0);
      if (!isDue) continue;
      // With jitter, so that several processes do not probe at the same moments.
      this.#dueAtMs.set(id, nowMs + intervalMs * (0.75 + this.router.deps.random() / 2));
      void this.#probe(upstream, intervalMs, targets);
    }
    return ejected.size > 0;
  }

  async #probe(upstream: Upstream, intervalMs: number, targets: readonly TargetHealth[]): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(probeTimeoutMs)]);
    const isOk = await upstream.probe?.(signal);
    if (isOk === undefined || this.#over.signal.aborted) return;
    const nowMs = this.clock.monotonicMs();
    for (const health of targets) health.noteProbe(isOk, intervalMs, nowMs);
    this.router.deps.log.debug({ upstream: upstream.id, ok: isOk }, 'ejected upstream probed');
  }
}
