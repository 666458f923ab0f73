// The wire formats that an upstream outside this process can speak.
import { WireFormat } from '#proto/inference/v1/inference.js';

/** One of them. */
export type RemoteWireFormat = WireFormat.WIRE_FORMAT_CHAT_COMPLETIONS | WireFormat.WIRE_FORMAT_MESSAGES;

/** Whether a format is one of them. */
export function isRemoteWireFormat(format: WireFormat): format is RemoteWireFormat {
  return format === WireFormat.WIRE_FORMAT_CHAT_COMPLETIONS || format === WireFormat.WIRE_FORMAT_MESSAGES;
}
