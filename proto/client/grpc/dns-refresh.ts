// Finds added replicas: grpc-js looks up a name again only when a connection ends, so a replica that was added to a name would get no calls.
import { type ChannelOptions, experimental } from '@grpc/grpc-js';

/** The channel option with the time between two lookups, in milliseconds. */
export const dnsRefreshOption = 'tollgate.dns_refresh_ms';

const scheme = 'refreshed-dns';
const refreshMsDefault = 10_000;
/** The minimum time between two lookups, so that connections that end together share one. */
const pauseMsMin = 5000;

/** Wraps grpc-js's DNS resolver and resolves again periodically. */
class RefreshedDns implements experimental.Resolver {
  static getDefaultAuthority(target: experimental.GrpcUri): string {
    return target.path;
  }

  private readonly dns: experimental.Resolver;
  private readonly refreshMs: number;
  private timer: NodeJS.Timeout | undefined;
  /** Whether the channel waits for a result. Otherwise it gets only changed ones, because each makes it build its list of connections again. */
  private isWanted = false;
  private known = '';

  constructor(target: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.refreshMs = (options[dnsRefreshOption] as number | undefined) ?? refreshMsDefault;
    const pass: experimental.ResolverListener = (endpoints, ...rest) => {
      const found = endpoints.ok ? endpoints.value.map(experimental.endpointToString).toSorted().join(' ') : '';
      if (!this.isWanted && (found === '' || found === this.known)) return true;
      this.isWanted = false;
      this.known = found;
      return listener(endpoints, ...rest);
    };
    const pauses = { 'grpc.dns_min_time_between_resolutions_ms': Math.min(this.refreshMs, pauseMsMin) };
    this.dns = experimental.createResolver({ ...target, scheme: 'dns' }, pass, { ...options, ...pauses });
  }

  updateResolution(): void {
    this.isWanted = true;
    this.timer ??= setInterval(() => this.dns.updateResolution(), this.refreshMs).unref();
    this.dns.updateResolution();
  }

  destroy(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.dns.destroy();
  }
}

experimental.registerResolver(scheme, RefreshedDns);

/** Returns the target for an address: the address itself unless it is a name in DNS ("name:port" or "dns:///name:port"). */
export function refreshedTarget(address: string): string {
  const [, authority = '', path = ''] = /^(?:dns:(?:\/\/([^/]*)\/)?)?([^:/[\],]+:\d+)$/.exec(address) ?? [];
  return path === '' ? address : `${scheme}://${authority}/${path}`;
}
