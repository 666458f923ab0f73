// The upstreams that are built in or configured in the environment. They are not in the database, and no RPC changes them.
import { type Upstream as UpstreamMessage, ApiFormat } from '#proto/inference/v1/inference.js';
import { lastFour } from '#kit/secrets/secret-box.js';
import type { UpstreamRow } from '../store.js';
import { defaultCredentialId } from './credentials.js';
import { createHttpUpstream } from './create-upstream.js';
import { parseBaseUrl, withVersionSegment } from './http/base-url.js';
import type { HttpUpstreamDeps, HttpUpstreamSettings } from './http/http-upstream.js';
import { Sandbox, sandboxId } from './sandbox/sandbox.js';
import type { RemoteWireFormat } from './remote-format.js';
import type { Upstream } from './upstream.js';

/** Holds an upstream and how it is shown. */
export interface KnownUpstream {
  readonly shown: UpstreamMessage;
  /** Absent if it cannot be used although it is enabled, because its secret cannot be read. */
  readonly upstream: Upstream | undefined;
  /** Present for an upstream behind HTTP, enabled or not; absent if its secret cannot be read. */
  readonly remote?: RemoteUpstream;
}

/** Holds everything that an upstream behind HTTP is created from. */
export interface RemoteUpstream {
  readonly format: RemoteWireFormat;
  readonly settings: HttpUpstreamSettings;
  /** The row that it comes from; absent for managed upstreams. */
  readonly row?: UpstreamRow;
}

/** Returns the sandbox, and a vendor for each key in the configuration. Raises invalid_request for a malformed base url. */
export function managedUpstreams(deps: HttpUpstreamDeps): KnownUpstream[] {
  const { config } = deps;
  return [
    {
      shown: shown({ id: sandboxId, format: ApiFormat.API_FORMAT_SANDBOX, wholeAnswers: config.sandboxWholeAnswers }),
      upstream: new Sandbox(config),
    },
    ...vendor(
      {
        id: 'openai',
        format: config.openaiApiFormat === 'responses' ? ApiFormat.API_FORMAT_RESPONSES : ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
        baseUrlText: config.openaiBaseUrl,
        secret: config.openaiApiKey,
        setting: 'OPENAI_API_KEY',
        wholeAnswers: config.openaiWholeAnswers,
        allowedFields: config.openaiAllowedFields ?? [],
      },
      deps,
    ),
    ...vendor(
      {
        id: 'anthropic',
        format: ApiFormat.API_FORMAT_MESSAGES,
        baseUrlText: config.anthropicBaseUrl,
        secret: config.anthropicApiKey,
        setting: 'ANTHROPIC_API_KEY',
        wholeAnswers: config.anthropicWholeAnswers,
        allowedFields: config.anthropicAllowedFields ?? [],
      },
      deps,
    ),
  ];
}

interface Vendor {
  readonly id: string;
  readonly format: RemoteWireFormat;
  readonly baseUrlText: string;
  readonly secret: string | undefined;
  /** The setting that adds the upstream. */
  readonly setting: string;
  readonly wholeAnswers: boolean;
  readonly allowedFields: readonly string[];
}

function vendor(
  { id, format, baseUrlText, secret, setting, wholeAnswers, allowedFields }: Vendor,
  deps: HttpUpstreamDeps,
): KnownUpstream[] {
  if (secret === undefined) return [];
  // The operator who sets the environment of this process may name an address inside its network.
  const baseUrl = withVersionSegment(parseBaseUrl(baseUrlText, true));
  const isVendorsOwn = /\.(openai|anthropic)\.com$/.test(new URL(baseUrl).hostname);
  const credentials = [{ id: defaultCredentialId, secret, setAtMs: 0 }];
  const settings = { id, baseUrl, credentials, allowPrivateNetwork: !isVendorsOwn, wholeAnswers, allowedFields };
  const upstream = createHttpUpstream(format, settings, deps);
  return [
    {
      shown: {
        ...shown({ id, format, baseUrl, secret, wholeAnswers, allowedFields }),
        managedBy: setting,
        allowPrivateNetwork: !isVendorsOwn,
      },
      upstream,
      remote: { format, settings },
    },
  ];
}

interface Shown extends Pick<Vendor, 'id' | 'wholeAnswers'>, Partial<Pick<Vendor, 'secret' | 'allowedFields'>> {
  readonly format: ApiFormat;
  readonly baseUrl?: string;
}

function shown({ id, format, baseUrl = '', secret = '', wholeAnswers, allowedFields = [] }: Shown): UpstreamMessage {
  const secretFields = { hasSecret: secret !== '', secretLastFour: lastFour(secret) };
  return {
    id,
    apiFormat: format,
    baseUrl,
    ...secretFields,
    credentials: secret === '' ? [] : [{ id: defaultCredentialId, lastFour: lastFour(secret), setAtMs: 0n }],
    allowPrivateNetwork: false,
    enabled: true,
    wholeAnswers,
    allowedFields: [...allowedFields],
    managed: true,
    createdAtMs: 0n,
  };
}
