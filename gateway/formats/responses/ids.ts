// The ids of a responses answer and of its items. Pure.

/** Returns the answer's id: this format's prefix and the digits of the request id. */
export function responseId(requestId: string): string {
  return `resp_${digitsOf(requestId)}`;
}

/** Returns our id of an item, for upstreams of other formats. */
export function itemId(prefix: string, requestId: string, index: number): string {
  return `${prefix}_${digitsOf(requestId)}_${index}`;
}

function digitsOf(requestId: string): string {
  return requestId.replace(/^req_/, '');
}
