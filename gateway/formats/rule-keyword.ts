/** Schema keyword: the rule of an error sentence that a value which does not match breaks. */
export const ruleKeyword = 'x-tollgate-rule';
