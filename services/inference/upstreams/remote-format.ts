// The wire formats that an upstream outside this process can use.
import { ApiFormat } from '#proto/inference/v1/inference.js';

/** The wire format of an upstream outside this process. */
export type RemoteWireFormat = ApiFormat.API_FORMAT_CHAT_COMPLETIONS | ApiFormat.API_FORMAT_MESSAGES | ApiFormat.API_FORMAT_RESPONSES;

const formats: ReadonlySet<ApiFormat> = new Set<RemoteWireFormat>([
  ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  ApiFormat.API_FORMAT_MESSAGES,
  ApiFormat.API_FORMAT_RESPONSES,
]);

/** Reports whether an upstream outside this process can use the format. */
export function isRemoteWireFormat(format: ApiFormat): format is RemoteWireFormat {
  return formats.has(format);
}
