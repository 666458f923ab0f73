// The wire formats that an upstream outside this process can speak.
import { ApiFormat } from '#proto/inference/v1/inference.js';

/** One of them. */
export type RemoteWireFormat = ApiFormat.API_FORMAT_CHAT_COMPLETIONS | ApiFormat.API_FORMAT_MESSAGES;

/** Whether a format is one of them. */
export function isRemoteWireFormat(format: ApiFormat): format is RemoteWireFormat {
  return format === ApiFormat.API_FORMAT_CHAT_COMPLETIONS || format === ApiFormat.API_FORMAT_MESSAGES;
}
