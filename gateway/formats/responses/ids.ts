// The ids of a responses answer and of its items. Pure.

/** Returns the answer's id: this format's prefix and the digits of the request id. */
export function responseId(requestId: string): string {
  return `resp_${digitsOf(requestId)}`;
}

/** Returns the request id that an answer's id was made from. */
export function requestIdOf(ofResponse: string): string {
  return ofResponse.replace(/^resp_/, 'req_');
}

/** Returns our id of an item, for upstreams of other formats. */
export function itemId(prefix: string, requestId: string, index: number): string {
  return `${prefix}_${digitsOf(requestId)}_${index}`;
}

/** Returns our id of an input item that has none. */
export function inputItemId(ofResponse: string, index: number): string {
  return `${ofResponse.replace(/^resp_/, 'msg_')}_in${index}`;
}

function digitsOf(requestId: string): string {
  return requestId.replace(/^req_/, '');
}
