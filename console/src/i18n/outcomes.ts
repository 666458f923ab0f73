// How calls ended, in a few words.
import { dictionary } from './text.js';

export const outcomesText = dictionary(
  {
    outcome_completed: 'Completed',
    outcome_max_tokens: 'Output cap reached',
    outcome_client_disconnected: 'Client disconnected',
    outcome_rejected: 'Rejected',
    outcome_upstream_error_before_output: 'Upstream failed',
    outcome_upstream_error_after_output: 'Upstream failed midway',
    outcome_timeout: 'Timed out',
    outcome_gateway_error: 'Gateway error',
    outcome_gateway_lost: 'Gateway lost',
  },
  {
    outcome_completed: '已完成',
    outcome_max_tokens: '达到输出上限',
    outcome_client_disconnected: '客户端断开',
    outcome_rejected: '已拒绝',
    outcome_upstream_error_before_output: '上游失败',
    outcome_upstream_error_after_output: '上游中途失败',
    outcome_timeout: '超时',
    outcome_gateway_error: '网关错误',
    outcome_gateway_lost: '网关失联',
  },
);
