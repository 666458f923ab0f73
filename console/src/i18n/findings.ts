// What steps of an upstream's test found and what became of deliveries, in Simplified Chinese. Services word them in English by templates, by which
// they are recognised here; a text that no template fits, such as that of a vendor or a mail server, is shown as it is. Pure.
import { type Finding, findings } from '../../../proto/rules/errors/finding-sentences.js';
import { fill } from '../../../proto/rules/errors/templates.js';

type Language = 'en' | 'zh-CN';

export const chineseFindings: Readonly<Record<Finding, string>> = {
  each_credential: '{count} 个凭据均如此：{finding}',
  credential: '凭据 {name}：{finding}',
  built_in: '内置',
  no_name: 'Base URL 是 IP 地址，不是域名',
  name_missing: '域名不存在：{name}（ENOTFOUND）',
  resolver_silent: '本机的域名服务器未能解析 {name}（EAI_AGAIN）',
  resolved_more: '{name} 解析为 {addresses} 等，另有 {count} 个',
  resolved: '{name} 解析为 {addresses}',
  connected: '{address} 的端口 {port} 可以连接',
  not_encrypted: 'http：未加密',
  certificate: '{protocol}；证书属于 {subject}，由 {issuer} 签发，剩余 {days} 天',
  no_tls: '服务器未使用 TLS；地址是否应为 http://？（{code}）',
  other_certificate: '证书属于其他域名：{detail}',
  certificate_expired: '证书已过期（{code}）',
  certificate_untrusted: '证书不受信任：{detail}（{code}）；如果使用自己的证书颁发机构，请在启动网关时设置 NODE_EXTRA_CA_CERTS',
  redirect: '状态码 {status}：服务器重定向到 {location}，重定向不会被跟随；请将最终地址设为 Base URL',
  secret_missing: '需要密钥，但尚未设置：{detail}',
  secret_refused: '密钥被拒绝：{detail}',
  secret_unclear: '状态码 {status} 无法说明密钥是否有效',
  no_secret: '未设置密钥，也不需要密钥',
  secret_not_refused: '密钥未被拒绝（有些服务器只在调用时检查密钥）',
  no_list: '没有模型列表（状态码 {status}）；如果调用也失败，请检查 Base URL 是否以版本段结尾',
  page: '返回的是网页，不是模型列表；请检查 Base URL 是否以版本段结尾，例如 /v1',
  other_json: '返回的 JSON 不是模型列表；请检查 Base URL 是否以版本段结尾，例如 /v1',
  list_malformed: '模型列表不是 JSON：{detail}',
  list_long: '列表超过 {bytes} 字节，未全部读取',
  models_or_more: '至少 {count} 个模型',
  models_without: '{count} 个模型，其中没有 {model}',
  models: '{count} 个模型',
  test_timeout: '没有响应；整个测试限时 {seconds} 秒',
  called: '首个 token 用时 {ms} 毫秒；{usage}；最多 {input} 个输入 token 和 {output} 个输出 token，费用由您承担',
  vector: '返回 {count} 维向量；{usage}；最多 {input} 个输入 token，费用由您承担',
  usage_reported: '上游报告输入 {input}、输出 {output}',
  usage_missing: '上游未报告用量，调用将按 Tollgate 的计数收费',
  usage_implausible: '上游的数字违反规则（{rule}），调用将按 Tollgate 的计数收费',
  unfinished: '回答未结束',
  tool_ignored: '模型没有调用工具，而是回答：{detail}',
  tool_misfit: '模型调用 {tool} 的参数不符合要求：{detail}',
  tool_called: '调用了 {tool}，参数为 {detail}',
  schema_ignored: '回答不符合 JSON Schema：{detail}',
  schema_followed: '回答符合 JSON Schema：{detail}',
  image_unseen: '模型没有看出图片是红色的，而是回答：{detail}',
  image_seen: '模型看出图片是红色的',
  two_answers: '一次调用返回两个回答，上游报告了两者的用量',
  two_answers_usage_missing: '一次调用返回两个回答，上游未报告用量，此类调用将按 Tollgate 的计数收费',
  two_answers_usage_implausible: '一次调用返回两个回答，上游的数字违反规则（{rule}），此类调用将按 Tollgate 的计数收费',
  two_answers_rejected: '上游拒绝要求两个回答的调用，调用方会收到它的错误：{detail}',

  link_ended: '其中的链接已失效',
  endpoint_disabled: '端点已停用',
  endpoint_deleted: '端点已删除',
  endpoint_full: '未发送，因为已有 {max} 个请求在等待此端点',
  withdrawn_after_restore: '恢复备份后由运维人员撤回',
  lost_key: '内容由已丢失的密钥加密',
  signing_secret_unreadable: '签名密钥已无法读取，请轮换签名密钥',
  content_unreadable: '内容已无法解密',
  no_mail_server: '本系统没有邮件服务器（TOLLGATE_SMTP_URL）',
  too_many_emails: '一小时内发送的邮件过多',
  redirected_with: '状态码 {status}，是重定向，不会被跟随：{detail}',
  redirected: '状态码 {status}，是重定向，不会被跟随',
  responded_with: '状态码 {status}：{detail}',
  responded: '状态码 {status}',
  private_name: '域名指向私有或保留地址，不会连接此类地址',
  no_response: '{seconds} 秒内没有响应',
  no_such_name: '域名不存在（ENOTFOUND）',
  not_reached: '无法连接：{detail}',
  email_timeout: '邮件服务器未在 {seconds} 秒内接受邮件',
  email_sign_in: '邮件服务器拒绝了登录：{detail}',
  email_rejected: '邮件服务器拒绝了邮件：{detail}',
  email_not_encrypted: '无法与邮件服务器建立加密连接：{detail}',
  email_unusable: '邮件服务器无法使用：{detail}',
};

const numbers = new Set(['bytes', 'count', 'days', 'input', 'max', 'ms', 'output', 'port', 'seconds', 'status']);

const known = Object.entries(findings).map(([rule, template]) => {
  const parts = template.split(/\{(\w+)(?::(\w+))?\}/);
  const pattern = parts.map((part, index) => {
    if (index % 3 === 0) return part.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
    if (index % 3 === 2) return part === undefined ? '' : ` ${part}s?`;
    return numbers.has(part) ? String.raw`(?<${part}>[\d.]+)` : `(?<${part}>.*?)`;
  });
  return { rule: rule as Finding, pattern: new RegExp(`^${pattern.join('')}$`, 's') };
});

/** Returns a finding in a language. */
export function findingText(text: string, language: Language): string {
  if (language === 'en') return text;
  const parts = text.split(/; (?=credential \S+: )/);
  if (parts.length > 1) return parts.map((part) => findingText(part, language)).join('；');
  for (const { rule, pattern } of known) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const shown = Object.entries(match.groups ?? {}).map(([name, value]) => [
      name,
      name === 'finding' || name === 'usage' ? findingText(value, language) : value,
    ]);
    return fill(chineseFindings[rule], Object.fromEntries(shown) as Record<string, string>);
  }
  return text;
}
