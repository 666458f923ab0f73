// The languages of mails to users. Pure.

/** A language of mails, as a BCP 47 tag. */
export type MailLanguage = 'en' | 'zh-CN';

/** Returns the language of mails for a BCP 47 tag: English unless it is one of Chinese. */
export function mailLanguage(tag: string): MailLanguage {
  return /^zh(-|$)/i.test(tag) ? 'zh-CN' : 'en';
}
